import type { Config } from '../config/load-config.ts'
import { defaultTunables, loadConfig } from '../config/load-config.ts'
import type { Tunables } from '../config/tunables.ts'
import { parsePamConfig } from '../sandbox/pam/pam-config.ts'
import type { Sandbox, SandboxAddresses } from '../sandbox/sandbox.ts'
import type { SandboxConfig } from '../sandbox/sandbox-config.ts'
import { parseRedisUrl } from '../store/redis-url.ts'

export interface DemoConfigOptions {
  readonly port: number
  readonly sandbox: Sandbox
  readonly sandboxConfig: SandboxConfig
  readonly upstreams: SandboxAddresses
  readonly secretKey: string
}

/** The broker's configuration for the demo. It points at the sandbox and reads no environment variables. */
export function demoConfig({
  port,
  sandbox,
  sandboxConfig,
  upstreams,
  secretKey,
}: DemoConfigOptions): Config {
  const { team, keys } = parsePamConfig(sandboxConfig.pam)
  const [key] = keys
  return loadConfig({
    env: {
      PUBLIC_URL: `http://localhost:${port}`,
      PORT: String(port),
      AUTHN_BASE_URL: upstreams.authnUrl,
      AUTHN_API_TOKEN: sandbox.apiToken,
      STEP_UP: 'on',
      PAM_BASE_URL: upstreams.pamUrl,
      PAM_TEAM: team,
      PAM_KEY_ID: key?.keyId,
      PAM_KEY_SECRET: key?.keySecret,
      PAM_DIRECTORY: 'all',
      REDIS_URL: 'memory:',
      SECRET_KEYS: secretKey,
      LOG_LEVEL: 'warn',
    },
    parseRedisUrl,
    tunables: withoutLagLimit(defaultTunables()),
  })
}

const NEVER_MS = 3_600_000

/** Browser, sandbox and broker share one machine, which may be slow. Load shedding must not refuse the demo's only user. */
function withoutLagLimit(tunables: Tunables): Tunables {
  const maxLagMs = { sign_in: NEVER_MS, recovery: NEVER_MS, session: NEVER_MS, pam: NEVER_MS }
  return { ...tunables, http: { ...tunables.http, load: { ...tunables.http.load, maxLagMs } } }
}
