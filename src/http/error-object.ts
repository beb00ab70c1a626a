import { z } from 'zod'

/** The body of every error answer (DESIGN §2), as our own errors have it. */
export const errorObjectSchema = z
  .strictObject({
    errorCode: z
      .string()
      .min(1)
      .meta({ description: 'Stable; what programs decide by.', examples: ['E0000004'] }),
    errorSummary: z.string().meta({ description: 'A sentence for people.' }),
    errorLink: z.string().meta({ description: 'The code again.' }),
    errorId: z.string().meta({
      description:
        'The request id, which is in `X-Request-Id` too; an error that the upstream made keeps its own.',
    }),
    errorCauses: z
      .array(z.strictObject({ errorSummary: z.string() }))
      .meta({ description: 'What exactly is wrong, each naming a field, header or setting; may be empty.' }),
  })
  .meta({ id: 'Error', description: 'The one shape of every error.' })

/** An error whose code is one of these. */
export function errorSchemaOf(codes: readonly [ErrorCode, ...ErrorCode[]]): z.ZodType {
  return errorObjectSchema.and(z.looseObject({ errorCode: z.enum(codes) }))
}

/** Every code that an answer can bear, and what it means to who reads it. */
export const ERROR_CODES = {
  E0000001: 'a field, parameter, header or the URL is wrong; a cause names it',
  E0000003: 'the body is no JSON object',
  E0000004:
    'sign-in failed: wrong credentials, a locked account, a policy, or an activation token that is not valid',
  E0000005: 'no session',
  E0000006: 'not allowed: a cross-site request, or something this person may not do',
  E0000007: 'not found',
  E0000009: 'trouble here, at the store or upstream; it says nothing about the person',
  E0000011: 'the handle is unknown, expired or belongs to another browser; start again',
  E0000014: 'the old password is wrong, or the new one does not satisfy the policy; causes say how',
  E0000021: 'the content type is not `application/json` in UTF-8',
  E0000022: 'the path does not have this method',
  E0000047: 'rate limited',
  E0000068: 'wrong passcode or answer',
  E0000069: 'too many wrong passcodes',
  E0000079: 'this step is not offered in the current state',
  E0000087: 'wrong recovery answer',
  E0000109: 'a text message was sent moments ago',
  E0000133: 'a call was made moments ago',
  pam_bad_request: 'the access service refused the request',
  pam_credentials: 'the access service did not accept the credentials of this broker',
  pam_not_permitted: 'the access service does not permit this lookup',
  pam_unexpected: 'the access service answered unexpectedly',
  pam_quota: 'the team has exceeded its allotment at the access service',
  pam_team_disabled: 'the team is disabled at the access service',
  pam_user_unknown: 'this person is not known to the access service',
  pam_misconfigured: 'the access service is not configured correctly',
  pam_deprecated: 'the access service no longer offers this resource',
  pam_rate_limited: 'the access service limits our requests for now',
  pam_unavailable: 'the access service is not available',
  pam_timeout: 'the access service did not answer in time',
} as const

export type ErrorCode = keyof typeof ERROR_CODES

export function isErrorCode(code: string): code is ErrorCode {
  return Object.hasOwn(ERROR_CODES, code)
}
