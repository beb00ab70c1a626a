import { FACTOR_TYPE_NAMES } from '../../factor-types.ts'
import type { Telemetry } from '../../http/request-context.ts'
import { factorsIn, record } from '../upstream/read-answer.ts'

/** The maximum number of metric labels. Without it, Okta's answers could fill the memory. */
const MAX_NAMES = 50
const NAME = /^[\w:.-]{1,64}$/

/**
 * All statuses of Okta's specification, and those seen in recordings (docs/conformance.md F-1.4,
 * F-1.5).
 */
export const STATUSES: ReadonlySet<string> = new Set([
  'SUCCESS',
  'PASSWORD_EXPIRED',
  'PASSWORD_WARN',
  'PASSWORD_RESET',
  'MFA_REQUIRED',
  'MFA_CHALLENGE',
  'MFA_ENROLL',
  'MFA_ENROLL_ACTIVATE',
  'LOCKED_OUT',
  'UNAUTHENTICATED',
  'RECOVERY',
  'RECOVERY_CHALLENGE',
])

const LINKS = new Set([
  'next',
  'prev',
  'cancel',
  'skip',
  'resend',
  'enroll',
  'verify',
  'questions',
  'send',
  'qrcode',
  'activate',
  'logo',
  'poll',
  'script',
  'complete',
  'self',
])

/**
 * Counts unknown statuses, factor types and links by name, because a portal's page may not know
 * them either. They are passed to the browser like known ones. Each name is logged once per
 * process. `linkNames` are the names in every `_links` of the answer.
 */
export function createReportUnknownSteps({ log, metrics }: Telemetry) {
  const seen = new Set<string>()

  const count = (kind: 'status' | 'factor' | 'link', given: string, requestId: string) => {
    const name = NAME.test(given) ? given : 'unprintable'
    const isNew = !seen.has(`${kind} ${name}`)
    if (isNew && seen.size >= MAX_NAMES) {
      metrics.unknownSteps.inc({ kind, name: 'other' })
      return
    }
    if (isNew) {
      seen.add(`${kind} ${name}`)
      log.warn('unknown_step', { requestId, reason: kind, name })
    }
    metrics.unknownSteps.inc({ kind, name })
  }

  return (
    { status, _embedded }: Readonly<Record<string, unknown>>,
    linkNames: Iterable<string>,
    requestId: string,
  ): void => {
    if (typeof status === 'string' && status !== '' && !STATUSES.has(status))
      count('status', status, requestId)
    for (const { factorType } of factorsIn(record(_embedded)))
      if (typeof factorType === 'string' && !FACTOR_TYPE_NAMES.includes(factorType))
        count('factor', factorType, requestId)
    for (const link of linkNames) if (!LINKS.has(link)) count('link', link, requestId)
  }
}
