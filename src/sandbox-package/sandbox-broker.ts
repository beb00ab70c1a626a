import type { RequestListener } from 'node:http'
import { type Config, loadConfig } from '../config/load-config.ts'
import { generateKey } from '../config/secret-values.ts'
import type { Tunables } from '../config/tunables.ts'
import type { EventHookAddress } from '../sandbox/hook-calls.ts'
import { parsePamConfig } from '../sandbox/pam/pam-config.ts'
import type { SandboxConfig } from '../sandbox/sandbox-config.ts'
import { createGatehouse, type Gatehouse, type GatehouseOptions } from '../wiring.ts'

export interface SandboxBrokerOptions extends GatehouseOptions {
  /** Variables of Gatehouse, such as `PUBLIC_URL`. Those of the process are not read. */
  readonly env: Readonly<Record<string, string>>
  readonly config: SandboxConfig
  readonly upstreams: { readonly authnUrl: string; readonly pamUrl: string }
}

/** A broker for the sandbox, on the embedded store. Nothing listens yet. */
export interface SandboxBroker extends Pick<Gatehouse, 'log' | 'metrics'> {
  readonly app: RequestListener
  readonly ops: RequestListener
  readonly http: Tunables['http']
  /** Creates a new broker with an empty store: no sessions, transactions or counted attempts. */
  reset(): Promise<void>
  close(): Promise<void>
}

/** @throws ConfigError */
export function createSandboxBroker({
  env,
  config,
  upstreams,
  ...options
}: SandboxBrokerOptions): SandboxBroker {
  const brokerConfig = brokerConfigFor({ env, config, upstreams })
  let broker = createGatehouse(brokerConfig, options)
  return {
    app: (req, res) => broker.app(req, res),
    ops: (req, res) => broker.ops(req, res),
    http: brokerConfig.tunables.http,
    log: broker.log,
    metrics: broker.metrics,
    async reset() {
      const before = broker
      broker = createGatehouse(brokerConfig, options)
      await before.close()
    },
    close: () => broker.close(),
  }
}

/** The broker needs the secret as `EVENT_HOOK_SECRET`. */
export function newEventHook(brokerUrl: string): EventHookAddress {
  return { url: `${brokerUrl}/hooks/org-events`, secret: generateKey() }
}

/**
 * Emails, apps, identity providers and the sign-out lead to the portal's pages. The sandbox serves
 * Duo's frame.
 */
export function forPortalAt(origin: string, config: SandboxConfig, signInPage = `${origin}/`): SandboxConfig {
  const apps = config.apps.map((app) =>
    app.signInPage === undefined ? app : { ...app, signInPage: `${origin}/signin/step-up` },
  )
  // not checked yet
  const own = [origin, signInPage].flatMap((url) => (URL.canParse(url) ? new URL(url).origin : []))
  const redirectOrigins = [...(config.redirectOrigins ?? config.trustedOrigins), ...own]
  return { ...config, apps, signInPage, redirectOrigins, duoHost: null }
}

function brokerConfigFor({
  env,
  config,
  upstreams,
}: Omit<SandboxBrokerOptions, keyof GatehouseOptions>): Config {
  const { team, keys } = parsePamConfig(config.pam)
  const [key] = keys
  return loadConfig({
    AUTHN_BASE_URL: upstreams.authnUrl,
    AUTHN_API_TOKEN: config.apiTokens[0],
    STEP_UP: 'on',
    PAM_BASE_URL: upstreams.pamUrl,
    PAM_TEAM: team,
    PAM_KEY_ID: key?.keyId,
    PAM_KEY_SECRET: key?.keySecret,
    PAM_DIRECTORY: 'all',
    REDIS_URL: 'memory:',
    SECRET_KEYS: generateKey(),
    LOG_LEVEL: 'warn',
    ...env,
  })
}
