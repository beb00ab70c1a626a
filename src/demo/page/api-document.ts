/** Any object of the OpenAPI document. */
export type Json = Readonly<Record<string, unknown>>

export interface Operation {
  readonly id: string
  readonly method: string
  readonly path: string
  readonly value: Json
}

const METHODS = ['get', 'post', 'delete']

let api: Json = {}

/** Fetches the document; call it before the other functions. */
export async function loadDocument(): Promise<Json> {
  const response = await fetch('/demo/openapi.json')
  if (!response.ok) throw new Error(`openapi.json: ${response.status}`)
  api = record(await response.json())
  return api
}

export function operations(): Operation[] {
  return Object.entries(record(api.paths)).flatMap(([path, item]) =>
    METHODS.flatMap((name) => {
      const value = record(record(item)[name])
      const id = text(value.operationId)
      return id === '' ? [] : [{ id, method: name.toUpperCase(), path, value }]
    }),
  )
}

/** A redirect works only as a navigation. */
export function isNavigation({ value }: Operation): boolean {
  return list(value.tags).includes('Redirects')
}

export interface Parameter {
  readonly name: string
  readonly place: 'path' | 'query' | 'header'
  readonly isRequired: boolean
  readonly description: string
  readonly schema: Json
}

export function parametersOf({ value }: Operation): Parameter[] {
  return list(value.parameters).map((parameter) => {
    const { name, in: place, required, description, schema } = resolve(record(parameter))
    return {
      name: text(name),
      place: place === 'path' || place === 'query' ? place : 'header',
      isRequired: required === true,
      description: text(description),
      schema: record(schema),
    }
  })
}

/** The content type, the schema and the examples of the request's body. */
export function bodyOf({ value }: Operation) {
  const [type, media] = Object.entries(record(record(value.requestBody).content))[0] ?? []
  const { schema, examples } = record(media)
  return type === undefined ? undefined : { type, schema: record(schema), examples: valuesOf(examples) }
}

/** The values of the examples by name. */
export function valuesOf(examples: unknown): Json {
  const named = Object.entries(record(examples))
  return Object.fromEntries(named.map(([name, example]) => [name, resolve(record(example)).value]))
}

export function encodeBody(type: string, value: unknown): string {
  if (type === 'application/json') return JSON.stringify(value, null, 2)
  const pairs = Object.entries(record(value)).map(([name, one]) => [name, String(one)])
  return new URLSearchParams(pairs).toString()
}

/** Fills the path and the query. Empty parameters of the query are left out. */
export function addressOf(
  { path }: Operation,
  valueFor: (parameter: Parameter) => string,
  all: Parameter[],
): string {
  const filled = all
    .filter(({ place }) => place === 'path')
    .reduce((rest, one) => rest.replace(`{${one.name}}`, encodeURIComponent(valueFor(one))), path)
  const query = all.flatMap((one) => {
    const value = one.place === 'query' ? valueFor(one) : ''
    return value === '' ? [] : [[one.name, value]]
  })
  return query.length === 0 ? filled : `${filled}?${new URLSearchParams(query)}`
}

export function exampleOf({ schema }: Parameter): string {
  return text(list(schema.examples)[0])
}

/** Follows a `$ref` into the components. */
export function resolve(value: Json): Json {
  if (typeof value.$ref !== 'string') return value
  const names = value.$ref.slice('#/'.length).split('/')
  return record(names.reduce<unknown>((found, name) => record(found)[name], api))
}

export function record(value: unknown): Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : {}
}

export function list(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}

export function text(value: unknown): string {
  return typeof value === 'string' ? value : ''
}
