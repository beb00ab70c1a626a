import { readFileSync } from 'node:fs'
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'

/** An HTTP response as received. */
export interface WireAnswer {
  readonly status: number
  readonly contentType: string | undefined
  readonly bytes: Buffer
}

/** Throws unless the OpenAPI document allows this response to this request. */
export function checkAnswer(method: string, path: string, answer: WireAnswer): void {
  const problem = findProblem(method, path, answer)
  if (problem === undefined) return
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
  const validate = validatorOf(schemaPlace)
  if (validate(JSON.parse(bytes.toString('utf8')))) return undefined
  return (validate.errors ?? [])
    .map(({ instancePath, message, params }) => `${instancePath || '/'} ${message} ${JSON.stringify(params)}`)
    .join('; ')
}

// test/openapi.test.ts checks that this file is valid and up to date.
const document: unknown = JSON.parse(readFileSync('docs/openapi.json', 'utf8'))
const ERROR = '/components/schemas/Error'
const ajv = new Ajv2020({ strict: false, allErrors: true, validateSchema: false })
addFormats.default(ajv)
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
  const names = $ref.slice('#/'.length).split('/')
  return { value: names.reduce<unknown>((at, name) => record(at)[name], document), place: $ref.slice(1) }
}

function record(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? { ...value } : {}
}
