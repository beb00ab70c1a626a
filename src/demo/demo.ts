import { generateKey } from '../config/secret-values.ts'
import { createListener } from '../http/listener.ts'
import { createSandbox, type Sandbox } from '../sandbox/sandbox.ts'
import { loadSandboxConfig, type SandboxConfig } from '../sandbox/sandbox-config.ts'
import { createGatehouse } from '../wiring.ts'
import { demoConfig } from './demo-config.ts'
import { createDemoSite } from './demo-site.ts'

/** Sandbox, broker and page in one process, on the embedded store. */
export interface Demo {
  readonly url: string
  readonly opsUrl: string
  readonly sandboxUrl: string
  readonly sandbox: Sandbox
  readonly sandboxConfig: SandboxConfig
  stop(): Promise<void>
}

export interface DemoOptions {
  readonly port: number
  readonly sandboxConfigPath: string
  readonly logStream: NodeJS.WritableStream
}

const HOST = '127.0.0.1'

/** Rejects when the port is taken. */
export async function startDemo({ port, sandboxConfigPath, logStream }: DemoOptions): Promise<Demo> {
  const url = `http://localhost:${port}`
  const sandboxConfig = forDemoAt(url, loadSandboxConfig(sandboxConfigPath))
  const sandbox = createSandbox({ config: sandboxConfig })
  const upstreams = await sandbox.listen()
  const config = demoConfig({ port, sandbox, sandboxConfig, upstreams, secretKey: generateKey() })
  let broker = createGatehouse(config, { logStream })
  const site = createListener(
    createDemoSite({ broker: () => broker.app, sandbox, sandboxUrl: upstreams.authnUrl, reset }),
    config.tunables.http,
    broker,
  )
  const ops = createListener((req, res) => broker.ops(req, res), config.tunables.http)
  await site.listen(port, HOST)
  const opsPort = await ops.listen(0, HOST)
  broker.watchOrg()

  return {
    url,
    opsUrl: `http://localhost:${opsPort}`,
    sandboxUrl: upstreams.authnUrl,
    sandbox,
    sandboxConfig,
    async stop() {
      await site.drain(1000)
      await ops.drain(0)
      await broker.close()
      await upstreams.close()
    },
  }

  /** A new broker has an empty store: no sessions, transactions or counted attempts. */
  async function reset(): Promise<void> {
    const before = broker
    broker = createGatehouse(config, { logStream })
    sandbox.reset()
    broker.watchOrg()
    await before.close()
  }
}

/** Apps and other identity providers redirect the browser to the demo's sign-in page. The sandbox serves Duo's frame. */
function forDemoAt(url: string, config: SandboxConfig): SandboxConfig {
  const apps = config.apps.map((app) =>
    app.signInPage === undefined ? app : { ...app, signInPage: `${url}/signin/step-up` },
  )
  return { ...config, apps, signInPage: `${url}/`, duoHost: null }
}
