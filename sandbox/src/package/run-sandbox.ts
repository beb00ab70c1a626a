import type { RequestListener } from 'node:http'
import { Writable } from 'node:stream'
import { createBrokerListener, problemsOf } from 'gatehouse/broker'
import { SENDER } from '../hook-calls.ts'
import { createSandbox } from '../sandbox.ts'
import type { Sandbox, SandboxWithBroker } from './sandbox-api.ts'
import {
  createSandboxBroker,
  forPortalAt,
  newEventHook,
  type SandboxBroker,
  type SandboxBrokerOptions,
} from './sandbox-broker.ts'
import { type Clock, createClock, createSandboxControl } from './sandbox-control.ts'
import { type BrokerSettings, InvalidSandboxOptions, type ParsedOptions } from './sandbox-options.ts'

export interface RunOptions extends Omit<ParsedOptions, 'port'> {
  /** Default: free ports. */
  readonly ports: { readonly authn?: number; readonly pam?: number; readonly broker?: number }
  readonly host?: string
}

type OnStop = (close: () => Promise<void>) => void

const DEFAULT_HOST = '127.0.0.1'
/**
 * A page that polls often in tests gets the answer to a push at once. The circuit breakers do not
 * open, so that nothing is left of a fault that a test has removed.
 */
const CONSTANTS = {
  authn: { pollEveryMs: 50 },
  upstream: { breaker: { consecutiveFailures: Infinity, halfOpenAfterMs: 0 } },
}

/**
 * Starts the sandbox, and a broker if `broker` is set. If a part does not start, the others are
 * stopped.
 */
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

async function start(options: RunOptions, onStop: OnStop) {
  const { config, broker: settings, ports, host = DEFAULT_HOST } = options
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
      handlerOf(() => broker, clock),
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
  const eventHook = eventHookOf(options, brokerUrl)
  if (settings && brokerUrl && eventHook) {
    const own = { PUBLIC_URL: brokerUrl, EVENT_HOOK_SECRET: eventHook.secret }
    broker = createBroker(settings, { own, config, upstreams, now: clock.now })
    onStop(broker.close)
  }
  if (eventHook) await sandbox.eventHook.register(eventHook)
  return brokerUrl === undefined ? { ...upstreams, control } : { ...upstreams, brokerUrl, control }
}

function eventHookOf({ eventHook, broker }: RunOptions, brokerUrl: string | undefined) {
  // whether it trusts this process as a proxy is not known here
  if (eventHook) return { ...eventHook, forwardedFor: SENDER }
  return brokerUrl === undefined ? undefined : newEventHook(brokerUrl, Boolean(broker?.env.TRUST_PROXY))
}

/** Before there is a broker, 503. */
function handlerOf(broker: () => SandboxBroker | undefined, { now }: Clock): RequestListener {
  return (req, res) => {
    // pages count down to the end of a session by it
    res.setHeader('Date', new Date(now()).toUTCString())
    const { app } = broker() ?? {}
    if (app) app(req, res)
    else res.writeHead(503).end()
  }
}

async function listen(
  handle: RequestListener,
  { port, host, onStop }: { port: number; host: string; onStop: OnStop },
): Promise<string> {
  const listener = createBrokerListener(handle)
  const url = `http://localhost:${await listener.listen(port, host)}`
  onStop(() => listener.drain(0))
  return url
}

function createBroker(
  { onLog, ...settings }: BrokerSettings,
  { own, ...options }: Omit<SandboxBrokerOptions, 'env'> & { own: OwnVariables },
): SandboxBroker {
  const logStream = new Writable({
    write(line, _encoding, done) {
      onLog?.(String(line).trimEnd())
      done()
    },
  })
  try {
    const env = environment(settings, own)
    return createSandboxBroker({ env, logStream, constants: CONSTANTS, ...options })
  } catch (error) {
    const problems = problemsOf(error)
    if (problems === undefined) throw error
    throw new InvalidSandboxOptions(`broker: ${problems.join('; ')}`)
  }
}

/** What the broker gets from the sandbox. */
type OwnVariables = { readonly PUBLIC_URL: string; readonly EVENT_HOOK_SECRET: string }

function environment({ publicUrl, signInUrl, allowedOrigins, env }: BrokerSettings, own: OwnVariables) {
  return {
    ...env,
    ...own,
    ...(publicUrl === undefined ? {} : { PUBLIC_URL: publicUrl }),
    ...(signInUrl === undefined ? {} : { SIGN_IN_URL: signInUrl }),
    ...(allowedOrigins.length > 0 ? { ALLOWED_ORIGINS: allowedOrigins.join() } : {}),
  }
}
