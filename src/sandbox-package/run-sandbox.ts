import type { RequestListener } from 'node:http'
import { Writable } from 'node:stream'
import { ConfigError } from '../config/config-error.ts'
import { defaultTunables } from '../config/tunables.ts'
import { createListener } from '../http/listener.ts'
import { createSandbox } from '../sandbox/sandbox.ts'
import type { Sandbox, SandboxWithBroker } from './sandbox-api.ts'
import {
  createSandboxBroker,
  forPortalAt,
  type SandboxBroker,
  type SandboxBrokerOptions,
} from './sandbox-broker.ts'
import { createClock, createSandboxControl } from './sandbox-control.ts'
import { type BrokerSettings, InvalidSandboxOptions, type ParsedOptions } from './sandbox-options.ts'

export interface RunOptions extends Omit<ParsedOptions, 'port'> {
  /** Default: free ports. */
  readonly ports: { readonly authn?: number; readonly pam?: number; readonly broker?: number }
  readonly host?: string
}

type OnStop = (close: () => Promise<void>) => void

const DEFAULT_HOST = '127.0.0.1'
/** A page that polls often in tests gets the answer to a push at once. */
const CONSTANTS = { authn: { pollEveryMs: 50 } }

/** Starts the sandbox, and a broker if `broker` is set. If a part does not start, the others are stopped. */
export async function runSandbox(options: RunOptions): Promise<Sandbox | SandboxWithBroker> {
  const closers: (() => Promise<void>)[] = []
  const stop = async () => {
    for (const close of closers.splice(0).reverse()) await close()
  }
  try {
    return { ...(await start(options, (close) => closers.push(close))), stop }
  } catch (error) {
    await stop()
    throw error
  }
}

async function start({ config, broker: settings, ports, host = DEFAULT_HOST }: RunOptions, onStop: OnStop) {
  const clock = createClock()
  let broker: SandboxBroker | undefined
  async function reset(): Promise<void> {
    clock.reset()
    sandbox.reset()
    await broker?.reset()
  }

  // first, because the configuration of both needs the port
  const brokerUrl =
    settings &&
    (await listen(
      (req, res) => {
        res.setHeader('Date', new Date(clock.now()).toUTCString()) // pages count down to the end of a session by it
        if (broker) broker.app(req, res)
        else res.writeHead(503).end()
      },
      { port: ports.broker ?? 0, host, onStop },
    ))
  const portal = settings?.publicUrl ?? brokerUrl
  const sandbox = createSandbox({
    config: portal === undefined ? config : forPortalAt(portal, config, settings?.signInUrl),
    now: clock.now,
    resetAll: reset,
  })
  const { close, ...upstreams } = await sandbox.listen({ authnPort: ports.authn, pamPort: ports.pam, host })
  onStop(close)
  const control = createSandboxControl({ sandbox, clock, reset })
  if (settings === undefined || brokerUrl === undefined) return { ...upstreams, control }

  broker = createBroker(settings, { brokerUrl, config, upstreams, now: clock.now })
  onStop(broker.close)
  return { ...upstreams, brokerUrl, control }
}

async function listen(
  handle: RequestListener,
  { port, host, onStop }: { port: number; host: string; onStop: OnStop },
): Promise<string> {
  const listener = createListener(handle, defaultTunables().http)
  const url = `http://localhost:${await listener.listen(port, host)}`
  onStop(() => listener.drain(0))
  return url
}

function createBroker(
  { onLog, ...settings }: BrokerSettings,
  { brokerUrl, ...options }: Omit<SandboxBrokerOptions, 'env'> & { brokerUrl: string },
): SandboxBroker {
  const logStream = new Writable({
    write(line, _encoding, done) {
      onLog?.(String(line).trimEnd())
      done()
    },
  })
  try {
    const env = environment(settings, brokerUrl)
    return createSandboxBroker({ env, logStream, constants: CONSTANTS, ...options })
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    throw new InvalidSandboxOptions(`broker: ${error.problems.join('; ')}`)
  }
}

function environment({ publicUrl, signInUrl, allowedOrigins, env }: BrokerSettings, brokerUrl: string) {
  return {
    ...env,
    PUBLIC_URL: publicUrl ?? brokerUrl,
    ...(signInUrl === undefined ? {} : { SIGN_IN_URL: signInUrl }),
    ...(allowedOrigins.length > 0 ? { ALLOWED_ORIGINS: allowedOrigins.join() } : {}),
  }
}
