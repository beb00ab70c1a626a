import type { RequestListener } from 'node:http'
import { ConfigError } from './config/config-error.ts'
import { loadConfig } from './config/load-config.ts'
import { defaultTunables, type Tunables } from './config/tunables.ts'
import { createListener, type Listener } from './http/listener.ts'
import type { Telemetry } from './http/request-context.ts'
import { type ErrorReply, readError } from './okta-errors.ts'
import { createGatehouse, type Gatehouse, type GatehouseOptions } from './wiring.ts'

/**
 * The entry point of a process that has the broker inside: the sandbox and the demo. The broker of
 * the image starts in `main.ts`.
 */
export interface EmbeddedBrokerOptions extends GatehouseOptions {
  /** Variables of Gatehouse, such as `PUBLIC_URL`. Those of the process are not read. */
  readonly env: Readonly<Record<string, string | undefined>>
  /** Changes the tunables. */
  readonly tunables?: (shipped: Tunables) => Tunables
}

/** Nothing listens yet: `app` and `ops` are given to a listener. */
export type EmbeddedBroker = Pick<Gatehouse, 'app' | 'ops' | 'log' | 'metrics' | 'close'>

/** @throws ConfigError, see `problemsOf` */
export function createEmbeddedBroker({
  env,
  tunables = (shipped) => shipped,
  ...options
}: EmbeddedBrokerOptions): EmbeddedBroker {
  const config = loadConfig(env)
  return createGatehouse({ ...config, tunables: tunables(config.tunables) }, options)
}

/** What is wrong with the variables; undefined for other errors. */
export function problemsOf(error: unknown): readonly string[] | undefined {
  return error instanceof ConfigError ? error.problems : undefined
}

/** What Gatehouse makes of an Error object of Okta: the key of the message for users. */
export function readOktaError(reply: ErrorReply, operation: string): { readonly message: string } {
  return readError(reply, operation)
}

/** A listener with the limits of the broker's own. */
export function createBrokerListener(handle: RequestListener, telemetry?: Telemetry): Listener {
  return createListener(handle, defaultTunables().http, telemetry)
}
