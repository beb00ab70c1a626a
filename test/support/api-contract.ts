import { readFileSync } from 'node:fs'
import type { ValidateFunction } from 'ajv/dist/2020.js'
import { createAjv } from './ajv.ts'

/** An HTTP response as received. */
export interface WireAnswer {
  readonly status: number
  readonly contentType: string | undefined
  readonly bytes: Buffer
}

/**
 * Throws unless the OpenAPI document allows this response to this request. `anyTransaction`: the
 * upstream is a stub whose transactions need not look like Okta's, so only what the broker itself
 * ensures is checked in them.
 */
export function checkAnswer(
  method: string,
  path: string,
  answer: WireAnswer,
  { anyTransaction = false } = {},
): void {
  const problem = findProblem(method, path, answer)
  if (problem === undefined || (anyTransaction && isSanitizedTransaction(answer))) return
  const body = answer.bytes.toString('utf8').slice(0, 500)
  throw new Error(
    `${method} ${path} → ${answer.status} does not match docs/openapi.json: ${problem}\n${body}`,
  )
}

function findProblem(method: string, path: string, answer: WireAnswer): string | undefined {
  const found = PATHS.find(({ matches }) => matches.test(path))
  const operation = found?.operations[method.toLowerCase()]
  if (found === undefined || operation === undefined) {
    const expected = found === undefined ? [404, 405] : [405]
    return expected.includes(answer.status) ? jsonProblem(ERROR, answer) : 'the path or method is not listed'
  }
  const place = `${found.place}/${method.toLowerCase()}/responses/${answer.status}`
  const response = resolve(operation.responses?.[answer.status], place)
  return response === undefined ? 'the status is not documented' : contentProblem(response, answer)
}

function contentProblem({ value, place }: Resolved, answer: WireAnswer): string | undefined {
  const content = record(record(value).content)
  const types = Object.keys(content)
  if (types.length === 0) return answer.bytes.length === 0 ? undefined : 'it has a body'
  const [type = '', ...parameters] = (answer.contentType ?? '').toLowerCase().split(/\s*;\s*/)
  if (!types.includes(type)) return `its content type is ${answer.contentType ?? 'missing'}`
  if (type !== 'application/json') return undefined
  if (parameters.some((parameter) => parameter !== 'charset=utf-8'))
    return `a parameter of ${answer.contentType}`
  return jsonProblem(`${place}/content/application~1json/schema`, answer)
}

function jsonProblem(schemaPlace: string, { bytes, contentType }: WireAnswer): string | undefined {
  if (contentType?.startsWith('application/json') !== true) return 'it is not JSON'
  const body: unknown = JSON.parse(bytes.toString('utf8'))
  if (validatorOf(schemaPlace)(body)) return undefined
  const validate = validatorOf(memberOf(schemaPlace, body))
  validate(body)
  return (validate.errors ?? [])
    .map(({ instancePath, message, params }) => `${instancePath || '/'} ${message} ${JSON.stringify(params)}`)
    .join('; ')
}

/**
 * Where the schema is that the discriminator of an open union names for this body, so that only its
 * errors are reported.
 */
function memberOf(schemaPlace: string, body: unknown): string {
  const { place = schemaPlace, value } = resolve(at(schemaPlace), schemaPlace) ?? {}
  const [known, fallback] = list(record(value).anyOf).map((member) => String(record(member).$ref).slice(1))
  const { propertyName, mapping } = record(record(at(known ?? '/')).discriminator)
  if (fallback === undefined || propertyName === undefined) return place
  const member = record(mapping)[String(record(body)[String(propertyName)])]
  return typeof member === 'string' ? member.slice(1) : fallback
}

/** The part of the document at a JSON pointer. */
function at(place: string): unknown {
  const names = place.slice(1).split('/')
  return names.reduce<unknown>(
    (value, name) => record(value)[name.replaceAll('~1', '/').replaceAll('~0', '~')],
    document,
  )
}

const HANDLE = /^00[\w-]{43}$/
/** Whether a response is a transaction without Okta's tokens. */
function isSanitizedTransaction({ status, bytes }: WireAnswer): boolean {
  const {
    status: state,
    stateToken = '',
    sessionToken = '',
    recoveryToken,
  } = record(JSON.parse(bytes.toString('utf8')))
  const areHandles = [stateToken, sessionToken].every((token) => token === '' || HANDLE.test(String(token)))
  return status === 200 && state !== undefined && areHandles && recoveryToken === undefined
}

// test/openapi.test.ts checks that this file is valid and up to date.
const document: unknown = JSON.parse(readFileSync('docs/openapi.json', 'utf8'))
const ERROR = '/components/schemas/ErrorObject'
const ajv = createAjv({ strict: false, validateSchema: false })
ajv.addSchema({ $id: 'openapi', ...record(document) })

const validators = new Map<string, ValidateFunction>()
function validatorOf(place: string): ValidateFunction {
  const known = validators.get(place) ?? ajv.compile({ $ref: `openapi#${encodeURI(place)}` })
  validators.set(place, known)
  return known
}

interface ListedPath {
  readonly place: string
  readonly matches: RegExp
  readonly operations: Readonly<Record<string, { readonly responses?: Readonly<Record<string, unknown>> }>>
}

/** Paths without parameters come first, because they take precedence. */
const PATHS: readonly ListedPath[] = Object.entries(record(record(document).paths))
  .toSorted(([one], [other]) => one.split('{').length - other.split('{').length)
  .map(([template, item]) => ({
    place: `/paths/${template.replaceAll('~', '~0').replaceAll('/', '~1')}`,
    matches: new RegExp(`^${template.replace(/[.]/g, '\\.').replace(/\{\w+\}/g, '[^/]+')}$`),
    operations: Object.fromEntries(
      Object.entries(record(item)).map(([method, operation]) => [
        method,
        { responses: record(record(operation).responses) },
      ]),
    ),
  }))

interface Resolved {
  readonly value: unknown
  readonly place: string
}

/** Follows a `$ref` into the components. */
function resolve(value: unknown, place: string): Resolved | undefined {
  if (value === undefined) return undefined
  const { $ref } = record(value)
  if (typeof $ref !== 'string') return { value, place }
  return { value: at($ref.slice(1)), place: $ref.slice(1) }
}

function list(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}

function record(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? { ...value } : {}
}
