import type { AuditEvent, AuditFields } from '../../src/observability/audit-events.ts'

/** When each event is written. */
export const AUDIT_TEXTS: Readonly<Record<AuditEvent, string>> = {
  sign_in_started: 'a user name and password, an activation token or the state token of a step-up arrives',
  factor_challenged: 'a code or a push is sent, or a security key is challenged; once, not at every poll',
  factor_failed:
    'a code or an answer is wrong, a push is rejected or expires, or another identity provider refuses the user',
  sign_in_succeeded: 'a session is opened',
  sign_in_failed:
    'Okta refuses the password or the activation token, reports that the account is locked, or refuses the address',
  old_password_refused:
    'the old password of a password change is wrong. A new password that the policy refuses is not audited',
  password_changed: 'Okta accepts a new password',
  recovery_started:
    'a user asks for a message to reset a password or unlock an account, or returns with the token of an email; for unknown names too',
  recovery_token_refused: 'Okta refuses a recovery token',
  factor_enrolled: 'a new factor of any type becomes active',
  factor_changed:
    "an enrollment changes the user's phone number (`updatePhone=true`; in addition to `factor_enrolled` if the factor is new), or an active factor is enrolled again",
  handle_refused:
    'the handle of a transaction, or an SSO token, comes from another device; the client gets E0000011',
  cross_site_refused:
    'a page of another site sends a request, or a request with a session cookie has no `Origin`. Each replica writes one line a minute for each address and origin, and 60 lines a minute in total; `gatehouse_requests_refused_total` counts every request',
  signed_out: 'a user signs out, or ends the current session by its id',
  sso_token_redeemed:
    "an SSO token is redeemed: the browser is redirected to an app with Okta's one-use session token",
  hand_over_completed:
    'the browser comes to the callback of an application’s host, and gets the cookie of that host',
  hand_over_refused:
    'a code of an open session arrives in another browser or at another host, or after a sign-in of more than five minutes; it is used up',
  session_bound: 'a browser registers its key, and the session is bound to it',
  bound_session_refused:
    'a request has the cookies of a bound session, but not what only its browser has. Each replica writes one line a minute for each session, reason and address',
  session_key_mismatch:
    '**the cookies of a bound session are used by somebody else**: a well-formed proof was made with another key. The session ends everywhere',
  session_device_mismatch:
    'a session cookie comes with the device cookie of another device, or with none, and is refused. Each replica writes one line a minute for each session and device',
  sessions_revoked:
    'sessions of a user end, except by sign-out or by a new sign-in in the same browser; `count` is the number that has ended, 0 too, even if the call then fails',
  event_hook_refused: 'a request to `/hooks/org-events` has none of `EVENT_HOOK_SECRET`',
  limit_hit: 'a limit refuses an attempt; nothing is sent to Okta',
  limits_ended:
    'an administrator resets the limits of a user: one line for the user id, and one for the login if it was given',
  group_lookup: 'a user asks for groups, successfully or not',
  app_lookup: 'a backend asks for groups with a token of `APP_TOKENS`, or with another one, which is refused',
  admin_call: 'a call to `/admin` on the ops listener, including refused calls',
}

type FieldsOf<Event> = Event extends AuditEvent ? keyof AuditFields<Event> : never

export const AUDIT_FIELD_TEXTS: Readonly<Record<FieldsOf<AuditEvent>, string>> = {
  requestId: 'id of the request, as in its other log lines and in `X-Request-Id`',
  address: "the client's address, found with `TRUST_PROXY`; on the ops listener, the address of the caller",
  deviceHash:
    'keyed hash of the id in the device cookie, 16 characters. `session_device_mismatch`: of the device that sent the request; missing without a valid device cookie',
  userAgent: '`User-Agent` of the browser: its visible ASCII characters, at most 512',
  loginHash: 'keyed hash of the login, 16 characters; `app_lookup`: of the user in the path',
  operator:
    'name of the token in `OPS_TOKENS`; missing with `OPS_TOKEN`, and if the token is wrong (`operation` is `none`)',
  app: 'name of the token in `APP_TOKENS`; missing if the token is wrong',
  boundDeviceHash:
    'the same hash of the device that a refused handle belongs to. `userId` and `loginHash` are then those of its transaction (of an SSO token: of its session, while that is open); `deviceHash` and `address` are those of the request',
  host: 'host name of the application',
  method: 'HTTP method of a refused request',
  origin: '`Origin` header of a refused request, at most 100 characters',
  userId: "Okta's opaque id of the user; in a sign-in, present once Okta has named the user",
  sessionId:
    'public id of the session, as in `GET /api/v1/sessions`, never the value of the cookie. `sessions_revoked`: the session that made the request',
  operation:
    '`primary` or `step_up`; the name of the step; `password`, `unlock` or `token` of a recovery; `me` (one user), `list` or `one` of a group lookup; `list_sessions`, `end_sessions`, `end_sessions_of_all_users`, `end_limits` or `none` of an admin call (`none`: refused before the operation was known); the type of the event of the org that ended sessions',
  provider: 'provider of the factor as Okta names it, such as `OKTA` or `FIDO`',
  factorType: 'type of the factor as Okta names it, such as `token:software:totp`',
  methods: 'authentication methods by their RFC 8176 names, separated by spaces',
  transactionStatus: 'status of the transaction after the step',
  upstreamErrorCode: "Okta's error code",
  errorCode: "error code of the broker's response",
  status: "HTTP status of the broker's response",
  reason:
    '`factor_failed`: the result of a push (`REJECTED`, `TIMEOUT`, …), or `FAILED` at another identity provider; `sign_in_failed`: `LOCKED_OUT`, `activation_token` or `address_blocked` ([what to do](operations.md#okta-refuses-an-address)); `factor_changed`: `phone_updated` or `enrolled_again`; `handle_refused`: `other_device` or `no_device_cookie`; `cross_site_refused`: `origin_not_allowed` or `origin_missing`; `hand_over_refused`: the browser has no state (`state_missing`) or another one (`state_wrong`), or the code is for another host (`other_host`); `bound_session_refused`: the bound cookie is missing, expired or wrong (`cookie_…`), a proof of the key is malformed or came too late for a registration (`proof_refused`), or `too_many_refreshes`; `sessions_revoked`: `by_user`, `password_change`, `evicted` (more than `session.maxPerUser`), `by_admin` or `by_org` (an event of the org or, without `eventId`, a re-check)',
  limit: 'name of the limit, as in `gatehouse_limit_hits_total`',
  retryAfterSeconds: '`Retry-After` of the response',
  count: 'number of sessions that were listed or ended',
  eventId: '`uuid` of the event of the org, as in Okta’s System Log',
  ageMs: 'age of the groups in the response',
}
