import { z } from 'zod'
import {
  FORWARD_AUTH_OPERATIONS,
  IDENTITY_HEADERS,
  KEY_SET_OPERATIONS,
  REQUESTED_HEADERS,
} from '../src/forward-auth/forward-auth.ts'
import { BOUND_SESSION_OPERATIONS } from '../src/session/bound-session-routes.ts'
import { OWN_SESSIONS_OPERATIONS, SESSION_OPERATIONS } from '../src/session/session-routes.ts'
import { describe, jsonResponse } from './description.ts'
import { profile, publicId, session, time } from './session-schema.ts'

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
        deviceBound: z.boolean().meta({
          description: 'Whether the session is bound to a key of its browser.',
        }),
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
const OF_BROWSER = {
  tag: 'Session',
  cookies: { session: 'used' },
  errors: NOT_FOUND,
} as const
const SIGN_OUT_HEADERS = ['Set-Cookie', 'Clear-Site-Data', 'X-Gatehouse-Sign-Out'] as const
const OF_USER = { tag: 'Session', cookies: { session: 'required' } } as const

/** The session of this browser. */
export const SESSION = describe(SESSION_OPERATIONS, {
  getSession: {
    ...OF_BROWSER,
    summary: 'The current session',
    description:
      'Call it first on each page: it also sets the device cookie. It does not keep the session alive.',
    cookies: { session: 'used', device: 'used' },
    responses: { 200: jsonResponse('The session', session, ['Set-Cookie']) },
  },
  signOut: {
    ...OF_BROWSER,
    summary: 'Sign out',
    description:
      'The device cookie is kept. If the session had already ended (404), `X-Gatehouse-Sign-Out` is sent too.',
    responses: { 204: { description: 'The session has ended.', headers: SIGN_OUT_HEADERS } },
  },
  refreshSession: {
    ...OF_BROWSER,
    summary: 'Keep the session alive',
    description:
      '503 if the session could not be extended because Redis cannot write. It has not ended: other calls use it until its `idleExpiresAt`.',
    responses: { 200: jsonResponse('The extended session', session) },
  },
  getUser: {
    ...OF_USER,
    summary: 'The signed-in user, in the format of Okta’s Users API',
    description:
      'Called by `user()` of the session that okta-auth-js’s `session.get()` returns. The data is from the time of the sign-in; ' +
      'Okta is not called. It does not keep the session alive.',
    responses: { 200: jsonResponse('The user', user) },
  },
})

/** All sessions of the signed-in user. */
export const OWN_SESSIONS = describe(OWN_SESSIONS_OPERATIONS, {
  listSessions: {
    ...OF_USER,
    summary: 'The user’s own sessions',
    description: 'It does not keep the session alive.',
    responses: { 200: jsonResponse('All sessions, with the current one marked', ownSessions) },
  },
  endOtherSessions: {
    ...OF_USER,
    summary: 'End all other sessions of the user',
    description: 'The last sign-in must not be older than 15 minutes (`session.recentSignInMinutes`).',
    errors: { 403: ['sign_in_again'] },
    responses: { 204: { description: 'All but the current session have ended.' } },
  },
  endSession: {
    ...OF_USER,
    summary: 'End one of the user’s own sessions',
    description:
      'For the current session, this is a sign-out, like `DELETE /api/v1/sessions/me`. For another one, the last sign-in must not be older than 15 minutes.',
    params: publicIdParam,
    responses: { 204: { description: 'The session has ended.', headers: SIGN_OUT_HEADERS } },
    errors: { ...NOT_FOUND, 403: ['sign_in_again'] },
  },
})

const instructions = z
  .strictObject({
    session_identifier: z.string(),
    refresh_url: z.string(),
    scope: z.strictObject({
      include_site: z.literal(false),
      scope_specification: z.array(z.strictObject({ type: z.literal('exclude'), path: z.string() })),
    }),
    allowed_refresh_initiators: z.array(z.string()).meta({ description: 'The hosts of `ALLOWED_ORIGINS`.' }),
    credentials: z.array(
      z.strictObject({ type: z.literal('cookie'), name: z.string(), attributes: z.string() }),
    ),
  })
  .meta({
    id: 'SessionInstructions',
    description:
      'What the browser renews, where, and for which requests (W3C Device Bound Session Credentials).',
  })
const ended = z.strictObject({ continue: z.literal(false) })

/** Browsers call them by themselves. */
const OF_BROWSER_ITSELF = {
  tag: 'Session',
  errors: { 403: ['E0000006'] },
} as const
const BOUND_HEADERS = ['Set-Cookie', 'Secure-Session-Challenge'] as const

export const BOUND_SESSION = describe(BOUND_SESSION_OPERATIONS, {
  registerBoundSession: {
    ...OF_BROWSER_ITSELF,
    cookies: { session: 'required' },
    summary: 'Bind the session to a key (called by browsers, not by pages)',
    description:
      'After a sign-in, with the header `Secure-Session-Response`. The proof must be made within two minutes, with an ES256 or RS256 key; a key is never replaced. No other origin may read the response.',
    responses: { 200: jsonResponse('The session is bound', instructions, BOUND_HEADERS) },
  },
  refreshBoundSession: {
    ...OF_BROWSER_ITSELF,
    cookies: { session: 'used' },
    summary: 'Renew the bound cookie (called by browsers, not by pages)',
    description:
      'With the headers `Sec-Secure-Session-Id` and `Secure-Session-Response`. 403 with a new challenge without a proof, or with one over an old challenge. It does not keep the session alive. 503 if a session is renewed more than 60 times a minute.',
    responses: {
      200: jsonResponse(
        'The cookie is renewed; or there is no such bound session any more',
        z.union([instructions, ended]),
        BOUND_HEADERS,
      ),
    },
  },
})

export const FORWARD_AUTH = describe(FORWARD_AUTH_OPERATIONS, {
  forwardAuth: {
    tag: 'Session',
    summary: 'The signed-in user, for a proxy',
    description:
      'For the authentication request of a proxy in front of an application: nginx `auth_request`, Traefik `forwardAuth`, Envoy `ext_authz`, Caddy `forward_auth`. No response has a body. It keeps the session alive. The query may have rules: `role` and `group` (one of those given), `amr` (all of those given), `maxAuthAge` (seconds since the last sign-in), `bound=required` (the session is bound to a key of the browser, else 403, and the request shows that the browser has it, else 401). `headers` names further headers: `groups`, `roles`, `amr`, `email`, `name`, `jwt` (with `aud`). Of groups and roles, they have those that the rule names, and by `showGroups` and `showRoles`, which change nothing about who is let in, further ones; all names together have 4,096 bytes. `encoding=utf-8` sends values without percent-encoding, except control characters, line separators, `%`, white space at both ends, and commas in lists. An unknown parameter is refused: 400.',
    cookies: { session: 'required' },
    responses: {
      200: { description: 'Signed in.', headers: [...IDENTITY_HEADERS, ...REQUESTED_HEADERS] },
    },
    errors: { 400: ['E0000001'], 403: ['E0000006'] },
    withoutBody: true,
  },
})

const keySet = z
  .strictObject({
    keys: z.array(
      z.strictObject({
        kty: z.literal('EC'),
        crv: z.literal('P-256'),
        x: z.string(),
        y: z.string(),
        kid: z.string(),
        alg: z.literal('ES256'),
        use: z.literal('sig'),
      }),
    ),
  })
  .meta({ id: 'KeySet', description: 'A JWK Set (RFC 7517).' })

export const KEY_SET = describe(KEY_SET_OPERATIONS, {
  getIdentityKeys: {
    tag: 'Session',
    summary: 'The keys that verify `X-Auth-Request-Jwt`',
    description: 'One for each of `SECRET_KEYS`. They may be cached for five minutes.',
    cookies: {},
    responses: { 200: jsonResponse('The public keys', keySet) },
  },
})
