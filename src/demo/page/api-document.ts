/** Any object of the OpenAPI document. */
export type Json = Readonly<Record<string, unknown>>

let api: Json = {}

/** Fetches the document; call it before `resolve`. */
export async function loadDocument(): Promise<Json> {
  const response = await fetch('/demo/openapi.json')
  if (!response.ok) throw new Error(`openapi.json: ${response.status}`)
  api = record(await response.json())
  return api
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
