import type { Config } from '../config/load-config.ts'
import { trusting } from '../upstream/connection-pool.ts'
import { authnChecks } from './authn.ts'
import type { CheckResult, DoctorContext } from './check.ts'
import { pamChecks } from './pam.ts'
import { publicChecks } from './public.ts'
import { redisChecks } from './redis.ts'
import { type Deadlines, runChecks } from './run-checks.ts'

export interface DoctorOptions extends Partial<Pick<DoctorContext, 'login' | 'password' | 'now'>> {
  readonly deadlines?: Deadlines & Pick<DoctorContext, 'logMs' | 'slowMs'>
}

/** Ends within 30 s, whatever hangs. */
const DEADLINES = { checkMs: 6000, totalMs: 26_000, closeMs: 1000, logMs: 12_000, slowMs: 6000 }
/**
 * A client's own time limit is shorter than that of its check, because its failure names the
 * reason.
 */
const CLIENT_SHARE = 0.7

/** Checks everything around the broker. It changes nothing but keys of its own in Redis. */
export function runDoctor(config: Config, options: DoctorOptions = {}): Promise<CheckResult[]> {
  const { deadlines = DEADLINES, now = Date.now, ...user } = options
  const timeoutMs = deadlines.checkMs * CLIENT_SHARE
  const secureContext = trusting(config.egress.ca)
  const limits = { timeoutMs, logMs: deadlines.logMs, slowMs: deadlines.slowMs }
  const context = { config, secureContext, now, ...user, ...limits }
  const groups = [redisChecks, authnChecks, pamChecks, publicChecks].map((checks) => checks(context))
  return runChecks(groups, deadlines)
}
