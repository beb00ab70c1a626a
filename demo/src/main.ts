import { defaultConfigPath } from 'gatehouse-sandbox/sandbox-config'
import { usersTable } from 'gatehouse-sandbox/users-table'
import { startDemo } from './demo.ts'
import { parseDemoPort } from './demo-port.ts'
import { widgetIsInstalled } from './widget-routes.ts'

const DEFAULT_PORT = '8080'

/** Runs the demo until SIGINT or SIGTERM. */
async function main(port: string): Promise<void> {
  const demo = await startDemo({
    port: parseDemoPort(port),
    sandboxConfigPath: defaultConfigPath,
    logStream: process.stderr,
  })

  process.stdout.write(`
Gatehouse demo   ${demo.url}
${widgetIsInstalled() ? `                 with Okta's sign-in widget: ${demo.url}/demo/widget.html\n` : ''}                 health and metrics: ${demo.opsUrl}/readyz and /metrics

${usersTable(demo.sandboxConfig.users)}

Codes, emails, text messages and sign-in requests appear on the page under “The phone”.
As JSON: ${demo.sandboxUrl}/sandbox/users and /sandbox/outbox

Ctrl-C stops the demo. No data is kept.

`)
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => void demo.stop())
}

const port = process.env.PORT || DEFAULT_PORT
main(port).catch((error: unknown) => {
  process.stderr.write(`The demo did not start: ${reasonOf(error)}\n`)
  process.exit(1) // components that did start would keep the process alive
})

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown'
  return 'code' in error && error.code === 'EADDRINUSE'
    ? `port ${port} is in use. Try another one: PORT=28080 npm run demo`
    : error.message
}
