import { z } from 'zod'
import { OKTA_ERRORS, type OktaErrorCode } from '../src/okta-errors.ts'
import { openEnum } from './open-values.ts'

/**
 * The codes of Okta that the API's documentation names: those of the broker, and the most frequent
 * ones of Okta.
 */
const NAMED = [
  ...(['E0000001', 'E0000003', 'E0000004', 'E0000005', 'E0000006', 'E0000007', 'E0000009'] as const),
  ...(['E0000011', 'E0000014', 'E0000021', 'E0000022', 'E0000047', 'E0000068', 'E0000069'] as const),
  ...(['E0000079', 'E0000087', 'E0000105', 'E0000109', 'E0000113', 'E0000119', 'E0000133'] as const),
  ...(['E0000207', 'E0000240', 'E0000241'] as const),
]

const meaningOf = <Code extends OktaErrorCode>(codes: readonly Code[]) =>
  Object.fromEntries(codes.map((code) => [code, OKTA_ERRORS[code].meaning])) as Record<Code, string>

/** Every error code that responses are documented with, and its meaning. */
export const ERROR_CODES = {
  ...meaningOf(NAMED),
  sign_in_again: 'the last sign-in is too old for this; sign in again, within the session',
  pam_bad_request: 'the access service refused the request',
  pam_credentials: 'the access service did not accept the credentials of the broker',
  pam_not_permitted: 'the access service does not permit this lookup',
  pam_unexpected: 'the access service sent an unexpected response',
  pam_quota: 'the team has exceeded its quota at the access service',
  pam_team_disabled: 'the team is disabled at the access service',
  pam_user_unknown: 'the access service does not know the user',
  pam_misconfigured: 'the access service is not configured correctly',
  pam_deprecated: 'the access service no longer offers this resource',
  pam_rate_limited: 'the rate limit of the access service is exceeded',
  pam_unavailable: 'the access service is not available',
  pam_timeout: 'the access service did not respond in time',
} as const

/** The body of every error response. */
export const errorObjectSchema = z
  .strictObject({
    errorCode: openEnum([...new Set([...Object.keys(ERROR_CODES), ...Object.keys(OKTA_ERRORS)])], {
      id: 'ErrorCode',
      description: 'A stable code, for use in programs: one of the broker, or another one of Okta.',
    }),
    errorSummary: z.string().meta({ description: 'A sentence for users.' }),
    errorLink: z.string().meta({ description: 'The same as `errorCode`.' }),
    errorId: z.string().meta({
      description: 'The request id, as in `X-Request-Id`. In an error of Okta, it is Okta’s own id.',
    }),
    errorCauses: z
      .array(z.strictObject({ errorSummary: z.string() }))
      .meta({ description: 'Details, each naming a field, header or setting; may be empty.' }),
  })
  .meta({ id: 'ErrorObject', description: 'Every error has this shape.' })

export function errorSchemaOf(codes: readonly [ErrorCode, ...ErrorCode[]]): z.ZodType {
  return errorObjectSchema.and(z.looseObject({ errorCode: z.enum(codes) }))
}

export type ErrorCode = keyof typeof ERROR_CODES

export function isErrorCode(code: string): code is ErrorCode {
  return Object.hasOwn(ERROR_CODES, code)
}
