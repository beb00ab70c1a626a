import { z } from 'zod'
import {
  createDocument,
  type ZodOpenApiObject,
  type ZodOpenApiOperationObject,
  type ZodOpenApiResponseObject,
} from 'zod-openapi'
import { AUTHN_API } from './authn/authn-api.ts'
import { NAVIGATION_API } from './authn/navigation-api.ts'
import { MEDIA_TYPES } from './http/body-encoding.ts'
import { ERROR_CODES, type ErrorCode, errorObject, errorOf } from './http/error-object.ts'
import {
  type AnswerDescription,
  type AnswerHeader,
  RATE_LIMIT_HEADERS,
  type Refusals,
  type RouteDescription,
} from './http/route-description.ts'
import { EXAMPLES } from './openapi-examples.ts'
import { PAM_API } from './pam/pam-api.ts'
import { SESSION_API } from './session/session-api.ts'

/** The public surface in OpenAPI 3.1, made of the schemas that the routes themselves use. */
export type OpenApiDocument = ReturnType<typeof createDocument>

/** Every route that is described; a test holds it against every route there is. */
export const DESCRIPTIONS: readonly RouteDescription[] = [
  ...AUTHN_API,
  ...NAVIGATION_API,
  ...SESSION_API,
  ...PAM_API,
]

export function openApiDocument(descriptions: readonly RouteDescription[] = DESCRIPTIONS): OpenApiDocument {
  const paths: NonNullable<ZodOpenApiObject['paths']> = {}
  for (const description of descriptions) {
    const path = openApiPath(description.path)
    paths[path] = { ...paths[path], [description.method.toLowerCase()]: operationOf(description) }
  }
  return createDocument({ ...ABOUT, paths, components: COMPONENTS }, { override: leaveOutFormatPatterns })
}

/** `/factors/:id` → `/factors/{id}` */
export function openApiPath(path: string): string {
  return path.replace(/:(\w+)/g, '{$1}')
}

const ABOUT: Omit<ZodOpenApiObject, 'paths' | 'components'> = {
  openapi: '3.1.1',
  info: {
    title: 'Gatehouse',
    version: '0.1.0',
    license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    description: [
      'A trusted-app sign-in broker: the paths, bodies and shapes of the classic sign-in API, without its secrets. A `stateToken` is a handle of the broker, which is worthless without the device cookie of the same browser; the session is a cookie.',
      'Any GET can be asked as HEAD, but for those under Redirects: a look would use up what can be used once. A path that is not listed is a 404, a method that is not a 405 with `Allow`. A request that is too slow (408), whose headers are too large (431) or that expects more than `100-continue` (417) is refused before any route. All of them answer the Error object.',
      'Bodies are JSON objects in UTF-8 up to 64 kB; a member that is not listed is left out. A page of another origin must be one of `ALLOWED_ORIGINS` and send credentials.',
    ].join('\n\n'),
  },
  servers: [{ url: '/', description: 'PUBLIC_URL' }],
  tags: [
    {
      name: 'Sign-in',
      description: 'A transaction, step by step. What can be done next stands in `_links`.',
    },
    { name: 'Factors', description: 'Second factors: verify, enrol, activate.' },
    { name: 'Recovery', description: 'Forgotten passwords and locked accounts.' },
    { name: 'Redirects', description: 'Addresses that the browser itself opens; not for a page to fetch.' },
    { name: 'Session', description: 'Who is signed in.' },
    { name: 'Access', description: 'Groups and roles of the privileged access management.' },
  ],
}

const integer = { type: 'integer', minimum: 0 } as const
const HEADERS = {
  'X-Request-Id': {
    description: 'Names the request; in every log line of it, and the `errorId` of the broker’s own errors.',
    schema: { type: 'string' },
  },
  'Retry-After': { description: 'Seconds until it is worth another try.', schema: integer },
  'X-Rate-Limit-Limit': { description: 'How many requests the limit allows.', schema: integer },
  'X-Rate-Limit-Remaining': { description: 'How many of them are left.', schema: integer },
  'X-Rate-Limit-Reset': {
    description: 'When the limit starts anew, in seconds since 1970.',
    schema: integer,
  },
  ETag: { description: 'Of the data; when it was fetched does not count.', schema: { type: 'string' } },
  Age: { description: 'Seconds since the access service said so.', schema: integer },
  'Set-Cookie': {
    description: 'The device cookie, the session cookie, or both.',
    schema: { type: 'string' },
  },
  'Clear-Site-Data': { description: '`"cache", "storage"`', schema: { type: 'string' } },
  'X-Auth-Request-User': {
    description: 'The opaque user id, percent-encoded UTF-8.',
    schema: { type: 'string' },
  },
  'X-Auth-Request-Preferred-Username': {
    description: 'The login, percent-encoded UTF-8.',
    schema: { type: 'string' },
  },
  'X-Auth-Request-Session': { description: 'The public id of the session.', schema: { type: 'string' } },
  Location: { description: 'Where the browser goes.', schema: { type: 'string', format: 'uri' } },
} as const satisfies Record<AnswerHeader | 'X-Request-Id', object>

const PARAMETERS = {
  'X-Gatehouse-Session': {
    description:
      'The public id of the session that the page speaks for: if it is another by now, 409, and nothing is done.',
    schema: { type: 'string' },
  },
  'X-Device-Fingerprint': {
    description: 'Passes on to the sign-in API.',
    schema: { type: 'string', minLength: 1, maxLength: 256, pattern: '^[\\x21-\\x7e]+$' },
  },
  'Accept-Language': {
    description: 'Passes on to the sign-in API: the language of its messages.',
    schema: { type: 'string' },
  },
  'If-None-Match': { description: 'ETags that the caller has.', schema: { type: 'string' } },
} as const

const COMPONENTS = {
  headers: HEADERS,
  parameters: Object.fromEntries(
    Object.entries(PARAMETERS).map(([name, parameter]) => [
      name,
      { name, in: 'header' as const, ...parameter },
    ]),
  ),
  securitySchemes: {
    session: {
      type: 'apiKey',
      in: 'cookie',
      name: '__Host-gatehouse',
      description: 'The session. HttpOnly; over http on localhost it is called `gatehouse`.',
    },
    device: {
      type: 'apiKey',
      in: 'cookie',
      name: '__Host-gatehouse-device',
      description:
        'The browser. HttpOnly; set by the first answer; over http on localhost it is called `gatehouse-device`.',
    },
  },
} as const

function operationOf(description: RouteDescription): ZodOpenApiOperationObject {
  const { params, query, body, encoding = 'json', details, headers = [] } = description
  const example = EXAMPLES[description.id]
  return {
    operationId: description.id,
    tags: [description.group],
    summary: description.summary,
    ...(details === undefined ? {} : { description: details }),
    security: securityOf(description.cookies),
    parameters: (['X-Gatehouse-Session', ...headers] as const).map((name) => ref('parameters', name)),
    requestParams: {
      ...(params === undefined ? {} : { path: params }),
      ...(query === undefined ? {} : { query }),
    },
    ...(body === undefined
      ? {}
      : {
          requestBody: {
            required: true,
            content: { [MEDIA_TYPES[encoding]]: { schema: body, ...exampleOf(example?.body) } },
          },
        }),
    responses: {
      ...mapEntries(description.answers, (answer, status) => answerOf(answer, status, example?.answer)),
      ...mapEntries(refusalsOf(description), (codes, status) => refusalOf(status, codes, description)),
      ...(description.passesErrorsOn === true ? { default: THEIR_ERROR } : {}),
    },
  }
}

/** A format says it all; zod's pattern for a time fills a screen. */
function leaveOutFormatPatterns({ jsonSchema }: { jsonSchema: { format?: string; pattern?: string } }): void {
  if (jsonSchema.format !== undefined) delete jsonSchema.pattern
}

/** Each member of the list is a way to be let in; an empty one: without any cookie. */
function securityOf(cookies: RouteDescription['cookies']): Record<string, string[]>[] {
  const required = Object.entries(cookies).flatMap(([name, need]) => (need === 'required' ? [name] : []))
  const all = Object.keys(cookies)
  const schemes = (names: readonly string[]) => Object.fromEntries(names.map((name) => [name, []]))
  return required.length === all.length ? [schemes(all)] : [schemes(required), schemes(all)]
}

/** What every route can answer (DESIGN §2), and what this one adds. */
function refusalsOf({ method, refusals, withoutBody }: RouteDescription): Refusals {
  const everywhere: Refusals = {
    400: ['E0000001'],
    409: ['E0000006'],
    414: ['E0000001'],
    500: ['E0000009'],
    503: ['E0000009'],
  }
  /** All but a proxy's sub-request. */
  const crossSite: Refusals = withoutBody ? {} : { 403: ['E0000006'] }
  const unsafe: Refusals = { 400: ['E0000003'], 413: ['E0000001'], 415: ['E0000021'] }
  const all: Record<number, ErrorCode[]> = {}
  for (const some of [everywhere, crossSite, method === 'GET' ? {} : unsafe, refusals]) {
    for (const [status, codes] of Object.entries(some)) {
      all[Number(status)] = [...new Set([...(all[Number(status)] ?? []), ...codes])].sort()
    }
  }
  return all
}

function answerOf(
  { says, content = {}, headers = [] }: AnswerDescription,
  status: string,
  example: unknown,
): ZodOpenApiResponseObject {
  const media = (schema: z.ZodType, type: string) =>
    status === '200' && type === MEDIA_TYPES.json ? { schema, ...exampleOf(example) } : { schema }
  return {
    description: says,
    headers: headersOf(['X-Request-Id', ...headers]),
    ...(Object.keys(content).length === 0 ? {} : { content: mapEntries(content, media) }),
  }
}

function exampleOf(example: unknown): { example?: unknown } {
  return example === undefined ? {} : { example }
}

/** Where the upstream answers errors of its own, our codes are some among others. */
function refusalOf(
  status: string,
  codes: readonly ErrorCode[],
  { passesErrorsOn = false, showsErrorPages = false, withoutBody = false }: RouteDescription,
): ZodOpenApiResponseObject {
  const mayBeTheirs = passesErrorsOn && PASSED_ON.includes(Number(status))
  const [first, ...others] = codes
  const schema = mayBeTheirs || first === undefined ? errorObject : errorOf([first, ...others])
  const sentences = codes.map((code) => `\`${code}\`: ${MEANINGS_HERE[status] ?? ERROR_CODES[code]}.`)
  if (mayBeTheirs) sentences.push('Or another code of the sign-in API, as it is.')
  const content = {
    'application/json': { schema },
    ...(showsErrorPages ? { 'text/html': { schema: z.string() } } : {}),
  }
  return sharedResponse(
    [
      'E',
      status,
      ...namesOf(codes),
      ...(mayBeTheirs ? ['theirs'] : []),
      ...(showsErrorPages ? ['page'] : []),
      ...(withoutBody ? ['bare'] : []),
    ].join('-'),
    {
      description: sentences.join('\n\n'),
      headers: headersOf([
        'X-Request-Id',
        ...(status === '429' ? RATE_LIMIT_HEADERS : []),
        ...(status === '429' || status === '503' ? (['Retry-After'] as const) : []),
      ]),
      ...(withoutBody ? {} : { content }),
    },
  )
}

const THEIR_ERROR: ZodOpenApiResponseObject = {
  id: 'E-theirs',
  description: 'Any other error of the sign-in API, as it is.',
  headers: headersOf(['X-Request-Id']),
  content: { 'application/json': { schema: errorObject } },
}

/** Statuses that say more than their code. */
const MEANINGS_HERE: Readonly<Record<string, string>> = {
  409: 'another session is open in this browser than `X-Gatehouse-Session` names; nothing was done',
  413: 'the body is larger than 64 kB',
  414: 'the URL is too long',
}

/** Statuses under which the sign-in API's own errors pass on. */
const PASSED_ON = [400, 401, 403, 404, 429, 500, 503]

/** Equal answers are one component. */
const shared = new Map<string, ZodOpenApiResponseObject>()
function sharedResponse(id: string, response: ZodOpenApiResponseObject): ZodOpenApiResponseObject {
  const known = shared.get(id) ?? { id, ...response }
  if (known.description !== response.description) throw new Error(`two answers are called ${id}`)
  shared.set(id, known)
  return known
}

function namesOf(codes: readonly ErrorCode[]): readonly string[] {
  return codes.length <= 3 ? codes : [...codes.slice(0, 1), `and-${codes.length - 1}-more`]
}

function headersOf(names: readonly (keyof typeof HEADERS)[]) {
  return Object.fromEntries(names.map((name) => [name, ref('headers', name)]))
}

function ref(kind: 'headers' | 'parameters', name: string) {
  return { $ref: `#/components/${kind}/${name}` }
}

function mapEntries<Value, Mapped>(
  entries: Readonly<Record<string, Value>>,
  map: (value: Value, name: string) => Mapped,
): Record<string, Mapped> {
  return Object.fromEntries(Object.entries(entries).map(([name, value]) => [name, map(value, name)]))
}
