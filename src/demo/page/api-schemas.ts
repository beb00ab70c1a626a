import { type Json, list, record, text } from './api-document.js'
import { element } from './parts/elements.js'

export function namedSchema(name: string, schema: Json): HTMLElement {
  return element(
    'details',
    { class: 'card', id: `schema-${name}` },
    element('summary', {}, element('h3', {}, element('code', {}, name))),
    ...paragraphs(text(schema.description)),
    schemaView(schema),
  )
}

export function schemaView(schema: Json): HTMLElement {
  if (schema.discriminator !== undefined) return variants(record(schema.discriminator))
  const members = membersOf(schema)
  return members === undefined ? element('p', {}, ...typeOf(schema)) : members
}

/** The schemas of a union, by the value of the member that tells them apart. */
function variants({ propertyName, mapping }: Json): HTMLElement {
  const items = Object.entries(record(mapping)).map(([value, $ref]) =>
    element('li', {}, element('code', {}, value), ' ', ...typeOf({ $ref })),
  )
  return element(
    'div',
    {},
    element('p', {}, 'One of these, by ', element('code', {}, text(propertyName)), ':'),
    element('ul', { class: 'members' }, ...items),
  )
}

/** The members of an object, or of the objects in a list. undefined if there are none. */
function membersOf(schema: Json): HTMLUListElement | undefined {
  const inner = [schema, record(schema.items), ...list(schema.anyOf).map(record)].find(
    (one) => Object.keys(record(one.properties)).length > 0,
  )
  if (inner === undefined) return undefined
  const required = list(inner.required)
  const items = Object.entries(record(inner.properties)).map(([name, value]) => {
    const member = record(value)
    const children = membersOf(member)
    return element(
      'li',
      {},
      element('code', {}, name),
      required.includes(name) && requiredMark(),
      ' ',
      element('span', { class: 'type' }, ...typeOf(member)),
      ...note(text(member.description), list(member.examples)),
      children,
    )
  })
  return element('ul', { class: 'members' }, ...items)
}

/** Describes a type, with links to named schemas. */
export function typeOf(schema: Json): (Node | string)[] {
  if (typeof schema.$ref === 'string') {
    const name = schema.$ref.split('/').at(-1) ?? ''
    return [element('a', { href: `#schema-${name}` }, name)]
  }
  if (schema['x-unknown-value'] === true) return ['another string']
  if (schema.not !== undefined) return ['never']
  if (schema.const !== undefined) return [element('code', {}, JSON.stringify(schema.const))]
  if (Array.isArray(schema.enum))
    return joinWithOr(schema.enum.map((value) => [element('code', {}, String(value))]))
  const either = [...list(schema.anyOf), ...list(schema.oneOf), ...list(schema.allOf)].map(record)
  if (either.length > 0) return joinWithOr(either.map(typeOf))
  if (schema.type === 'array') return ['list of ', ...typeOf(record(schema.items))]
  const words = [[schema.type ?? 'anything'].flat().join(' or '), ...boundsOf(schema)]
  return [words.join(', ')]
}

function boundsOf(schema: Json): string[] {
  const { format, minLength, maxLength, minimum, maximum, default: defaultValue, contentMediaType } = schema
  return [
    ...[format, contentMediaType].filter((value) => typeof value === 'string'),
    ...rangeOf(minLength, maxLength, ' characters'),
    ...rangeOf(minimum, maximum, ''),
    ...(defaultValue === undefined ? [] : [`default ${String(defaultValue)}`]),
  ]
}

function rangeOf(from: unknown, to: unknown, unit: string): string[] {
  if (typeof from !== 'number' && typeof to !== 'number') return []
  if (typeof to !== 'number') return [`at least ${from}${unit}`]
  return [typeof from === 'number' ? `${from} to ${to}${unit}` : `up to ${to}${unit}`]
}

export function requiredMark(): HTMLElement {
  return element('span', { class: 'needed' }, ' required')
}

export function paragraphs(words: string): HTMLElement[] {
  return words === '' ? [] : words.split('\n\n').map((one) => element('p', {}, ...inline(one)))
}

export function note(words: string, examples: readonly unknown[] = []): HTMLElement[] {
  const shown = examples.map((example) => (typeof example === 'string' ? example : JSON.stringify(example)))
  const all = [words, shown.length === 0 ? '' : `For example \`${shown.join('`, `')}\`.`].filter(
    (one) => one !== '',
  )
  return all.length === 0 ? [] : [element('span', { class: 'note' }, ' — ', ...inline(all.join(' ')))]
}

/** Renders text in backticks as code. */
export function inline(words: string): (Node | string)[] {
  return words.split('`').map((part, index) => (index % 2 === 1 ? element('code', {}, part) : part))
}

function joinWithOr(parts: readonly (readonly (Node | string)[])[]): (Node | string)[] {
  return parts.flatMap((part, index) => (index === 0 ? part : [' or ', ...part]))
}
