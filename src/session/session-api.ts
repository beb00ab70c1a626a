import { json, type RouteDescription } from '../http/route-description.ts'
import { FORWARD_AUTH, IDENTITY_HEADERS } from './forward-auth.ts'
import { publicIdParam, sessionAnswer, sessionsAnswer, userAnswer } from './session-schemas.ts'

const ME = '/api/v1/sessions/me'
const NONE = { 404: ['E0000007'] } as const
const group = 'Session'

/** What the OpenAPI document says of this room's routes. */
export const SESSION_API: readonly RouteDescription[] = [
  {
    method: 'GET',
    path: ME,
    id: 'getSession',
    group,
    summary: 'Who is signed in',
    details:
      'A page calls it first: it gives the browser its device cookie too. It does not keep the session alive.',
    cookies: { session: 'used', device: 'used' },
    answers: { 200: json('The session', sessionAnswer, ['Set-Cookie']) },
    refusals: NONE,
  },
  {
    method: 'DELETE',
    path: ME,
    id: 'signOut',
    group,
    summary: 'Sign out',
    details: 'The device cookie stays.',
    cookies: { session: 'used' },
    answers: { 204: { says: 'The session is over.', headers: ['Set-Cookie', 'Clear-Site-Data'] } },
    refusals: NONE,
  },
  {
    method: 'POST',
    path: `${ME}/lifecycle/refresh`,
    id: 'refreshSession',
    group,
    summary: 'Keep the session alive',
    cookies: { session: 'used' },
    answers: { 200: json('The session, moved', sessionAnswer) },
    refusals: NONE,
  },
  {
    method: 'GET',
    path: '/api/v1/users/me',
    id: 'getUser',
    group,
    summary: 'Who is signed in, as a user',
    details:
      'What the browser library’s `session.get()` answers has a `user()` that asks for it. It says what the session knows ' +
      'since the sign-in; nothing is asked of the org. It does not keep the session alive.',
    cookies: { session: 'required' },
    answers: { 200: json('The person', userAnswer) },
    refusals: { 401: ['E0000005'] },
  },
  {
    method: 'GET',
    path: '/api/v1/sessions',
    id: 'listSessions',
    group,
    summary: 'One’s own sessions',
    details: 'It does not keep the session alive.',
    cookies: { session: 'required' },
    answers: { 200: json('All of them, the current one marked', sessionsAnswer) },
    refusals: { 401: ['E0000005'] },
  },
  {
    method: 'DELETE',
    path: '/api/v1/sessions',
    id: 'endOtherSessions',
    group,
    summary: 'End all one’s other sessions',
    cookies: { session: 'required' },
    answers: { 204: { says: 'All but the current one are over.' } },
    refusals: { 401: ['E0000005'] },
  },
  {
    method: 'DELETE',
    path: '/api/v1/sessions/:publicId',
    id: 'endSession',
    group,
    summary: 'End one of one’s own sessions',
    details: 'Of the current one it is a sign-out, like `DELETE /api/v1/sessions/me`.',
    cookies: { session: 'required' },
    params: publicIdParam,
    answers: { 204: { says: 'It is over.', headers: ['Set-Cookie', 'Clear-Site-Data'] } },
    refusals: { 401: ['E0000005'], ...NONE },
  },
  {
    method: 'GET',
    path: FORWARD_AUTH,
    id: 'forwardAuth',
    group,
    summary: 'Who is signed in, for a proxy',
    details:
      'For the sub-request of a proxy in front of an application: nginx `auth_request`, Traefik `forwardAuth`, Envoy `ext_authz`, Caddy `forward_auth`. No answer has a body. It keeps the session alive.',
    cookies: { session: 'required' },
    answers: { 200: { says: 'Somebody is.', headers: IDENTITY_HEADERS } },
    refusals: { 401: ['E0000005'] },
    withoutBody: true,
  },
]
