import type { Logger } from '../../observability/logger.ts'
import type { Metrics } from '../../observability/metrics.ts'
import { factorsIn, record } from '../upstream/read-answer.ts'
import { walk } from './walk.ts'

/**
 * Statuses, factor types and links that we have never heard of. They pass on like any other; they are counted by
 * name, for the portal team whose page may not know them either, and logged once a process.
 */
export interface UnknownSteps {
  note(answer: Readonly<Record<string, unknown>>, requestId: string): void
}

/** So many names get a metric of their own; the upstream can't fill our memory with names. */
const MAX_NAMES = 50
const NAME = /^[\w:.-]{1,64}$/

/** Every status of the specification and the field notes' first list. */
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

export const FACTOR_TYPES: ReadonlySet<string> = new Set([
  'question',
  'sms',
  'call',
  'email',
  'push',
  'token',
  'token:software:totp',
  'token:hotp',
  'token:hardware',
  'webauthn',
  'u2f',
  'password',
  'web',
  'signed_nonce',
  'claims_provider',
  'assertion:saml2',
  'assertion:oidc',
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

export interface UnknownStepsParts {
  readonly log: Logger
  readonly metrics: Metrics
}

export function createUnknownSteps({ log, metrics }: UnknownStepsParts): UnknownSteps {
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

  return {
    note(answer, requestId) {
      const { status, _embedded } = answer
      if (typeof status === 'string' && status !== '' && !STATUSES.has(status))
        count('status', status, requestId)
      for (const { factorType } of factorsIn(record(_embedded))) {
        if (typeof factorType === 'string' && !FACTOR_TYPES.has(factorType))
          count('factor', factorType, requestId)
      }
      for (const link of linkNames(answer)) if (!LINKS.has(link)) count('link', link, requestId)
    },
  }
}

/** The names in every `_links`, at any depth. */
function linkNames(answer: unknown): Set<string> {
  const names = new Set<string>()
  walk(answer, (key, member) => {
    if (key === '_links') for (const name of Object.keys(record(member))) names.add(name)
  })
  return names
}
