import { z } from 'zod'
import { invalidField } from '../errors.ts'

/**
 * What a browser may send, operation by operation. Only the fields named here are copied; an unknown field is left
 * out. Every string has a maximum length. Messages name the field and the rule, never the value.
 */
const text = (max: number) =>
  z.string({ error: 'must be a string' }).max(max, { error: `must have at most ${max} characters` })

const nonEmpty = (max: number) => text(max).min(1, { error: 'must not be empty' })

/** Names and numbers that people type: no control characters. Passwords are left byte for byte as they are. */
const plain = (max: number) => nonEmpty(max).refine(isPlain, { error: 'must not contain control characters' })

/** The sign-in widget asks for a code to be sent with an empty one. */
const codeOrNone = (max: number) =>
  text(max).refine(isPlain, { error: 'must not contain control characters' })

const username = plain(320)
const password = nonEmpty(1024)
const flag = z.boolean({ error: 'must be true or false' })

const handle = text(128)
const options = z
  .object(
    {
      multiOptionalFactorEnroll: flag.nullish(),
      warnBeforePasswordExpired: flag.nullish(),
    },
    { error: 'must be an object or null' },
  )
  .nullish()
/** Looked at and thrown away: the device token comes from our cookie, whatever the browser says. */
const context = z
  .object({ deviceToken: text(1024).nullish() }, { error: 'must be an object or null' })
  .nullish()

export const primaryBody = z
  .object({
    username: username.optional(),
    password: password.optional(),
    token: plain(1024).optional(),
    stateToken: handle.optional(),
    options,
    context,
    audience: plain(2048).nullish(),
    relayState: text(2048).nullish(),
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
  revokeSessions: flag.optional(),
})

export const resetPasswordBody = stateBody.extend({
  newPassword: password,
  revokeSessions: flag.optional(),
  answer: nonEmpty(1024).optional(),
})

export const answerBody = stateBody.extend({ answer: nonEmpty(1024) })

export const recoveryCodeBody = stateBody.extend({ passCode: plain(256) })

/** Exactly these: without one the upstream would hand the recovery token itself to a trusted application. */
export const recoveryBody = z.object({
  username,
  factorType: z.enum(['EMAIL', 'SMS', 'CALL'], { error: 'must be EMAIL, SMS or CALL' }),
  relayState: text(2048).nullish(),
})
export type RecoveryBody = z.infer<typeof recoveryBody>

export const recoveryTokenBody = z.object({ recoveryToken: plain(1024), options })
export type RecoveryTokenBody = z.infer<typeof recoveryTokenBody>

/** What a factor is set up with; which of these a factor needs, the upstream says. */
const profile = z
  .object(
    {
      question: plain(256).optional(),
      questionText: plain(256).optional(),
      answer: nonEmpty(1024).optional(),
      phoneNumber: plain(64).optional(),
      phoneExtension: plain(32).optional(),
      email: plain(320).optional(),
      credentialId: plain(320).optional(),
    },
    { error: 'must be an object' },
  )
  .optional()

export const enrollBody = stateBody.extend({
  factorType: plain(64),
  provider: plain(64),
  profile,
  passCode: plain(256).optional(),
  nextPassCode: plain(256).optional(),
})

export const enrollResendBody = stateBody.extend({
  factorType: plain(64).optional(),
  provider: plain(64).optional(),
  profile,
})

export const activateBody = stateBody.extend({
  passCode: plain(256).optional(),
  attestation: plain(32_768).optional(),
  clientData: plain(16_384).optional(),
  registrationData: plain(16_384).optional(),
})

export const sendLinkBody = stateBody.extend({ profile })

/** One shape for every factor: which fields a factor needs, the upstream says. */
export const verifyBody = stateBody.extend({
  passCode: codeOrNone(256).optional(),
  answer: nonEmpty(1024).optional(),
  clientData: plain(16_384).optional(),
  signatureData: plain(16_384).optional(),
  authenticatorData: plain(16_384).optional(),
})

const queryFlag = z.enum(['true', 'false'], { error: 'must be true or false, once' }).optional()
export const queryFlags = z.object({ rememberDevice: queryFlag, autoPush: queryFlag, updatePhone: queryFlag })
export type QueryFlags = z.infer<typeof queryFlags>
export type QueryFlag = keyof QueryFlags

/** Throws `invalidField` with one cause a field: `profile.phoneNumber: must be a string`. */
export function parse<Output>(schema: z.ZodType<Output>, value: unknown): Output {
  const parsed = schema.safeParse(value)
  if (parsed.success) return parsed.data
  throw invalidField(
    ...parsed.error.issues.map(({ path, message }) => `${path.join('.') || 'body'}: ${message}`),
  )
}

function isPlain(value: string): boolean {
  return !/\p{Cc}/u.test(value)
}
