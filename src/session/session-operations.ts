import { z } from 'zod'
import { json, type Operations } from '../http/operation.ts'

const publicId = z.uuid().meta({ description: 'A public id, safe to show; never the cookie’s.' })
const link = (...allow: readonly string[]) =>
  z.strictObject({ href: z.url(), hints: z.strictObject({ allow: z.array(z.enum(allow)) }) })
const time = (description: string) => z.iso.datetime().meta({ description })

const profile = z.record(z.string(), z.unknown()).meta({
  description: 'As the sign-in API says it: firstName, lastName, locale, timeZone, login.',
})

const session = z
  .strictObject({
    id: publicId,
    userId: z.string().min(1),
    login: z.string(),
    profile,
    status: z.literal('ACTIVE'),
    createdAt: time('When it was opened.'),
    expiresAt: time('When it ends, however much it is used.'),
    idleExpiresAt: time('When it ends if it is not used.'),
    amr: z.array(z.string()).meta({
      description: 'Authentication methods by their names in RFC 8176.',
      examples: [['pwd', 'otp', 'mfa']],
    }),
    _links: z.strictObject({ self: link('GET', 'DELETE'), refresh: link('POST'), user: link('GET') }),
  })
  .meta({ id: 'Session' })

const user = z
  .strictObject({
    id: z.string().min(1).meta({ description: 'The org’s id of this person.' }),
    status: z.literal('ACTIVE'),
    profile: profile.and(z.looseObject({ login: z.string() })),
  })
  .meta({ id: 'User', description: 'Who is signed in, in the form of the org’s users API.' })

const ownSessions = z
  .strictObject({
    sessions: z.array(
      z.strictObject({
        id: publicId,
        createdAt: time('When it was opened.'),
        lastSeenAt: time('When it was used last, to the minute.'),
        expiresAt: time('When it ends, however much it is used.'),
        current: z.boolean().meta({ description: 'The one that asks.' }),
        userAgent: z.string(),
      }),
    ),
  })
  .meta({ id: 'Sessions', description: 'One’s own living sessions, the newest first.' })

const publicIdParam = z.object({
  publicId: publicId.meta({
    description: 'The id of one of one’s own sessions.',
    examples: ['4f7c7a3e-5d0b-4c1e-9a55-0c3f5f1f7a10'],
  }),
})

const NOT_FOUND = { 404: ['E0000007'] } as const
const ME = '/api/v1/sessions/me'
const SESSION = { tag: 'Session', cookies: { session: 'used' }, errors: NOT_FOUND } as const
const OWN_SESSION = { tag: 'Session', cookies: { session: 'required' } } as const

/** The session of this browser. */
export const SESSION_OPERATIONS = {
  getSession: {
    ...SESSION,
    method: 'GET',
    path: ME,
    summary: 'Who is signed in',
    description:
      'A page calls it first: it gives the browser its device cookie too. It does not keep the session alive.',
    cookies: { session: 'used', device: 'used' },
    responses: { 200: json('The session', session, ['Set-Cookie']) },
  },
  signOut: {
    ...SESSION,
    method: 'DELETE',
    path: ME,
    summary: 'Sign out',
    description: 'The device cookie stays.',
    responses: { 204: { description: 'The session is over.', headers: ['Set-Cookie', 'Clear-Site-Data'] } },
  },
  refreshSession: {
    ...SESSION,
    method: 'POST',
    path: `${ME}/lifecycle/refresh`,
    summary: 'Keep the session alive',
    responses: { 200: json('The session, moved', session) },
  },
  getUser: {
    ...OWN_SESSION,
    method: 'GET',
    path: '/api/v1/users/me',
    summary: 'Who is signed in, as a user',
    description:
      'What the browser library’s `session.get()` answers has a `user()` that asks for it. It says what the session knows ' +
      'since the sign-in; nothing is asked of the org. It does not keep the session alive.',
    responses: { 200: json('The person', user) },
  },
} as const satisfies Operations

/** All sessions of the signed-in user. */
export const OWN_SESSIONS_OPERATIONS = {
  listSessions: {
    ...OWN_SESSION,
    method: 'GET',
    path: '/api/v1/sessions',
    summary: 'One’s own sessions',
    description: 'It does not keep the session alive.',
    responses: { 200: json('All of them, the current one marked', ownSessions) },
  },
  endOtherSessions: {
    ...OWN_SESSION,
    method: 'DELETE',
    path: '/api/v1/sessions',
    summary: 'End all one’s other sessions',
    responses: { 204: { description: 'All but the current one are over.' } },
  },
  endSession: {
    ...OWN_SESSION,
    method: 'DELETE',
    path: '/api/v1/sessions/:publicId',
    summary: 'End one of one’s own sessions',
    description: 'Of the current one it is a sign-out, like `DELETE /api/v1/sessions/me`.',
    params: publicIdParam,
    responses: { 204: { description: 'It is over.', headers: ['Set-Cookie', 'Clear-Site-Data'] } },
    errors: NOT_FOUND,
  },
} as const satisfies Operations
