import type { Operations } from '../http/routes.ts'

const ME = '/api/v1/sessions/me'

/** The session of this browser. */
export const SESSION_OPERATIONS = {
  getSession: { method: 'GET', path: ME },
  signOut: { method: 'DELETE', path: ME },
  refreshSession: { method: 'POST', path: `${ME}/lifecycle/refresh` },
  getUser: { method: 'GET', path: '/api/v1/users/me' },
} as const satisfies Operations

/** All sessions of the signed-in user. */
export const OWN_SESSIONS_OPERATIONS = {
  listSessions: { method: 'GET', path: '/api/v1/sessions' },
  endOtherSessions: { method: 'DELETE', path: '/api/v1/sessions' },
  endSession: { method: 'DELETE', path: '/api/v1/sessions/:publicId' },
} as const satisfies Operations
