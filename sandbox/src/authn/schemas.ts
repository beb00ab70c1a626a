import { z } from 'zod'
import { validationFailed } from './authn-error.ts'

const flag = z.boolean().nullish()
/** Scripts send strings (S16). */
const option = z
  .union([z.boolean(), z.enum(['true', 'false']).transform((text) => text === 'true')])
  .nullish()
const text = z.string().max(10_000)
const optional = text.nullish().transform((value) => value ?? undefined)

/** Request bodies. As in Okta, unknown members are ignored, and null means missing. */
export const primaryBody = z.object({
  username: optional,
  password: optional,
  token: optional,
  stateToken: optional,
  audience: optional,
  relayState: optional,
  options: z.object({ warnBeforePasswordExpired: option, multiOptionalFactorEnroll: option }).nullish(),
  /** Parsed only for a trusted app. */
  context: z.unknown().optional(),
})
export type PrimaryBody = z.output<typeof primaryBody>

const MAX_DEVICE_TOKEN = 32
export const contextMember = z.object({
  context: z.object({ deviceToken: z.string().max(MAX_DEVICE_TOKEN).nullish() }).nullish(),
})

const required = text.min(1)
export const stateBody = z.object({ stateToken: required })

export const changePasswordBody = stateBody.extend({
  oldPassword: required,
  newPassword: required,
  revokeSessions: flag,
})
export type ChangePasswordBody = z.output<typeof changePasswordBody>

export const resetPasswordBody = stateBody.extend({
  newPassword: required,
  revokeSessions: flag,
  /** The answer to the recovery question; optional, but checked if present. */
  answer: optional,
})
export type ResetPasswordBody = z.output<typeof resetPasswordBody>

export const factorBody = stateBody.extend({
  passCode: optional,
  answer: optional,
  password: optional,
  clientData: optional,
  signatureData: optional,
  authenticatorData: optional,
  attestation: optional,
  registrationData: optional,
  profile: z
    .record(z.string(), z.unknown())
    .nullish()
    .transform((value) => value ?? undefined),
})

/** The fields of Duo's form. Pages may leave `id` out. */
export const duoForm = stateBody.extend({ id: optional, sig_response: required })
export type DuoForm = z.output<typeof duoForm>

/**
 * The query of Duo's frame in version 2 of the Web SDK. `parent` is the URL of the page that embeds
 * it.
 */
export const duoFrameQuery = z.object({
  tx: required,
  parent: required.pipe(z.url({ protocol: /^https?$/, hostname: /^[\w.[\]:-]+$/ })),
  v: required.pipe(z.string().regex(/^2\./, 'is not version 2 of the Web SDK')),
})

export const enrollBody = factorBody.extend({ factorType: required, provider: required })
export type EnrollBody = z.output<typeof enrollBody>

export const recoveryBody = z.object({ username: required, factorType: optional, relayState: optional })
export type RecoveryBody = z.output<typeof recoveryBody>

export const recoveryTokenBody = z.object({
  recoveryToken: required,
  options: primaryBody.shape.options,
  context: primaryBody.shape.context,
})
export type RecoveryTokenBody = z.output<typeof recoveryTokenBody>

export const recoveryCodeBody = stateBody.extend({ passCode: required })
export const recoveryAnswerBody = stateBody.extend({ answer: required })

/** @throws E0000001 with one cause for each wrong member */
export function parseBody<S extends z.ZodType>(schema: S, body: unknown): z.output<S> {
  const result = schema.safeParse(body)
  if (result.success) return result.data
  const causes = result.error.issues.map((issue) => ({
    field: issue.path.map(String).join('.') || 'body',
    message:
      body !== null && typeof body === 'object' && isMissing(body, issue.path) ? MISSING : issue.message,
  }))
  throw validationFailed(
    causes[0]?.field ?? 'body',
    causes.map(({ field, message }) => `${field}: ${message}`),
  )
}

const MISSING = 'The field cannot be left blank'

function isMissing(body: object, path: readonly PropertyKey[]): boolean {
  const [first] = path
  return path.length === 1 && first !== undefined && ['', null, undefined].includes(Reflect.get(body, first))
}
