import { operationNotAllowed } from './authn-error.ts'

export type Status =
  | 'SUCCESS'
  | 'PASSWORD_EXPIRED'
  | 'PASSWORD_WARN'
  | 'PASSWORD_RESET'
  | 'MFA_REQUIRED'
  | 'MFA_CHALLENGE'
  | 'MFA_ENROLL'
  | 'MFA_ENROLL_ACTIVATE'
  | 'LOCKED_OUT'
  | 'RECOVERY'
  | 'RECOVERY_CHALLENGE'
  | 'UNAUTHENTICATED'

export type Operation =
  | 'state'
  | 'authenticate'
  | 'change-password'
  | 'reset-password'
  | 'enroll'
  | 'activate'
  | 'activation-poll'
  | 'send-activation'
  | 'resend-enrollment'
  | 'verify'
  | 'resend-challenge'
  | 'duo-callback'
  | 'verify-recovery'
  | 'resend-recovery'
  | 'answer'
  | 'previous'
  | 'skip'
  | 'cancel'

/** The operations that each status allows; any other is 403 E0000079. */
export const ALLOWED: Record<Status, readonly Operation[]> = {
  SUCCESS: ['state', 'cancel'],
  PASSWORD_EXPIRED: ['state', 'change-password', 'cancel'],
  PASSWORD_WARN: ['state', 'change-password', 'skip', 'cancel'],
  PASSWORD_RESET: ['state', 'reset-password', 'cancel'],
  MFA_REQUIRED: ['state', 'verify', 'cancel'],
  MFA_CHALLENGE: ['state', 'verify', 'resend-challenge', 'duo-callback', 'previous', 'cancel'],
  MFA_ENROLL: ['state', 'enroll', 'skip', 'cancel'],
  MFA_ENROLL_ACTIVATE: [
    'state',
    'activate',
    'activation-poll',
    'send-activation',
    'resend-enrollment',
    'duo-callback',
    'previous',
    'cancel',
  ],
  LOCKED_OUT: [], // has no state token
  RECOVERY: ['state', 'answer', 'cancel'],
  RECOVERY_CHALLENGE: ['state', 'verify-recovery', 'resend-recovery', 'cancel'],
  UNAUTHENTICATED: ['state', 'authenticate', 'cancel'],
}

export function requireAllowed(status: Status, operation: Operation): void {
  if (!ALLOWED[status].includes(operation)) throw operationNotAllowed()
}
