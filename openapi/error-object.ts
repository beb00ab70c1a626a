import { z } from 'zod'
import { openEnum } from './open-values.ts'

/** Every error code in responses, with its meaning. */
export const ERROR_CODES = {
  E0000001: 'a field, parameter, header or the URL is wrong; a cause names it',
  E0000003: 'the body is not a JSON object',
  E0000004:
    'sign-in failed: wrong credentials, a locked account, a policy, or an activation token that is not valid',
  E0000005: 'no session',
  E0000006: 'not allowed: a cross-site request, or the user lacks permission',
  E0000007: 'not found',
  E0000009: 'the broker, its store or Okta failed; the credentials may be correct',
  E0000011:
    'the handle is unknown, expired or belongs to another browser: start again; or the bearer token, or the secret of the event hook, is wrong',
  E0000014: 'the old password is wrong, or the new one violates the policy; the causes say how',
  E0000021: 'the content type is not `application/json` in UTF-8',
  E0000022: 'the path does not support this method',
  E0000047: 'rate limited',
  E0000068: 'wrong passcode or answer',
  E0000069: 'too many wrong passcodes',
  E0000079: 'this step is not offered in the current state',
  E0000087: 'wrong recovery answer',
  E0000109: 'a text message was sent recently',
  E0000133: 'a call was made recently',
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

/** Codes that only Okta sends, and the broker passes on. More may come. */
const OKTA_CODES = [
  ...[
    'E0000008',
    'E0000010',
    'E0000015',
    'E0000016',
    'E0000017',
    'E0000032',
    'E0000034',
    'E0000035',
    'E0000038',
  ],
  ...[
    'E0000067',
    'E0000073',
    'E0000074',
    'E0000080',
    'E0000082',
    'E0000083',
    'E0000085',
    'E0000095',
    'E0000097',
  ],
  ...[
    'E0000098',
    'E0000099',
    'E0000105',
    'E0000106',
    'E0000110',
    'E0000112',
    'E0000119',
    'E0000122',
    'E0000207',
  ],
]

/** The body of every error response. */
export const errorObjectSchema = z
  .strictObject({
    errorCode: openEnum([...Object.keys(ERROR_CODES), ...OKTA_CODES], {
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
