import { z } from 'zod'
import type { ZodOpenApiResponseObject } from 'zod-openapi'
import { type DescribedOperation, type ErrorsByStatus, RATE_LIMIT_HEADERS } from './description.ts'
import ERROR_EXAMPLES from './error-examples.json' with { type: 'json' }
import { ERROR_CODES, type ErrorCode, errorObjectSchema, errorSchemaOf } from './error-object.ts'
import { headersOf, mapEntries, ref } from './references.ts'

/**
 * The components that the responses refer to: an example of each status and code, such as
 * `401-E0000011`.
 */
export const ERROR_EXAMPLE_COMPONENTS = mapEntries(ERROR_EXAMPLES, (value) => ({ value }))

/** The error responses of an operation, by status. */
export function errorResponses(operation: DescribedOperation): Record<string, ZodOpenApiResponseObject> {
  return {
    ...mapEntries(errorsOf(operation), (codes, status) => errorResponse(status, codes, operation)),
    default: operation.forwardsUpstreamErrors ? UPSTREAM_ERROR : REFUSED_EARLY,
  }
}

/** The responses of every operation and of this one. */
function errorsOf(operation: DescribedOperation): ErrorsByStatus {
  const { method, kind, cookies, errors = {}, withoutBody, hasAppToken } = operation
  const isOfPage = !hasAppToken && kind !== 'bound-session'
  const all: Record<number, ErrorCode[]> = {}
  const sources = [
    ERRORS.everywhere,
    hasAppToken ? ERRORS.appToken : {},
    isOfPage ? ERRORS.ofPage : {},
    withoutBody || hasAppToken ? {} : ERRORS.crossSite,
    method === 'GET' || !isOfPage ? {} : ERRORS.unsafe,
    cookies.session === 'required' ? ERRORS.noSession : {},
    errors,
  ]
  for (const source of sources) {
    for (const [status, codes] of Object.entries(source)) {
      all[Number(status)] = [...new Set([...(all[Number(status)] ?? []), ...codes])].sort()
    }
  }
  return all
}

const ERRORS = {
  everywhere: {
    400: ['E0000001'],
    500: ['E0000009'],
    503: ['E0000009'],
  },
  ofPage: { 409: ['E0000006'] },
  appToken: { 401: ['E0000011'], 429: ['E0000047'] },
  crossSite: { 403: ['E0000006'] },
  noSession: { 401: ['E0000005'] },
  unsafe: { 400: ['E0000003'], 413: ['E0000001'], 415: ['E0000021'] },
} as const satisfies Record<string, ErrorsByStatus>

/** If Okta's errors are forwarded, codes other than the listed ones can occur. */
function errorResponse(
  status: string,
  codes: readonly ErrorCode[],
  { forwardsUpstreamErrors = false, rendersErrorPages, withoutBody }: DescribedOperation,
): ZodOpenApiResponseObject {
  const anyCode = forwardsUpstreamErrors && PASSED_ON.has(status)
  const [first, ...others] = codes
  const schema = anyCode || first === undefined ? errorObjectSchema : errorSchemaOf([first, ...others])
  const sentences = codes.map((code) => `\`${code}\`: ${MEANINGS[`${status} ${code}`] ?? ERROR_CODES[code]}.`)
  if (anyCode) sentences.push('Or another error code of Okta, unchanged.')
  const content = {
    'application/json': { schema, examples: examplesOf(codes.map((code) => `${status}-${code}`)) },
    ...(rendersErrorPages && { 'text/html': { schema: z.string() } }),
  }
  const codeNames = codes.length <= 3 ? codes : [codes[0], `and-${codes.length - 1}-more`]
  const variants = [anyCode && 'upstream', rendersErrorPages && 'html', withoutBody && 'no-body']
  return sharedResponse({
    id: ['E', status, ...codeNames, ...variants].filter(Boolean).join('-'),
    description: sentences.join('\n\n'),
    headers: headersOf([
      'X-Request-Id',
      ...(status === '429' ? RATE_LIMIT_HEADERS : []),
      ...(status === '429' || status === '503' ? (['Retry-After'] as const) : []),
    ]),
    ...(!withoutBody && { content }),
  })
}

const UPSTREAM_ERROR: ZodOpenApiResponseObject = {
  id: 'E-upstream',
  description: 'Any other error of Okta, unchanged.',
  headers: headersOf(['X-Request-Id']),
  content: { 'application/json': { schema: errorObjectSchema, examples: examplesOf(['410-E0000008']) } },
}

const REFUSED_EARLY: ZodOpenApiResponseObject = {
  id: 'E-refused-early',
  description:
    'Refused before it is routed: too slow (408), with an `Expect` header other than `100-continue` (417), or with headers that are too large (431).',
  content: {
    'application/json': {
      schema: errorSchemaOf(['E0000001']),
      examples: examplesOf(['408-E0000001', '417-E0000001', '431-E0000001']),
    },
  },
}

function examplesOf(names: readonly string[]) {
  return Object.fromEntries(names.map((name) => [name, ref('examples', name)]))
}

/** Codes that mean something special with a status. */
const MEANINGS: Readonly<Record<string, string>> = {
  '409 E0000006':
    'the session of this browser is not the one that `X-Gatehouse-Session` names; the request had no effect',
  '413 E0000001': 'the body is larger than 64 kB (of an event hook: 1 MB)',
}

/** Statuses of Okta's own errors that are passed on. */
const PASSED_ON: ReadonlySet<string> = new Set([
  '400',
  '401',
  '403',
  '404',
  '409',
  '429',
  '500',
  '502',
  '503',
  '504',
])

/** Equal responses are one component, which zod-openapi knows by the object's identity. */
const shared = new Map<string, ZodOpenApiResponseObject>()
function sharedResponse(response: ZodOpenApiResponseObject & { id: string }): ZodOpenApiResponseObject {
  const known = shared.get(response.id) ?? response
  if (known.description !== response.description) throw new Error(`two responses are called ${response.id}`)
  shared.set(response.id, known)
  return known
}
