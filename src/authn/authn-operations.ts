import type { Operations } from '../http/routes.ts'
import { primaryBody, recoveryBody, recoveryTokenBody, stateBody } from './sign-in/schemas.ts'

const SIGN_IN = { method: 'POST' } as const
const RECOVERY = { method: 'POST' } as const
const OFFERED = { method: 'GET' } as const

/** Operations that begin a sign-in or get its state. */
export const ENTRY_OPERATIONS = {
  authenticate: { ...SIGN_IN, path: '/api/v1/authn', body: primaryBody },
  introspect: { ...SIGN_IN, path: '/api/v1/authn/introspect', body: stateBody },
  recoverPassword: { ...RECOVERY, path: '/api/v1/authn/recovery/password', body: recoveryBody },
  unlockAccount: { ...RECOVERY, path: '/api/v1/authn/recovery/unlock', body: recoveryBody },
  redeemRecoveryToken: { ...RECOVERY, path: '/api/v1/authn/recovery/token', body: recoveryTokenBody },
} as const satisfies Operations

/** GET requests for links that a response has offered. */
export const OFFERED_OPERATIONS = {
  listSecurityQuestions: { ...OFFERED, path: '/api/v1/users/:uid/factors/questions' },
  getEnrollmentPicture: {
    ...OFFERED,
    path: '/api/v1/users/:uid/factors/:id/qr/:token',
    readableFrom: 'same-site', // an <img> names no origin
  },
} as const satisfies Operations
