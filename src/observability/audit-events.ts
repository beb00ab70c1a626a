import { z } from 'zod'

/**
 * The audit events (DESIGN §5): who did what, one strict schema each. They say what `log.audit` can be given, what is
 * written of it, and what `docs/audit.md` promises to those who read the log.
 */
const word = z.string().regex(/^[a-z][a-z0-9_]*$/) // of our own code
const hash = z.string().regex(/^[\w-]{16}$/)
const opaque = z.string().min(1).max(128)
const errorCode = z.string().regex(/^(E\d{7}|pam_[a-z_]+)$/)

const request = {
  /** Ours, also in `X-Request-Id` and in our errors' `errorId`. */
  requestId: z.string().min(8).max(128),
  address: z.union([z.ipv4(), z.ipv6()]),
}

/** In a sign-in the login is known when somebody typed it, the user id when the org has named the person. */
const inSignIn = {
  ...request,
  deviceHash: hash,
  loginHash: hash.optional(),
  userId: opaque.optional(),
}

const signedIn = { ...request, userId: opaque, loginHash: hash, deviceHash: hash, sessionId: z.uuid() }

export const REVOCATION_REASONS = ['by_person', 'password_change', 'too_many', 'by_admin'] as const
export type RevocationReason = (typeof REVOCATION_REASONS)[number]

export const AUDIT_EVENTS = {
  sign_in_started: z.strictObject({ ...inSignIn, operation: z.enum(['primary', 'step_up']) }),

  factor_challenged: z.strictObject({
    ...inSignIn,
    operation: word,
    factorType: opaque.optional(),
    transactionStatus: opaque,
  }),

  /** A wrong code or answer has an error code; a push that was rejected or ran out has a reason. */
  factor_failed: z.strictObject({
    ...inSignIn,
    operation: word,
    factorType: opaque.optional(),
    upstreamErrorCode: errorCode.optional(),
    reason: opaque.optional(),
  }),

  /** `methods`: what was proved, RFC 8176 names with spaces between them. */
  sign_in_succeeded: z.strictObject({ ...inSignIn, userId: opaque, methods: opaque, sessionId: z.uuid() }),

  sign_in_failed: z.strictObject({
    ...inSignIn,
    operation: word,
    upstreamErrorCode: errorCode.optional(),
    reason: opaque.optional(),
  }),

  /** The old password of a password change was wrong. */
  old_password_refused: z.strictObject({
    ...inSignIn,
    operation: word,
    upstreamErrorCode: errorCode.optional(),
  }),

  password_changed: z.strictObject({
    ...inSignIn,
    operation: z.enum(['change_password', 'reset_password']),
    transactionStatus: opaque,
  }),

  recovery_started: z.strictObject({
    ...inSignIn,
    operation: z.enum(['password', 'unlock', 'token']),
    factorType: z.enum(['EMAIL', 'SMS', 'CALL']).optional(),
  }),

  recovery_token_refused: z.strictObject({
    ...inSignIn,
    operation: word,
    upstreamErrorCode: errorCode.optional(),
  }),

  factor_enrolled: z.strictObject({
    ...inSignIn,
    operation: word,
    factorType: opaque,
    provider: opaque.optional(),
  }),

  /** `phone_updated`: the step asked for it with `updatePhone=true`, and Okta took it. */
  factor_changed: z.strictObject({
    ...inSignIn,
    operation: word,
    factorType: opaque,
    provider: opaque.optional(),
    reason: z.enum(['phone_updated', 'enrolled_again']),
  }),

  /**
   * The handle of a transaction, or an SSO token, came from a device that it does not belong to. User, login and
   * `boundDeviceHash` are those of the transaction or of the SSO token's session; address and `deviceHash` are those of
   * whoever showed it.
   */
  handle_refused: z.strictObject({
    ...inSignIn,
    boundDeviceHash: hash,
    reason: z.enum(['other_device', 'no_device_cookie']),
  }),

  /** Any page can cause it: one line a minute for each address and origin, and few lines in all. */
  cross_site_refused: z.strictObject({
    ...request,
    method: z.string().regex(/^[A-Z]{1,20}$/),
    origin: z.string().max(100).optional(),
    reason: z.enum(['origin_not_allowed', 'origin_missing']),
  }),

  signed_out: z.strictObject(signedIn),

  /** The browser went on to an app with the org's own session token. */
  sso_token_redeemed: z.strictObject(signedIn),

  /** A session's cookie came with the cookie of another device, or with none; `deviceHash` is that device. */
  session_device_mismatch: z.strictObject({ ...signedIn, deviceHash: hash.optional() }),

  /**
   * Sessions that ended neither by sign-out nor by a sign-in in their place; device and login are those of the person
   * who did it.
   */
  sessions_revoked: z.strictObject({
    ...request,
    userId: opaque,
    loginHash: hash.optional(),
    deviceHash: hash.optional(),
    sessionId: z.uuid().optional(),
    reason: z.enum(REVOCATION_REASONS),
    count: z.int().min(0),
  }),

  /** `limit` is the label of `gatehouse_limit_hits_total`. */
  limit_hit: z.strictObject({
    ...inSignIn,
    limit: word,
    operation: word.optional(),
    factorType: opaque.optional(),
    retryAfterSeconds: z.int().min(0).optional(),
  }),

  /** What was counted against a person was forgiven, under the user id or, where there is a login's hash, under the login. */
  limits_ended: z.strictObject({ ...request, userId: opaque, loginHash: hash.optional() }),

  group_lookup: z.strictObject({
    ...signedIn,
    operation: z.enum(['me', 'list', 'one']),
    status: z.int(),
    errorCode: errorCode.optional(),
    ageMs: z.int().min(0).optional(),
  }),

  /** A call to `/admin` of the ops listener, refused ones too; `userId` is the person that it was about. */
  admin_call: z.strictObject({
    ...request,
    operation: z.enum(['list_sessions', 'end_sessions', 'end_limits', 'none']),
    status: z.int(),
    errorCode: errorCode.optional(),
    userId: opaque.optional(),
    count: z.int().min(0).optional(),
  }),
} as const satisfies Record<string, z.ZodObject>

export type AuditEvent = keyof typeof AUDIT_EVENTS
export type AuditFields<Event extends AuditEvent> = Readonly<z.input<(typeof AUDIT_EVENTS)[Event]>>

/** What of the fields is an event's own; types see to that too, but a variable may hold more than its type says. */
export function ownFields<Event extends AuditEvent>(
  event: Event,
  fields: AuditFields<Event>,
): AuditFields<Event> {
  const { shape } = AUDIT_EVENTS[event]
  const own = Object.entries(fields).filter(([name]) => Object.hasOwn(shape, name))
  return Object.fromEntries(own) as AuditFields<Event> // only what the event does not have was taken away
}
