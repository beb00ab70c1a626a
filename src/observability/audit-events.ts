import { z } from 'zod'

/**
 * The audit events (docs/logs.md), each with a strict schema. No other fields are written.
 * `scripts/docs/audit.ts` describes them for `docs/logs.md`.
 */
const word = z.string().regex(/^[a-z][a-z0-9_]*$/) // a constant of the broker's code
const hash = z.string().regex(/^[\w-]{16}$/)
const opaque = z.string().min(1).max(128)
const errorCode = z.string().regex(/^(E\d{7}|pam_[a-z_]+)$/)

const request = { requestId: z.string().min(8).max(128), address: z.union([z.ipv4(), z.ipv6()]) }

/**
 * The login hash exists once the user has entered a login; the user id, once Okta has named the
 * user.
 */
const inSignIn = {
  ...request,
  deviceHash: hash,
  loginHash: hash.optional(),
  userId: opaque.optional(),
  userAgent: z.string().max(512).optional(),
}

const factor = { ...inSignIn, operation: word, factorType: opaque.optional() }
const refused = { ...inSignIn, operation: word, upstreamErrorCode: errorCode.optional() }
const enrolled = { ...factor, factorType: opaque, provider: opaque.optional() }

const signedIn = { ...request, userId: opaque, loginHash: hash, deviceHash: hash, sessionId: z.uuid() }

const lookup = {
  operation: z.enum(['me', 'list', 'one']),
  status: z.int(),
  errorCode: errorCode.optional(),
  ageMs: z.int().min(0).optional(),
}

export const REVOCATION_REASONS = ['by_user', 'password_change', 'evicted', 'by_admin', 'by_org'] as const
export type RevocationReason = (typeof REVOCATION_REASONS)[number]

/** Why a request was not served by a bound session, or a proof was refused. */
export const BOUND_SESSION_REFUSALS = [
  'cookie_missing',
  'cookie_expired',
  'cookie_wrong',
  'proof_refused',
  'too_many_refreshes',
] as const
export type BoundSessionRefusal = (typeof BOUND_SESSION_REFUSALS)[number]

/** Why the callback of an application's host refused a code of an open session. */
export const HAND_OVER_REFUSALS = ['state_missing', 'state_wrong', 'other_host'] as const

export const AUDIT_EVENTS = {
  sign_in_started: z.strictObject({ ...inSignIn, operation: z.enum(['primary', 'step_up']) }),
  factor_challenged: z.strictObject({ ...factor, transactionStatus: opaque }),
  factor_failed: z.strictObject({ ...factor, ...refused, reason: opaque.optional() }),
  sign_in_succeeded: z.strictObject({ ...inSignIn, userId: opaque, methods: opaque, sessionId: z.uuid() }),
  sign_in_failed: z.strictObject({ ...refused, reason: opaque.optional() }),
  old_password_refused: z.strictObject(refused),
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
  recovery_token_refused: z.strictObject(refused),
  factor_enrolled: z.strictObject(enrolled),
  factor_changed: z.strictObject({ ...enrolled, reason: z.enum(['phone_updated', 'enrolled_again']) }),
  handle_refused: z.strictObject({
    ...inSignIn,
    boundDeviceHash: hash,
    reason: z.enum(['other_device', 'no_device_cookie']),
  }),
  cross_site_refused: z.strictObject({
    ...request,
    method: z.string().regex(/^[A-Z]{1,20}$/),
    origin: z.string().max(100).optional(),
    reason: z.enum(['origin_not_allowed', 'origin_missing']),
  }),
  signed_out: z.strictObject(signedIn),
  sso_token_redeemed: z.strictObject(signedIn),
  hand_over_completed: z.strictObject({ ...signedIn, host: opaque }),
  hand_over_refused: z.strictObject({ ...signedIn, host: opaque, reason: z.enum(HAND_OVER_REFUSALS) }),
  session_bound: z.strictObject(signedIn),
  bound_session_refused: z.strictObject({ ...signedIn, reason: z.enum(BOUND_SESSION_REFUSALS) }),
  session_key_mismatch: z.strictObject(signedIn),
  session_device_mismatch: z.strictObject({ ...signedIn, deviceHash: hash.optional() }),
  /** Without `eventId`, `by_org` is the result of a re-check. */
  sessions_revoked: z.strictObject({
    ...request,
    userId: opaque,
    loginHash: hash.optional(),
    deviceHash: hash.optional(),
    userAgent: inSignIn.userAgent,
    sessionId: z.uuid().optional(),
    reason: z.enum(REVOCATION_REASONS),
    count: z.int().min(0),
    eventId: opaque.optional(),
    operation: opaque.optional(),
  }),
  event_hook_refused: z.strictObject({ ...request, status: z.int(), errorCode }),
  limit_hit: z.strictObject({
    ...inSignIn,
    limit: word,
    operation: word.optional(),
    factorType: opaque.optional(),
    retryAfterSeconds: z.int().min(0).optional(),
  }),
  limits_ended: z.strictObject({ ...request, userId: opaque, loginHash: hash.optional() }),
  group_lookup: z.strictObject({ ...signedIn, ...lookup }),
  /**
   * Without `app`, its token was not one of APP_TOKENS. `loginHash` is that of the user in its
   * path.
   */
  app_lookup: z.strictObject({
    ...request,
    ...lookup,
    app: z.string().optional(),
    loginHash: hash.optional(),
  }),
  /** Without `operator`, its token was OPS_TOKEN, or none of OPS_TOKENS (`operation: none`). */
  admin_call: z.strictObject({
    ...request,
    operator: z.string().optional(),
    operation: z.enum(['list_sessions', 'end_sessions', 'end_sessions_of_all_users', 'end_limits', 'none']),
    status: z.int(),
    errorCode: errorCode.optional(),
    userId: opaque.optional(),
    count: z.int().min(0).optional(),
  }),
} as const satisfies Record<string, z.ZodObject>

/** The fields of every line of the audit log, besides `event`. */
export const AUDIT_LINE = {
  time: z.iso.datetime(),
  level: z.literal('info'),
  service: z.literal('gatehouse'),
  version: z.string(),
  trace_id: z
    .string()
    .regex(/^[0-9a-f]{32}$/)
    .optional(),
  audit: z.literal(true),
  /**
   * A random id of the process, and the number of the event in it: a gap shows that lines were
   * lost.
   */
  process: z.uuid(),
  sequence: z.int().min(1),
} as const

export type AuditEvent = keyof typeof AUDIT_EVENTS
export type AuditFields<Event extends AuditEvent> = Readonly<z.input<(typeof AUDIT_EVENTS)[Event]>>
