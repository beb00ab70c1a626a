import { z } from 'zod'
import {
  createDocument,
  type ZodOpenApiObject,
  type ZodOpenApiOperationObject,
  type ZodOpenApiResponseObject,
} from 'zod-openapi'
import { AUTHN_OPERATIONS } from './authn/authn-operations.ts'
import { NAVIGATION_OPERATIONS } from './authn/redirects/navigation-operations.ts'
import { ERROR_CODES, type ErrorCode, errorObjectSchema, errorSchemaOf } from './http/error-object.ts'
import {
  type ErrorsByStatus,
  type Operation,
  type Operations,
  RATE_LIMIT_HEADERS,
  REQUEST_HEADERS,
  RESPONSE_HEADERS,
  type SuccessResponse,
} from './http/operation.ts'
import { MEDIA_TYPES } from './http/request-body.ts'
import { VERSION } from './observability/version.ts'
import { EXAMPLES } from './openapi-examples.ts'
import { PAM_OPERATIONS } from './pam/pam-operations.ts'
import { FORWARD_AUTH_OPERATIONS } from './session/forward-auth.ts'
import { OWN_SESSIONS_OPERATIONS, SESSION_OPERATIONS } from './session/session-operations.ts'

/** The public API in OpenAPI 3.1, made from the schemas that the routes themselves use. */
export type OpenApiDocument = ReturnType<typeof createDocument>

/** Every public operation, in the order of the document. */
export const OPERATIONS: Operations = {
  ...AUTHN_OPERATIONS,
  ...NAVIGATION_OPERATIONS,
  ...SESSION_OPERATIONS,
  ...OWN_SESSIONS_OPERATIONS,
  ...FORWARD_AUTH_OPERATIONS,
  ...PAM_OPERATIONS,
}

export function openApiDocument(): OpenApiDocument {
  const paths: NonNullable<ZodOpenApiObject['paths']> = {}
  for (const [id, operation] of Object.entries(OPERATIONS)) {
    const path = operation.path.replace(/:(\w+)/g, '{$1}')
    paths[path] = { ...paths[path], [operation.method.toLowerCase()]: operationObject(id, operation) }
  }
  return createDocument({ ...ABOUT, paths, components: COMPONENTS }, { override: leaveOutFormatPatterns })
}

const ABOUT: Omit<ZodOpenApiObject, 'paths' | 'components'> = {
  openapi: '3.1.1',
  info: {
    title: 'Gatehouse',
    version: VERSION,
    license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    description: [
      'A sign-in broker that is a trusted application of Okta. It has the paths, bodies and responses of Okta’s classic Authentication API, without the secrets. A `stateToken` is a handle of the broker, useless without the device cookie of the same browser. The session is a cookie.',
      'Every GET operation also supports HEAD, except those under Redirects, because they work once. A path that is not listed returns 404. A method that is not listed returns 405 with `Allow`. A request that is too slow (408), whose headers are too large (431) or that expects anything but `100-continue` (417) is refused before it is routed. The body of these responses is the Error object.',
      'Bodies are JSON objects in UTF-8 up to 64 kB; fields that are not listed are ignored. A page on another origin must be on one of `ALLOWED_ORIGINS` and send credentials.',
    ].join('\n\n'),
  },
  servers: [{ url: '/', description: 'PUBLIC_URL' }],
  tags: [
    {
      name: 'Sign-in',
      description: 'A transaction, step by step. `_links` lists the next steps.',
    },
    { name: 'Factors', description: 'Second factors: verify, enroll, activate.' },
    { name: 'Recovery', description: 'Forgotten passwords and locked accounts.' },
    { name: 'Redirects', description: 'Addresses to which a page navigates; it must not fetch them.' },
    { name: 'Session', description: 'The session of this browser, and the sessions of the user.' },
    {
      name: 'Access',
      description:
        'Groups and roles from Okta Privileged Access (PAM), which error messages call the access service.',
    },
  ],
}

const COMPONENTS = {
  headers: RESPONSE_HEADERS,
  parameters: Object.fromEntries(
    Object.entries(REQUEST_HEADERS).map(([name, parameter]) => [
      name,
      { name, in: 'header' as const, ...parameter },
    ]),
  ),
  securitySchemes: {
    session: {
      type: 'apiKey',
      in: 'cookie',
      name: '__Host-gatehouse',
      description: 'The session cookie. HttpOnly; over http on localhost it is called `gatehouse`.',
    },
    device: {
      type: 'apiKey',
      in: 'cookie',
      name: '__Host-gatehouse-device',
      description:
        'The device cookie. HttpOnly; set by the first response; over http on localhost it is called `gatehouse-device`.',
    },
  },
} as const

function operationObject(id: string, operation: Operation): ZodOpenApiOperationObject {
  const { params, query, body, encoding = 'json', description, headers = [] } = operation
  const example = EXAMPLES[id]
  const requestBody = body && {
    required: true,
    content: { [MEDIA_TYPES[encoding]]: { schema: body, ...(example?.body && { example: example.body }) } },
  }
  return {
    operationId: id,
    tags: [operation.tag],
    summary: operation.summary,
    ...(description && { description }),
    security: securityOf(operation.cookies),
    parameters: (['X-Gatehouse-Session', ...headers] as const).map((name) => ref('parameters', name)),
    requestParams: { ...(params && { path: params }), ...(query && { query }) },
    ...(requestBody && { requestBody }),
    responses: {
      ...mapEntries(operation.responses, (response, status) =>
        successResponse(response, status === '200' ? example?.response : undefined),
      ),
      ...mapEntries(errorsOf(operation), (codes, status) => errorResponse(status, codes, operation)),
      ...(operation.forwardsUpstreamErrors && { default: UPSTREAM_ERROR }),
    },
  }
}

/** The format is enough: zod's pattern for a time fills a screen. */
function leaveOutFormatPatterns({ jsonSchema }: { jsonSchema: { format?: string; pattern?: string } }): void {
  if (jsonSchema.format !== undefined) delete jsonSchema.pattern
}

/** Each member of the list is one sufficient set of cookies; an empty set: no cookie is needed. */
function securityOf(cookies: Operation['cookies']): Record<string, string[]>[] {
  const all = Object.keys(cookies)
  const required = all.filter((name) => cookies[name as keyof typeof cookies] === 'required')
  const schemes = (names: readonly string[]) => Object.fromEntries(names.map((name) => [name, []]))
  return required.length === all.length ? [schemes(all)] : [schemes(required), schemes(all)]
}

/** The responses of every operation and of this one. */
function errorsOf({ method, cookies, errors = {}, withoutBody }: Operation): ErrorsByStatus {
  const all: Record<number, ErrorCode[]> = {}
  const sources = [
    ERRORS.everywhere,
    ERRORS.ours,
    withoutBody ? {} : ERRORS.crossSite,
    method === 'GET' ? {} : ERRORS.unsafe,
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
  everywhere: { 400: ['E0000001'], 409: ['E0000006'], 414: ['E0000001'] },
  ours: { 500: ['E0000009'], 503: ['E0000009'] },
  crossSite: { 403: ['E0000006'] },
  noSession: { 401: ['E0000005'] },
  unsafe: { 400: ['E0000003'], 413: ['E0000001'], 415: ['E0000021'] },
} as const satisfies Record<string, ErrorsByStatus>

function successResponse(
  { description, content = {}, headers = [] }: SuccessResponse,
  example: unknown,
): ZodOpenApiResponseObject {
  const media = mapEntries(content, (schema, type) =>
    type === MEDIA_TYPES.json ? { schema, ...(example !== undefined && { example }) } : { schema },
  )
  return {
    description,
    headers: headersOf(['X-Request-Id', ...headers]),
    ...(Object.keys(media).length > 0 && { content: media }),
  }
}

/** If Okta's errors are passed on, codes other than the listed ones can occur. */
function errorResponse(
  status: string,
  codes: readonly ErrorCode[],
  { forwardsUpstreamErrors = false, rendersErrorPages, withoutBody }: Operation,
): ZodOpenApiResponseObject {
  const anyCode = forwardsUpstreamErrors && PASSED_ON.has(status)
  const [first, ...others] = codes
  const schema = anyCode || first === undefined ? errorObjectSchema : errorSchemaOf([first, ...others])
  const sentences = codes.map((code) => `\`${code}\`: ${STATUS_MEANINGS[status] ?? ERROR_CODES[code]}.`)
  if (anyCode) sentences.push('Or another error code of Okta, unchanged.')
  const content = {
    'application/json': { schema },
    ...(rendersErrorPages && { 'text/html': { schema: z.string() } }),
  }
  const codeNames = codes.length <= 3 ? codes : [codes[0], `and-${codes.length - 1}-more`]
  const variants = [anyCode && 'theirs', rendersErrorPages && 'page', withoutBody && 'bare']
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

const ref = (kind: 'headers' | 'parameters', name: string) => ({ $ref: `#/components/${kind}/${name}` })

const UPSTREAM_ERROR: ZodOpenApiResponseObject = {
  id: 'E-theirs',
  description: 'Any other error of Okta, unchanged.',
  headers: headersOf(['X-Request-Id']),
  content: { 'application/json': { schema: errorObjectSchema } },
}

/** Statuses that say more than their code. */
const STATUS_MEANINGS: Readonly<Record<string, string>> = {
  409: 'the session of this browser is not the one that `X-Gatehouse-Session` names; the request had no effect',
  413: 'the body is larger than 64 kB',
  414: 'the URL is too long',
}

/** Statuses of Okta's own errors that are passed on. */
const PASSED_ON: ReadonlySet<string> = new Set(['400', '401', '403', '404', '429', '500', '503'])

/** Equal responses are one component, which zod-openapi knows by the object's identity. */
const shared = new Map<string, ZodOpenApiResponseObject>()
function sharedResponse(response: ZodOpenApiResponseObject & { id: string }): ZodOpenApiResponseObject {
  const known = shared.get(response.id) ?? response
  if (known.description !== response.description) throw new Error(`two responses are called ${response.id}`)
  shared.set(response.id, known)
  return known
}

function headersOf(names: readonly (keyof typeof RESPONSE_HEADERS)[]) {
  return Object.fromEntries(names.map((name) => [name, ref('headers', name)]))
}

function mapEntries<Value, Mapped>(
  entries: Readonly<Record<string, Value>>,
  map: (value: Value, name: string) => Mapped,
): Record<string, Mapped> {
  return Object.fromEntries(Object.entries(entries).map(([name, value]) => [name, map(value, name)]))
}
