import { createBrokerListener } from 'gatehouse/broker'
import {
  createSandboxBroker,
  forPortalAt,
  newEventHook,
  type SandboxBrokerOptions,
} from 'gatehouse-sandbox/package/sandbox-broker'
import { createSandbox, type Sandbox } from 'gatehouse-sandbox/sandbox'
import { loadSandboxConfig, type SandboxConfig } from 'gatehouse-sandbox/sandbox-config'
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

export interface DemoOptions extends Pick<SandboxBrokerOptions, 'logStream' | 'now'> {
  readonly port: number
  readonly sandboxConfigPath: string
}

const HOST = '127.0.0.1'

/** Rejects when the port is taken. */
export async function startDemo({ port, sandboxConfigPath, ...options }: DemoOptions): Promise<Demo> {
  const url = `http://localhost:${port}`
  const sandboxConfig = forPortalAt(url, loadSandboxConfig(sandboxConfigPath))
  const sandbox = createSandbox({ config: sandboxConfig })
  const upstreams = await sandbox.listen()
  const eventHook = newEventHook(url)
  const broker = createSandboxBroker({
    env: { PUBLIC_URL: url, EVENT_HOOK_SECRET: eventHook.secret },
    config: sandboxConfig,
    upstreams,
    ...options,
  })
  const site = createBrokerListener(
    createDemoSite({ broker: broker.app, sandbox, sandboxUrl: upstreams.authnUrl, reset }),
    broker,
  )
  const ops = createBrokerListener(broker.ops)
  await site.listen(port, HOST)
  await sandbox.eventHook.register(eventHook)
  const opsPort = await ops.listen(0, HOST)

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

  async function reset(): Promise<void> {
    sandbox.reset()
    await broker.reset()
  }
}
