import { z } from 'zod'
import { invalidField } from '../../errors.ts'

/**
 * What a browser may send, operation by operation. Only the fields named here are copied; an unknown field is left
 * out. Every string has a maximum length. `null` in an optional field counts as missing. Messages name the field and the
 * rule, never the value.
 */
const text = (max: number) =>
  z.string({ error: 'must be a string' }).max(max, { error: `must have at most ${max} characters` })

const nonEmpty = (max: number) => text(max).min(1, { error: 'must not be empty' })

/** Names and numbers that people type: no control characters. Passwords are left byte for byte as they are. */
const plain = (max: number) => nonEmpty(max).refine(isPlain, { error: 'must not contain control characters' })

/** The sign-in widget asks for a code to be sent with an empty one. */
const codeOrNone = (max: number) =>
  text(max).refine(isPlain, { error: 'must not contain control characters' })

const optional = <Schema extends z.ZodType>(schema: Schema) =>
  schema
    .nullish()
    .transform((value) => value ?? undefined)
    .optional()

const username = plain(320)
const password = nonEmpty(1024)
const flag = z.boolean({ error: 'must be true or false' })

const handle = text(128)
const options = optional(
  z.object(
    { multiOptionalFactorEnroll: optional(flag), warnBeforePasswordExpired: optional(flag) },
    { error: 'must be an object or null' },
  ),
)
/** Checked and discarded: the device token comes from the broker's own cookie. */
const context = optional(
  z.object({ deviceToken: optional(text(1024)) }, { error: 'must be an object or null' }),
)
const relayState = optional(text(2048))

export const primaryBody = z
  .object({
    username: optional(username),
    password: optional(password),
    token: optional(plain(1024)),
    stateToken: optional(handle),
    options,
    context,
    audience: optional(plain(2048)),
    relayState,
  })
  .superRefine((body, issues) => {
    const complain = (field: string, message: string) =>
      issues.addIssue({ code: 'custom', path: [field], message })
    const named = body.username !== undefined
    const proven = body.password !== undefined
    if (named && !proven) complain('password', 'is required with username')
    if (proven && !named) complain('username', 'is required with password')
    if (body.token !== undefined && (named || proven))
      complain('token', 'cannot be combined with username or password')
    if (body.token !== undefined && body.stateToken !== undefined)
      complain('token', 'cannot be combined with stateToken')
    if (!named && !proven && body.token === undefined && body.stateToken === undefined) {
      complain('username', 'username and password, token, or stateToken is required')
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

export const recoveryCodeBody = stateBody.extend({ passCode: plain(256) })

/** Exactly these: without one the upstream would hand the recovery token itself to a trusted application. */
export const recoveryBody = z.object({
  username,
  factorType: z.enum(['EMAIL', 'SMS', 'CALL'], { error: 'must be EMAIL, SMS or CALL' }),
  relayState,
})
export type RecoveryBody = z.infer<typeof recoveryBody>

export const recoveryTokenBody = z.object({ recoveryToken: plain(1024), options })
export type RecoveryTokenBody = z.infer<typeof recoveryTokenBody>

/** What a factor is set up with; which of these a factor needs, the upstream says. */
const profile = optional(
  z.object(
    {
      question: optional(plain(256)),
      questionText: optional(plain(256)),
      answer: optional(nonEmpty(1024)),
      phoneNumber: optional(plain(64)),
      phoneExtension: optional(plain(32)),
      /** The widget sends `false` to enrol a number that Okta has refused as invalid (E0000098). */
      validatePhone: optional(flag),
      email: optional(plain(320)),
      credentialId: optional(plain(320)),
      password: optional(password),
    },
    { error: 'must be an object or null' },
  ),
)

export const enrollBody = stateBody.extend({
  factorType: plain(64),
  provider: plain(64),
  profile,
  passCode: optional(plain(256)),
  nextPassCode: optional(plain(256)),
})

export const enrollResendBody = stateBody.extend({
  factorType: optional(plain(64)),
  provider: optional(plain(64)),
  profile,
})

export const activateBody = stateBody.extend({
  passCode: optional(plain(256)),
  attestation: optional(plain(32_768)),
  clientData: optional(plain(16_384)),
  registrationData: optional(plain(16_384)),
})

export const sendLinkBody = stateBody.extend({ profile })

/** One shape for every factor: which fields a factor needs, the upstream says. */
export const verifyBody = stateBody.extend({
  passCode: optional(codeOrNone(256)),
  answer: optional(nonEmpty(1024)),
  password: optional(password),
  clientData: optional(plain(16_384)),
  signatureData: optional(plain(16_384)),
  authenticatorData: optional(plain(16_384)),
})

/** The fields of Duo's form; `sig_response` is what Duo signed, as good as a code. */
export const duoCallbackBody = stateBody.extend({ id: plain(64), sig_response: plain(8192) })

const queryFlag = z.enum(['true', 'false'], { error: 'must be true or false, once' }).optional()
export const queryFlags = z.object({ rememberDevice: queryFlag, autoPush: queryFlag, updatePhone: queryFlag })
export type QueryFlags = z.infer<typeof queryFlags>

/** Throws `invalidField` with one cause a field: `profile.phoneNumber: must be a string`. */
export function parse<Output>(schema: z.ZodType<Output>, value: unknown): Output {
  const parsed = schema.safeParse(value)
  if (!parsed.success) {
    throw invalidField(
      ...parsed.error.issues.map(({ path, message }) => `${path.join('.') || 'body'}: ${message}`),
    )
  }
  removeMissing(parsed.data)
  return parsed.data
}

/** A field that was `null` must not be there at all: a body of the handle alone is a poll. */
function removeMissing(fields: unknown): void {
  if (typeof fields !== 'object' || fields === null) return
  for (const [name, field] of Object.entries(fields)) {
    if (field === undefined) Reflect.deleteProperty(fields, name)
    else removeMissing(field)
  }
}

function isPlain(value: string): boolean {
  return !/\p{Cc}/u.test(value)
}
