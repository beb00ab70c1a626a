import type { RESPONSE_HEADERS } from './description.ts'

export const ref = (kind: 'examples' | 'headers' | 'parameters', name: string) => ({
  $ref: `#/components/${kind}/${name}`,
})

export function headersOf(names: readonly (keyof typeof RESPONSE_HEADERS)[]) {
  return Object.fromEntries(names.map((name) => [name, ref('headers', name)]))
}

export function mapEntries<Value, Mapped>(
  entries: Readonly<Record<string, Value>>,
  map: (value: Value, name: string) => Mapped,
): Record<string, Mapped> {
  return Object.fromEntries(Object.entries(entries).map(([name, value]) => [name, map(value, name)]))
}
