export type Json = Readonly<Record<string, unknown>>

export function isRecord(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/**
 * A nested member by its path, such as `_embedded.user.id`; `0` is the first element of an array.
 */
export function at(value: unknown, path: string): unknown {
  return path.split('.').reduce((member, name) => Reflect.get(Object(member), name), value)
}

export function textAt(value: unknown, path: string): string {
  const found = at(value, path)
  return typeof found === 'string' ? found : ''
}

/** The elements of an array; none if it is not one. */
export function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}
