import {
  createDocument,
  type ZodOpenApiObject,
  type ZodOpenApiOperationObject,
  type ZodOpenApiResponseObject,
} from 'zod-openapi'
import { MEDIA_TYPES } from '../src/http/body-parser.ts'
import { VERSION } from '../src/observability/version.ts'
import { AUTHN } from './authn/operations.ts'
import { paramsOf } from './authn/response-schemas.ts'
import {
  type DescribedOperation,
  REQUEST_HEADERS,
  RESPONSE_HEADERS,
  type ResponseHeader,
  type SuccessResponse,
} from './description.ts'
import { ERROR_EXAMPLE_COMPONENTS, errorResponses } from './error-responses.ts'
import EXAMPLES from './examples.json' with { type: 'json' }
import { HAND_OVER, NAVIGATION } from './navigation.ts'
import { ORG_EVENTS } from './org-events.ts'
import { APP, PAM } from './pam.ts'
import { headersOf, mapEntries, ref } from './references.ts'
import { BOUND_SESSION, FORWARD_AUTH, KEY_SET, OWN_SESSIONS, SESSION } from './session.ts'

/** The public API in OpenAPI 3.1, made from the schemas that the routes themselves use. */
export type OpenApiDocument = ReturnType<typeof createDocument>

/** Every public operation, in the order of the document. */
export const OPERATIONS: Readonly<Record<string, DescribedOperation>> = {
  ...AUTHN,
  ...NAVIGATION,
  ...SESSION,
  ...OWN_SESSIONS,
  ...BOUND_SESSION,
  ...FORWARD_AUTH,
  ...HAND_OVER,
  ...PAM,
  ...APP,
  ...KEY_SET,
  ...ORG_EVENTS,
}

/** By the status of the answer. Answers of the broker with the sandbox. */
type Examples = Readonly<Record<string, Example>>
interface Example {
  readonly request?: unknown
  readonly response?: unknown
  /** Of a response without a body. */
  readonly headers?: Readonly<Record<string, string>>
}
const EXAMPLES_BY_OPERATION: Readonly<Record<string, Examples>> = {
  ...EXAMPLES,
  appGetAccess: EXAMPLES.getAccess,
  appListGroups: EXAMPLES.listGroups,
  appGetGroup: EXAMPLES.getGroup,
}

export function openApiDocument(): OpenApiDocument {
  const paths: NonNullable<ZodOpenApiObject['paths']> = {}
  for (const [id, operation] of Object.entries(OPERATIONS)) {
    const path = operation.path.replace(/:(\w+)/g, '{$1}')
    paths[path] = { ...paths[path], [operation.method.toLowerCase()]: operationObject(id, operation) }
  }
  return createDocument({ ...ABOUT, paths, components: COMPONENTS }, { override: simplify })
}

const ABOUT: Omit<ZodOpenApiObject, 'paths' | 'components'> = {
  openapi: '3.1.1',
  info: {
    title: 'Gatehouse',
    version: VERSION,
    license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    description: [
      'A sign-in broker that is a trusted application of Okta. It has the paths, bodies and responses of Okta’s classic Authentication API, without the secrets. A `stateToken` is a handle of the broker, useless without the device cookie of the same browser. The session is a cookie.',
      'Every GET operation also supports HEAD, except those under Redirects, because they work once. A path that is not listed returns 404. A path with `%2f`, `%5c` or a dot segment, such as `..` or `%2e%2e`, returns 400; a query may contain them. A method that is not listed returns 405 with `Allow`. The body of these responses is the Error object.',
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
    { name: 'Session', description: 'The session of this browser; the user’s sessions and devices.' },
    {
      name: 'Access',
      description:
        'Groups and roles from Okta Privileged Access (PAM), which error messages call the access service.',
    },
    { name: 'Event hook', description: 'For Okta: users of the org whose sessions end.' },
  ],
}

/** Headers that are written out where they occur, because a reference cannot have an example. */
const WITH_EXAMPLE = new Set(
  Object.values(EXAMPLES_BY_OPERATION).flatMap((examples) =>
    Object.values(examples).flatMap(({ headers = {} }) => Object.keys(headers)),
  ),
)

const COMPONENTS = {
  examples: ERROR_EXAMPLE_COMPONENTS,
  headers: Object.fromEntries(Object.entries(RESPONSE_HEADERS).filter(([name]) => !WITH_EXAMPLE.has(name))),
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
    appToken: {
      type: 'http',
      scheme: 'bearer',
      description:
        'A token of `APP_TOKENS`, for backends of the portal. Cookies and `Origin` have no effect.',
    },
  },
} as const

function operationObject(id: string, operation: DescribedOperation): ZodOpenApiOperationObject {
  const { query, body, encoding = 'json', description, headers = [] } = operation
  const { params = paramsOf(operation.path) } = operation
  const examples = EXAMPLES_BY_OPERATION[id] ?? {}
  const requestBody = body && {
    required: true,
    content: {
      [MEDIA_TYPES[encoding]]: {
        schema: body,
        examples: mapEntries(examples, ({ request }) => ({ value: request })),
      },
    },
  }
  return {
    operationId: id,
    tags: [operation.tag],
    summary: operation.summary,
    ...(description && { description }),
    security: operation.hasAppToken ? [{ appToken: [] }] : securityOf(operation.cookies),
    parameters: [...(isOfPage(operation) ? (['X-Gatehouse-Session'] as const) : []), ...headers].map((name) =>
      ref('parameters', name),
    ),
    requestParams: { path: params, ...(query && { query }) },
    ...(requestBody && { requestBody }),
    responses: {
      ...mapEntries(operation.responses, (response, status) =>
        successResponse(response, status === '304' ? {} : examples),
      ),
      ...errorResponses(operation),
    },
  }
}

/** Neither a backend nor the browser itself names the session of a page. */
const isOfPage = ({ hasAppToken, kind }: DescribedOperation) => !hasAppToken && kind !== 'bound-session'

/**
 * The format is enough: zod's pattern for a time fills a screen. An object may have other members
 * anyway; if the document said so, generated types would accept a misspelled member.
 */
function simplify({ jsonSchema }: { jsonSchema: JsonSchema }): void {
  if (jsonSchema.format !== undefined) delete jsonSchema.pattern
  if (jsonSchema.properties !== undefined && jsonSchema.additionalProperties !== false)
    delete jsonSchema.additionalProperties
}

interface JsonSchema {
  format?: unknown
  pattern?: unknown
  properties?: unknown
  additionalProperties?: unknown
}

/** Each member of the list is one sufficient set of cookies; an empty set: no cookie is needed. */
function securityOf(cookies: DescribedOperation['cookies']): Record<string, string[]>[] {
  const all = Object.keys(cookies)
  const required = all.filter((name) => cookies[name as keyof typeof cookies] === 'required')
  const schemes = (names: readonly string[]) => Object.fromEntries(names.map((name) => [name, []]))
  return required.length === all.length ? [schemes(all)] : [schemes(required), schemes(all)]
}

function successResponse(
  { description, content = {}, headers = [] }: SuccessResponse,
  examples: Examples,
): ZodOpenApiResponseObject {
  const media = mapEntries(content, (schema, type) =>
    type === MEDIA_TYPES.json
      ? { schema, examples: mapEntries(examples, ({ response }) => ({ value: response })) }
      : { schema },
  )
  return {
    description,
    headers: { ...headersOf(['X-Request-Id', ...headers]), ...headerExamples(headers, examples) },
    ...(Object.keys(media).length > 0 && { content: media }),
  }
}

function headerExamples(names: readonly ResponseHeader[], examples: Examples) {
  const known = Object.assign({}, ...Object.values(examples).map(({ headers }) => headers))
  return Object.fromEntries(
    names
      .filter((name) => WITH_EXAMPLE.has(name))
      .map((name) => [name, { ...RESPONSE_HEADERS[name], required: true, example: known[name] }]),
  )
}
