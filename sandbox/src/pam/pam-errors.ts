import type { CannedResponse } from '../fault-responses.ts'

/** The 16 errors of the API (docs/conformance.md P-12). */
export const PAM_ERRORS = {
  invalid_request: { status: 400, message: 'The request body is improper or invalid' },
  authentication_error: { status: 401, message: 'A correct API token was not provided' },
  authorization_error: { status: 401, message: 'The current user lacks permission for the resource' },
  server_authorization_revoked: { status: 401, message: 'The server was deleted and must be enrolled again' },
  forbidden_error: { status: 403, message: 'The user has no access to the resource' },
  quota_exceeded: { status: 403, message: 'The team has exceeded its allotted amount of this resource' },
  disabled_team: { status: 403, message: 'The team is disabled' },
  resource_does_not_exist: { status: 404, message: 'The resource does not exist' },
  resource_deprecated: { status: 404, message: 'The resource is deprecated' },
  resource_already_exists: { status: 409, message: 'The resource already exists' },
  unsupported_content_type: { status: 415, message: 'The body must be a JSON object, sent as such' },
  too_many_requests: { status: 429, message: 'The rate limit is exceeded' },
  client_closed_connection: { status: 499, message: 'The client closed the connection' },
  unknown_error: { status: 500, message: 'Something went wrong' },
  service_offline: { status: 503, message: 'The service is temporarily offline' },
  gateway_timeout: { status: 504, message: 'The gateway timed out' },
} as const

export type PamErrorName = keyof typeof PAM_ERRORS
export const PAM_ERROR_NAMES = Object.keys(PAM_ERRORS) as [PamErrorName, ...PamErrorName[]]

/**
 * The shape of an error's body is not documented. Recorded responses have the error name in `error`
 * or `message`. `name` and `code` have it in those fields; the other shapes have no error name.
 * Okta's own client has `nottype` for some refusals (O4).
 */
export const ERROR_SHAPES = [
  'error',
  'message',
  'name',
  'code',
  'unnamed-error',
  'unnamed-message',
  'nottype',
  'html',
  'empty',
] as const
export type ErrorShape = (typeof ERROR_SHAPES)[number]

export type FieldProblem = { path: string; message: string }

/** Thrown by routes. The error handler sends it in the current error shape. */
export class PamError extends Error {
  readonly error: PamErrorName
  readonly problems: readonly FieldProblem[]
  constructor(error: PamErrorName, problems: readonly FieldProblem[] = []) {
    super(PAM_ERRORS[error].message)
    this.name = 'PamError'
    this.error = error
    this.problems = problems
  }
}

type ErrorDetails = {
  error: PamErrorName
  status: number
  message: string
  problems: readonly FieldProblem[]
}

const BODIES: Record<ErrorShape, (details: ErrorDetails) => unknown> = {
  error: ({ error, status, problems }) => ({ code: status, error, error_cause: problems }),
  message: ({ error, message, problems }) => ({ message: `${error}: ${message}`, errors: problems }),
  name: ({ error, message, problems }) => ({ name: error, message, errors: problems }),
  code: ({ error, message }) => ({ code: error, message }),
  'unnamed-error': ({ status, message, problems }) => ({
    code: status,
    error: message,
    error_cause: problems,
  }),
  'unnamed-message': ({ message, problems }) => ({ message, errors: problems }),
  nottype: ({ status, message }) => ({ nottype: 'error', code: status, message }),
  html: ({ status, message }) =>
    `<!DOCTYPE html>\n<html><head><title>${status}</title></head><body><h1>${message}</h1></body></html>\n`,
  empty: () => undefined,
}

export function pamErrorResponse(
  error: PamErrorName,
  shape: ErrorShape,
  problems: readonly FieldProblem[] = [],
): CannedResponse {
  const { status, message } = PAM_ERRORS[error]
  const body = BODIES[shape]({ error, status, message, problems })
  if (shape !== 'html') return { status, body }
  return { status, body, headers: { 'Content-Type': 'text/html; charset=utf-8' } }
}
