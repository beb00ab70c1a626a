import { z } from 'zod'
import { invalidField } from '../errors.ts'

/**
 * Request bodies. Only the listed fields are copied; unknown fields are dropped. Every string has a
 * maximum length. `null` in an optional field counts as missing. Messages name the field and the
 * rule, never the value.
 */
const text = (max: number) =>
  z.string({ error: 'must be a string' }).max(max, { error: `must have at most ${max} characters` })

const nonEmpty = (max: number) => text(max).min(1, { error: 'must not be empty' })

/** Without control characters. Not for passwords, which are passed on unchanged. */
const printable = (max: number) =>
  nonEmpty(max).refine(isPrintable, { error: 'must not contain control characters' })

/** The sign-in widget requests a code by sending an empty one. */
const printableOrEmpty = (max: number) =>
  text(max).refine(isPrintable, { error: 'must not contain control characters' })

const optional = <Schema extends z.ZodType>(schema: Schema) =>
  schema
    .nullish()
    .transform((value) => value ?? undefined)
    .optional()

const username = printable(320)
const password = nonEmpty(1024)
const FLAG_ERROR = { error: 'must be true or false' }
const flag = z.boolean(FLAG_ERROR)
/** Scripts send strings, which Okta takes (S16). */
const option = z.union(
  [z.boolean(), z.enum(['true', 'false']).transform((text) => text === 'true')],
  FLAG_ERROR,
)

const handle = text(128)
const options = optional(
  z.object(
    { multiOptionalFactorEnroll: optional(option), warnBeforePasswordExpired: optional(option) },
    { error: 'must be an object or null' },
  ),
)
/** Checked and dropped: the device token comes from the broker's cookie. */
const context = optional(
  z.object({ deviceToken: optional(text(1024)) }, { error: 'must be an object or null' }),
)
const relayState = optional(text(2048))

export const primaryBody = z
  .object({
    username: optional(username),
    password: optional(password),
    token: optional(printable(1024)),
    stateToken: optional(handle),
    options,
    context,
    audience: optional(printable(2048)),
    relayState,
  })
  .superRefine((body, issues) => {
    const addIssue = (field: string, message: string) =>
      issues.addIssue({ code: 'custom', path: [field], message })
    const hasUsername = body.username !== undefined
    const hasPassword = body.password !== undefined
    if (hasUsername && !hasPassword) addIssue('password', 'is required with username')
    if (hasPassword && !hasUsername) addIssue('username', 'is required with password')
    if (body.token !== undefined && (hasUsername || hasPassword))
      addIssue('token', 'cannot be combined with username or password')
    if (body.token !== undefined && body.stateToken !== undefined)
      addIssue('token', 'cannot be combined with stateToken')
    if (!hasUsername && !hasPassword && body.token === undefined && body.stateToken === undefined) {
      addIssue('username', 'username and password, token, or stateToken is required')
    }
  })

export type PrimaryBody = z.infer<typeof primaryBody>

export const stateBody = z.object({ stateToken: handle })

export const changePasswordBody = stateBody.extend({
  oldPassword: password,
  newPassword: password,
  revokeSessions: optional(flag),
})

export const resetPasswordBody = stateBody.extend({
  newPassword: password,
  revokeSessions: optional(flag),
  answer: optional(nonEmpty(1024)),
})

export const answerBody = stateBody.extend({ answer: nonEmpty(1024) })

export const recoveryCodeBody = stateBody.extend({ passCode: printable(256) })

/**
 * `factorType` is required: without it, Okta returns the recovery token itself to a trusted
 * application.
 */
export const recoveryBody = z.object({
  username,
  factorType: z.enum(['EMAIL', 'SMS', 'CALL'], { error: 'must be EMAIL, SMS or CALL' }),
  relayState,
})
export type RecoveryBody = z.infer<typeof recoveryBody>

export const recoveryTokenBody = z.object({ recoveryToken: printable(1024), options })
export type RecoveryTokenBody = z.infer<typeof recoveryTokenBody>

/** Okta checks which of these a factor needs. */
const profile = optional(
  z.object(
    {
      question: optional(printable(256)),
      questionText: optional(printable(256)),
      answer: optional(nonEmpty(1024)),
      phoneNumber: optional(printable(64)),
      phoneExtension: optional(printable(32)),
      /**
       * The widget sends `false` to enroll a number that Okta has refused as invalid (E0000098).
       */
      validatePhone: optional(flag),
      email: optional(printable(320)),
      credentialId: optional(printable(320)),
      password: optional(password),
    },
    { error: 'must be an object or null' },
  ),
)

/**
 * No other characters: Java’s `equalsIgnoreCase` takes `ſms` for `sms`, and HIDDEN_FACTORS would
 * not hide it.
 */
const FACTOR_TYPE = /^[\w:.-]+$/

const factorType = nonEmpty(64).regex(FACTOR_TYPE, { error: 'must be the name of a factor type' })

export const enrollBody = stateBody.extend({
  factorType,
  provider: printable(64),
  profile,
  passCode: optional(printable(256)),
  nextPassCode: optional(printable(256)),
})

export const enrollResendBody = stateBody.extend({
  factorType: optional(factorType),
  provider: optional(printable(64)),
  profile,
})

export const activateBody = stateBody.extend({
  passCode: optional(printable(256)),
  nextPassCode: optional(printable(256)),
  attestation: optional(printable(32_768)),
  clientData: optional(printable(16_384)),
  /** JSON as text, as Okta's widget sends it (S12). */
  transports: optional(printable(1024)),
  clientExtensions: optional(printable(16_384)),
  registrationData: optional(printable(16_384)),
  version: optional(printable(32)),
  challenge: optional(printable(1024)),
})

export const sendLinkBody = stateBody.extend({ profile })

/** One schema for every factor. Okta checks which fields a factor needs. */
export const verifyBody = stateBody.extend({
  passCode: optional(printableOrEmpty(256)),
  nextPassCode: optional(printable(256)),
  answer: optional(nonEmpty(1024)),
  password: optional(password),
  clientData: optional(printable(16_384)),
  signatureData: optional(printable(16_384)),
  authenticatorData: optional(printable(16_384)),
})

/**
 * Duo's form. `sig_response`, which Duo signed, counts as a code. Pages may leave `id` out, because
 * the path has it.
 */
export const duoCallbackBody = stateBody.extend({
  id: optional(printable(64)),
  sig_response: printable(8192),
})

const queryFlag = z.enum(['true', 'false'], { error: 'must be true or false, once' }).optional()
export const queryFlags = z.object({ rememberDevice: queryFlag, autoPush: queryFlag, updatePhone: queryFlag })
export type QueryFlags = z.infer<typeof queryFlags>

/** Throws 400 with one cause per field, such as `profile.phoneNumber: must be a string`. */
export function parse<Output>(schema: z.ZodType<Output>, value: unknown): Output {
  const parsed = schema.safeParse(value)
  if (!parsed.success) {
    throw invalidField(
      ...parsed.error.issues.map(({ path, message }) => `${path.join('.') || 'body'}: ${message}`),
    )
  }
  removeUndefined(parsed.data)
  return parsed.data
}

/** Removes fields that were `null`, because a body with only the handle is a poll. */
function removeUndefined(fields: unknown): void {
  if (typeof fields !== 'object' || fields === null) return
  for (const [name, field] of Object.entries(fields)) {
    if (field === undefined) Reflect.deleteProperty(fields, name)
    else removeUndefined(field)
  }
}

function isPrintable(value: string): boolean {
  return !/\p{Cc}/u.test(value)
}
