import { z } from 'zod'
import { jsonResponse, type Operations } from '../http/operation.ts'

const publicId = z.uuid().meta({ description: 'A public id, safe to show. It is not the id in the cookie.' })
const link = (...allow: readonly string[]) =>
  z.strictObject({ href: z.url(), hints: z.strictObject({ allow: z.array(z.enum(allow)) }) })
const time = (description: string) => z.iso.datetime().meta({ description })

const profile = z.record(z.string(), z.unknown()).meta({
  description: 'As in Okta’s Authentication API: firstName, lastName, locale, timeZone, login.',
})

const session = z
  .strictObject({
    id: publicId,
    userId: z.string().min(1),
    login: z.string(),
    profile,
    status: z.literal('ACTIVE'),
    createdAt: time('When the session was opened.'),
    expiresAt: time('When the session ends, even if it is in use.'),
    idleExpiresAt: time('When the session ends if it is not used.'),
    amr: z.array(z.string()).meta({
      description: 'Authentication methods, by their names in RFC 8176.',
      examples: [['pwd', 'otp', 'mfa']],
    }),
    _links: z.strictObject({ self: link('GET', 'DELETE'), refresh: link('POST'), user: link('GET') }),
  })
  .meta({ id: 'Session' })

const user = z
  .strictObject({
    id: z.string().min(1).meta({ description: 'The user’s id in Okta.' }),
    status: z.literal('ACTIVE'),
    profile: profile.and(z.looseObject({ login: z.string() })),
  })
  .meta({ id: 'User', description: 'The signed-in user, in the format of Okta’s Users API.' })

const ownSessions = z
  .strictObject({
    sessions: z.array(
      z.strictObject({
        id: publicId,
        createdAt: time('When the session was opened.'),
        lastSeenAt: time('When the session was last used, to the minute.'),
        expiresAt: time('When the session ends, even if it is in use.'),
        current: z.boolean().meta({ description: 'Whether this is the session of the request.' }),
        userAgent: z.string(),
      }),
    ),
  })
  .meta({ id: 'Sessions', description: 'The user’s own sessions, newest first.' })

const publicIdParam = z.object({
  publicId: publicId.meta({
    description: 'The id of one of the user’s own sessions.',
    examples: ['4f7c7a3e-5d0b-4c1e-9a55-0c3f5f1f7a10'],
  }),
})

const NOT_FOUND = { 404: ['E0000007'] } as const
const ME = '/api/v1/sessions/me'
const SESSION = {
  tag: 'Session',
  loadKind: 'session',
  cookies: { session: 'used' },
  errors: NOT_FOUND,
} as const
const OWN_SESSION = { tag: 'Session', loadKind: 'session', cookies: { session: 'required' } } as const

/** The session of this browser. */
export const SESSION_OPERATIONS = {
  getSession: {
    ...SESSION,
    method: 'GET',
    path: ME,
    summary: 'The current session',
    description:
      'Call it first on each page: it also sets the device cookie. It does not keep the session alive.',
    cookies: { session: 'used', device: 'used' },
    responses: { 200: jsonResponse('The session', session, ['Set-Cookie']) },
  },
  signOut: {
    ...SESSION,
    method: 'DELETE',
    path: ME,
    summary: 'Sign out',
    description: 'The device cookie is kept.',
    responses: { 204: { description: 'The session has ended.', headers: ['Set-Cookie', 'Clear-Site-Data'] } },
  },
  refreshSession: {
    ...SESSION,
    method: 'POST',
    path: `${ME}/lifecycle/refresh`,
    summary: 'Keep the session alive',
    responses: { 200: jsonResponse('The extended session', session) },
  },
  getUser: {
    ...OWN_SESSION,
    method: 'GET',
    path: '/api/v1/users/me',
    summary: 'The signed-in user, in the format of Okta’s Users API',
    description:
      'Called by `user()` of the session that okta-auth-js’s `session.get()` returns. The data is from the time of the sign-in; ' +
      'Okta is not called. It does not keep the session alive.',
    responses: { 200: jsonResponse('The user', user) },
  },
} as const satisfies Operations

/** All sessions of the signed-in user. */
export const OWN_SESSIONS_OPERATIONS = {
  listSessions: {
    ...OWN_SESSION,
    method: 'GET',
    path: '/api/v1/sessions',
    summary: 'The user’s own sessions',
    description: 'It does not keep the session alive.',
    responses: { 200: jsonResponse('All sessions, with the current one marked', ownSessions) },
  },
  endOtherSessions: {
    ...OWN_SESSION,
    method: 'DELETE',
    path: '/api/v1/sessions',
    summary: 'End all other sessions of the user',
    responses: { 204: { description: 'All but the current session have ended.' } },
  },
  endSession: {
    ...OWN_SESSION,
    method: 'DELETE',
    path: '/api/v1/sessions/:publicId',
    summary: 'End one of the user’s own sessions',
    description: 'For the current session, this is a sign-out, like `DELETE /api/v1/sessions/me`.',
    params: publicIdParam,
    responses: { 204: { description: 'The session has ended.', headers: ['Set-Cookie', 'Clear-Site-Data'] } },
    errors: NOT_FOUND,
  },
} as const satisfies Operations
