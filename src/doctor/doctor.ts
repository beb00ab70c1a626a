import type { Config } from '../config/load-config.ts'
import { createSigner } from '../crypto/keys.ts'
import { createProbe } from '../http/doctor-probe.ts'
import { createTrustedProxies } from '../http/request-context.ts'
import { authnChecks } from './authn.ts'
import { watchCertificate } from './certificate.ts'
import type { CheckGroup, CheckResult } from './check.ts'
import { createHttpClient } from './http-client.ts'
import { opsChecks } from './ops.ts'
import { pamChecks } from './pam.ts'
import { publicChecks } from './public.ts'
import { redisChecks } from './redis.ts'
import { type Deadlines, runChecks } from './run-checks.ts'

export interface DoctorOptions {
  /** A user of the org, for the checks that need one. */
  readonly login?: string | undefined
  /** For a test sign-in. */
  readonly password?: string | undefined
  readonly deadlines?: DoctorDeadlines
  readonly now?: () => number
}

interface DoctorDeadlines extends Deadlines {
  /** For Okta's System Log, whose events arrive with a delay. */
  readonly logMs: number
}

/** Ends within 30 s, whatever hangs. */
const DEADLINES: DoctorDeadlines = { checkMs: 6000, totalMs: 26_000, closeMs: 1000, logMs: 12_000 }
/** A client's own time limit is shorter than that of its check, because its failure names the reason. */
const CLIENT_SHARE = 0.7

/** Checks everything around the broker. It changes nothing but one key of its own in Redis. */
export function runDoctor(config: Config, options: DoctorOptions = {}): Promise<CheckResult[]> {
  const { login, password, deadlines = DEADLINES, now = Date.now } = options
  const { redis, authn, pam, egress } = config
  const timeoutMs = deadlines.checkMs * CLIENT_SHARE
  const groups = [
    redisChecks({ url: redis.url.current(), ca: redis.ca, timeoutMs }),
    authnChecks({ authn, egress, timeoutMs, now, login, password, logMs: deadlines.logMs }),
    pamChecks({ pam, egress, timeoutMs, now, login }),
    publicGroup(config, timeoutMs, now),
  ]
  return runChecks(groups, deadlines)
}

function publicGroup(config: Config, timeoutMs: number, now: () => number): CheckGroup {
  const { publicUrl, ops, trustProxy, egress } = config
  const signer = createSigner(config.secretKeys.current, 'doctor-probe') // as in wiring.ts
  const client = createHttpClient({ baseUrl: publicUrl.origin, egress, timeoutMs })
  const certificate = watchCertificate(publicUrl.origin)
  const { hostname } = new URL(publicUrl.origin)
  const portClient = isLoopback(ops.host)
    ? undefined
    : createHttpClient({ baseUrl: `http://${hostname}:${ops.port}`, egress, timeoutMs })
  return {
    checks: [
      ...publicChecks({
        client,
        certificate,
        now,
        secure: publicUrl.secure,
        isTrustedProxy: createTrustedProxies(trustProxy),
        probe: () => createProbe({ signer, now }),
      }),
      ...opsChecks({ client, portClient }),
    ],
    close() {
      certificate.stop()
      return Promise.all([client.close(), portClient?.close()])
    },
  }
}

function isLoopback(host: string): boolean {
  return /^(127\.|localhost$|::1$)/.test(host)
}
