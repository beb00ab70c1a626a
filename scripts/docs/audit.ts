import type { AuditEvent, AuditFields } from '../../src/observability/audit-events.ts'

interface AuditText<Event extends AuditEvent> {
  readonly when: string
  readonly example: AuditFields<Event>
}

const ADA = { loginHash: 'e_CZLWr3pzsRajme', userId: '00u1exampleuser' } as const
const DEVICE = { address: '203.0.113.7', deviceHash: '7jMUBzdicQV3DTOQ' } as const
const OTHER_DEVICE = { address: '198.51.100.9', deviceHash: 'Q3dTOQ7jMUBzdicV' } as const
const SESSION = { sessionId: '935cbd03-9b26-4ff8-838b-962d032b8d83' } as const
const request = (last: string) => ({ requestId: `9f1c2b9e-7a52-4a53-9d0e-0d3f5d0c9a${last}` })

export const AUDIT_TEXTS: { readonly [Event in AuditEvent]: AuditText<Event> } = {
  sign_in_started: {
    when: 'a user name and password, an activation token or the state token of a step-up arrives',
    example: { ...request('01'), ...DEVICE, loginHash: ADA.loginHash, operation: 'primary' },
  },
  factor_challenged: {
    when: 'a code or a push is sent, or a security key is challenged; once, not at every poll',
    example: {
      ...request('02'),
      ...DEVICE,
      ...ADA,
      operation: 'verify',
      factorType: 'push',
      transactionStatus: 'MFA_CHALLENGE',
    },
  },
  factor_failed: {
    when: 'a code or an answer is wrong, a push is rejected or expires, or another identity provider refuses the user',
    example: {
      ...request('03'),
      ...DEVICE,
      ...ADA,
      operation: 'verify',
      factorType: 'push',
      reason: 'REJECTED',
    },
  },
  sign_in_succeeded: {
    when: 'a session is opened',
    example: { ...request('04'), ...DEVICE, ...ADA, ...SESSION, methods: 'pwd otp mfa' },
  },
  sign_in_failed: {
    when: 'Okta refuses the password or the activation token, or reports that the account is locked',
    example: {
      ...request('05'),
      ...OTHER_DEVICE,
      loginHash: ADA.loginHash,
      operation: 'primary',
      upstreamErrorCode: 'E0000004',
    },
  },
  old_password_refused: {
    when: 'the old password of a password change is wrong. A new password that the policy refuses is not audited',
    example: {
      ...request('21'),
      ...DEVICE,
      ...ADA,
      operation: 'change_password',
      upstreamErrorCode: 'E0000014',
    },
  },
  password_changed: {
    when: 'Okta accepts a new password',
    example: {
      ...request('06'),
      ...DEVICE,
      ...ADA,
      operation: 'change_password',
      transactionStatus: 'SUCCESS',
    },
  },
  recovery_started: {
    when: 'a user asks for a message to reset a password or unlock an account, or returns with the token of an email; for unknown names too',
    example: {
      ...request('07'),
      ...DEVICE,
      loginHash: ADA.loginHash,
      operation: 'password',
      factorType: 'EMAIL',
    },
  },
  recovery_token_refused: {
    when: 'Okta refuses a recovery token',
    example: {
      ...request('22'),
      ...OTHER_DEVICE,
      operation: 'recovery_token',
      upstreamErrorCode: 'E0000011',
    },
  },
  factor_enrolled: {
    when: 'a new factor of any type becomes active',
    example: {
      ...request('23'),
      ...DEVICE,
      ...ADA,
      operation: 'activate',
      factorType: 'sms',
      provider: 'OKTA',
    },
  },
  factor_changed: {
    when: "an enrollment changes the user's phone number (`updatePhone=true`; in addition to `factor_enrolled` if the factor is new), or an active factor is enrolled again",
    example: {
      ...request('24'),
      ...DEVICE,
      ...ADA,
      operation: 'activate',
      factorType: 'call',
      provider: 'OKTA',
      reason: 'phone_updated',
    },
  },
  handle_refused: {
    when: 'the handle of a transaction, or an SSO token, comes from another device; the client gets E0000011',
    example: {
      ...request('25'),
      ...OTHER_DEVICE,
      ...ADA,
      boundDeviceHash: DEVICE.deviceHash,
      reason: 'other_device',
    },
  },
  cross_site_refused: {
    when: 'a page of another site sends a request, or a request with a session cookie has no `Origin`. Each replica writes one line a minute for each address and origin, and 60 lines a minute in total; `gatehouse_requests_refused_total` counts every request',
    example: {
      ...request('26'),
      address: DEVICE.address,
      method: 'POST',
      origin: 'https://evil.example',
      reason: 'origin_not_allowed',
    },
  },
  signed_out: {
    when: 'a user signs out, or ends the current session by its id',
    example: { ...request('08'), ...DEVICE, ...ADA, ...SESSION },
  },
  sso_token_redeemed: {
    when: "an SSO token is redeemed: the browser is redirected to an app with Okta's one-use session token",
    example: { ...request('14'), ...DEVICE, ...ADA, ...SESSION },
  },
  session_device_mismatch: {
    when: 'a session cookie comes with the device cookie of another device, or with none, and is refused. Each replica writes one line a minute for each session and device',
    example: { ...request('15'), ...OTHER_DEVICE, ...ADA, ...SESSION },
  },
  sessions_revoked: {
    when: 'sessions of a user end, except by sign-out or by a new sign-in in the same browser; `count` may be 0',
    example: { ...request('09'), ...DEVICE, ...ADA, ...SESSION, reason: 'by_user', count: 2 },
  },
  devices_forgotten: {
    when: 'a user forgets one or all devices. `deviceHash` is the device of the request',
    example: { ...request('16'), ...DEVICE, ...ADA, ...SESSION, count: 1 },
  },
  limit_hit: {
    when: 'a limit refuses an attempt; nothing is sent to Okta',
    example: {
      ...request('10'),
      ...DEVICE,
      loginHash: ADA.loginHash,
      limit: 'recovery_sent',
      operation: 'password',
      factorType: 'SMS',
      retryAfterSeconds: 31,
    },
  },
  limits_ended: {
    when: 'an administrator resets the limits of a user: one line for the user id, and one for the login if it was given',
    example: { ...request('13'), address: '127.0.0.1', ...ADA },
  },
  group_lookup: {
    when: 'a user asks for groups, successfully or not',
    example: { ...request('11'), ...DEVICE, ...ADA, ...SESSION, operation: 'me', status: 200, ageMs: 1250 },
  },
  admin_call: {
    when: 'a call to `/admin` on the ops listener, including refused calls',
    example: {
      ...request('12'),
      address: '127.0.0.1',
      userId: ADA.userId,
      operation: 'end_sessions',
      status: 200,
      count: 3,
    },
  },
}

type FieldsOf<Event> = Event extends AuditEvent ? keyof AuditFields<Event> : never

export const AUDIT_FIELD_TEXTS: Readonly<Record<FieldsOf<AuditEvent>, string>> = {
  requestId: 'id of the request, as in its other log lines and in `X-Request-Id`',
  address: "the client's address, found with `TRUST_PROXY`; on the ops listener, the address of the caller",
  deviceHash:
    'keyed hash of the id in the device cookie, 16 characters. `session_device_mismatch`: of the device that sent the request; missing without a valid device cookie',
  loginHash: 'keyed hash of the login, 16 characters',
  boundDeviceHash:
    'the same hash of the device that a refused handle belongs to. `userId` and `loginHash` are then those of its transaction (of an SSO token: of its session, while that is open); `deviceHash` and `address` are those of the request',
  method: 'HTTP method of a refused request',
  origin: '`Origin` header of a refused request, at most 100 characters',
  userId: "Okta's opaque id of the user; in a sign-in, present once Okta has named the user",
  sessionId:
    'public id of the session, as in `GET /api/v1/sessions`, never the value of the cookie. `sessions_revoked`: the session that made the request',
  operation:
    '`primary` or `step_up`; the name of the step; `password`, `unlock` or `token` of a recovery; `me`, `list` or `one` of a group lookup; `list_sessions`, `end_sessions`, `end_limits` or `none` of an admin call (`none`: refused before the operation was known)',
  provider: 'provider of the factor as Okta names it, such as `OKTA` or `FIDO`',
  factorType: 'type of the factor as Okta names it, such as `token:software:totp`',
  methods: 'authentication methods by their RFC 8176 names, separated by spaces',
  transactionStatus: 'status of the transaction after the step',
  upstreamErrorCode: "Okta's error code",
  errorCode: "error code of the broker's response",
  status: "HTTP status of the broker's response",
  reason:
    '`factor_failed`: the result of a push (`REJECTED`, `TIMEOUT`, …), or `FAILED` at another identity provider; `sign_in_failed`: `LOCKED_OUT` or `activation_token`; `factor_changed`: `phone_updated` or `enrolled_again`; `handle_refused`: `other_device` or `no_device_cookie`; `cross_site_refused`: `origin_not_allowed` or `origin_missing`; `sessions_revoked`: `by_user`, `password_change`, `evicted` (more than `session.maxPerUser`) or `by_admin`',
  limit: 'name of the limit, as in `gatehouse_limit_hits_total`',
  retryAfterSeconds: '`Retry-After` of the response',
  count: 'number of sessions that were listed or ended',
  ageMs: 'age of the groups in the response',
}
