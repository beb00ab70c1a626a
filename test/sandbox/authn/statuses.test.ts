import { expect, test } from '@jest/globals'
import { type Operation, requireAllowed, type Status } from '../../../src/sandbox/authn/statuses.ts'

/**
 * The operations that each status allows besides `state` and `cancel`, which all statuses except LOCKED_OUT allow. Sources:
 * the statuses in docs/conformance.md F-2, the links of each status in A-10, and recorded responses for
 * `previous` and the resends.
 */
const ACCEPTED: Record<Status, readonly Operation[]> = {
  SUCCESS: [],
  PASSWORD_EXPIRED: ['change-password'],
  PASSWORD_WARN: ['change-password', 'skip'],
  PASSWORD_RESET: ['reset-password'],
  MFA_REQUIRED: ['verify'],
  MFA_CHALLENGE: ['verify', 'resend-challenge', 'duo-callback', 'previous'],
  MFA_ENROLL: ['enroll', 'skip'],
  MFA_ENROLL_ACTIVATE: [
    'activate',
    'activation-poll',
    'send-activation',
    'resend-enrollment',
    'duo-callback',
    'previous',
  ],
  LOCKED_OUT: [],
  RECOVERY: ['answer'],
  RECOVERY_CHALLENGE: ['verify-recovery', 'resend-recovery'],
  UNAUTHENTICATED: ['authenticate'],
}

const OPERATIONS: readonly Operation[] = [...new Set(Object.values(ACCEPTED).flat())]

test.each(Object.entries(ACCEPTED))(
  'besides state and cancel, %s allows %j; anything else is 403 E0000079',
  (status, accepted) => {
    const always = status === 'LOCKED_OUT' ? [] : (['state', 'cancel'] as const)
    const allowed = new Set<Operation>([...always, ...accepted])
    for (const operation of ['state', 'cancel', ...OPERATIONS] as const) {
      const require = () => requireAllowed(status as Status, operation)
      if (allowed.has(operation)) expect(require).not.toThrow()
      else expect(require).toThrow(expect.objectContaining({ status: 403, code: 'E0000079' }))
    }
  },
)
