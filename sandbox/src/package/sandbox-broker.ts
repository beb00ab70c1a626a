import { randomBytes } from 'node:crypto'
import type { RequestListener } from 'node:http'
import { createEmbeddedBroker, type EmbeddedBroker, type EmbeddedBrokerOptions } from 'gatehouse/broker'
import { type EventHookAddress, SENDER } from '../hook-calls.ts'
import { parsePamConfig } from '../pam/pam-config.ts'
import type { SandboxConfig } from '../sandbox-config.ts'

export interface SandboxBrokerOptions extends EmbeddedBrokerOptions {
  readonly config: SandboxConfig
  readonly upstreams: { readonly authnUrl: string; readonly pamUrl: string }
}

/** A broker for the sandbox, on the embedded store. Nothing listens yet. */
export interface SandboxBroker extends Pick<EmbeddedBroker, 'log' | 'metrics'> {
  readonly app: RequestListener
  readonly ops: RequestListener
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
  const brokerOptions = { ...options, env: { ...variablesFor({ config, upstreams }), ...env } }
  let broker = createEmbeddedBroker(brokerOptions)
  return {
    app: (req, res) => broker.app(req, res),
    ops: (req, res) => broker.ops(req, res),
    log: broker.log,
    metrics: broker.metrics,
    async reset() {
      const before = broker
      broker = createEmbeddedBroker(brokerOptions)
      await before.close()
    },
    close: () => broker.close(),
  }
}

/**
 * The broker needs the secret as `EVENT_HOOK_SECRET`. With `TRUST_PROXY`, it wants the sender's
 * address of a proxy; without, it warns of such an address.
 */
export function newEventHook(brokerUrl: string, isBehindProxy = false): EventHookAddress {
  return {
    url: `${brokerUrl}/hooks/org-events`,
    secret: newSecret(),
    ...(isBehindProxy && { forwardedFor: SENDER }),
  }
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
  const trustedOrigins = [...config.trustedOrigins, ...own]
  return { ...config, apps, signInPage, trustedOrigins, redirectOrigins, duoHost: null }
}

/** Variables that the options may replace. */
function variablesFor({ config, upstreams }: Pick<SandboxBrokerOptions, 'config' | 'upstreams'>) {
  const { team, keys } = parsePamConfig(config.pam)
  const [key] = keys
  return {
    AUTHN_BASE_URL: upstreams.authnUrl,
    AUTHN_API_TOKEN: config.apiTokens[0],
    STEP_UP: 'on',
    PAM_BASE_URL: upstreams.pamUrl,
    PAM_TEAM: team,
    PAM_KEY_ID: key?.keyId,
    PAM_KEY_SECRET: key?.keySecret,
    PAM_DIRECTORY: 'all',
    REDIS_URL: 'memory:',
    SECRET_KEYS: newSecret(),
    LOG_LEVEL: 'warn',
  }
}

function newSecret(): string {
  return randomBytes(32).toString('base64')
}
