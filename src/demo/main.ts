import { newKey } from '../config/new-key.ts'
import { createListener } from '../http/listener.ts'
import { peopleTable } from '../sandbox/people-table.ts'
import { createSandbox } from '../sandbox/sandbox.ts'
import { defaultConfigPath, loadSandboxConfig } from '../sandbox/sandbox-config.ts'
import { wire } from '../wiring.ts'
import { demoConfig } from './demo-config.ts'
import { createDemoSite } from './demo-site.ts'

const PORT = 8080
const HOST = '127.0.0.1'

/** Sandbox, broker and page in one process on the embedded store, until it is told to stop. */
async function main(): Promise<void> {
  const sandboxConfig = loadSandboxConfig(defaultConfigPath)
  const sandbox = createSandbox({ config: sandboxConfig })
  const upstreams = await sandbox.listen()
  const config = demoConfig({ port: PORT, sandbox, sandboxConfig, upstreams, secretKey: newKey() })
  const broker = wire(config, { logStream: process.stderr })
  const site = createListener(createDemoSite({ broker: broker.app, sandbox }), config.tunables.http)
  const ops = createListener(broker.ops, config.tunables.http)
  await site.listen(PORT, HOST)
  const opsPort = await ops.listen(0, HOST)

  process.stdout.write(`
Gatehouse demo   http://localhost:${PORT}
                 health and metrics: http://localhost:${opsPort}/readyz, /metrics

${peopleTable(sandboxConfig.people)}

Codes of authenticator apps, and push requests to answer, are on the page under “The phone in your hand”;
the same, with mails and text messages, as JSON: ${upstreams.authnUrl}/sandbox/people and /sandbox/outbox

Ctrl-C ends it. Nothing is kept.

`)

  const stop = async () => {
    await site.drain(1000)
    await ops.drain(0)
    await broker.close()
    await upstreams.close()
  }
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => void stop())
}

main().catch((error: unknown) => {
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  const why =
    code === 'EADDRINUSE' ? `port ${PORT} is in use` : error instanceof Error ? error.message : 'unknown'
  process.stderr.write(`The demo did not start: ${why}\n`)
  process.exit(1)
})
