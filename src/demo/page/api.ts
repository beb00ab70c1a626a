import { element } from './parts/elements.js'

/** The OpenAPI document as a page to read: operations by group, then the schemas that they share. */
type Json = Readonly<Record<string, unknown>>

const METHODS = ['get', 'post', 'delete']
let api: Json = {}

interface Operation {
  readonly method: string
  readonly path: string
  readonly value: Json
}

async function show(): Promise<void> {
  const answer = await fetch('/demo/openapi.json')
  if (!answer.ok) throw new Error(`openapi.json: ${answer.status}`)
  api = record(await answer.json())
  const operations = operationsOf(api)
  at('about').replaceChildren(...paragraphs(text(record(api.info).description)))
  at('operations').replaceChildren(...list(api.tags).map((tag) => groupOf(record(tag), operations)))
  at('schemas').replaceChildren(
    element('h2', {}, 'Schemas'),
    ...Object.entries(record(record(api.components).schemas)).map(([name, schema]) =>
      namedSchema(name, record(schema)),
    ),
  )
  findBy(operations.length)
  openLinked()
}

function operationsOf(document: Json): Operation[] {
  return Object.entries(record(document.paths)).flatMap(([path, item]) =>
    METHODS.flatMap((method) => {
      const value = record(item)[method]
      return value === undefined ? [] : [{ method, path, value: record(value) }]
    }),
  )
}

function groupOf(tag: Json, operations: readonly Operation[]): HTMLElement {
  const own = operations.filter(({ value }) => list(value.tags).includes(tag.name))
  return element(
    'section',
    {},
    element('h2', {}, text(tag.name)),
    ...paragraphs(text(tag.description)),
    ...own.map(operationView),
  )
}

function operationView({ method, path, value }: Operation): HTMLElement {
  return element(
    'details',
    { class: 'card', id: text(value.operationId) },
    element(
      'summary',
      {},
      element('span', { class: `method ${method}` }, method.toUpperCase()),
      element(
        'h3',
        {},
        element('code', {}, path),
        ' ',
        element('span', { class: 'what' }, text(value.summary)),
      ),
    ),
    ...paragraphs(text(value.description)),
    element('p', {}, 'Cookies: ', cookiesOf(value), '.'),
    ...parametersOf(value),
    ...bodyOf(value),
    element('h4', {}, 'Answers'),
    answersOf(value),
    ...exampleOf({ method, path, value }),
  )
}

/** Each requirement is a way in; what stands in all of them is needed. */
function cookiesOf({ security }: Json): string {
  const ways = list(security).map((way) => Object.keys(record(way)))
  const names = [...new Set(ways.flat())]
  if (names.length === 0) return 'none'
  return names
    .map((name) => (ways.every((way) => way.includes(name)) ? `${name} (required)` : name))
    .join(', ')
}

function parametersOf({ parameters }: Json): HTMLElement[] {
  const items = list(parameters).map((parameter) => {
    const { name, in: place, required, description, schema } = resolve(record(parameter))
    return element(
      'li',
      {},
      element('code', {}, text(name)),
      required === true && needed(),
      ' ',
      element('span', { class: 'type' }, `${text(place)}, `, ...typeOf(record(schema))),
      ...note(text(description)),
    )
  })
  return [element('h4', {}, 'Parameters'), element('ul', { class: 'members' }, ...items)]
}

function bodyOf({ requestBody }: Json): HTMLElement[] {
  return Object.entries(record(record(requestBody).content)).flatMap(([type, media]) => [
    element('h4', {}, 'Body ', element('code', {}, type)),
    schemaView(record(record(media).schema)),
  ])
}

/** The request as it is sent, and the response where it has a body. */
function exampleOf({ method, path, value }: Operation): HTMLElement[] {
  const bodies = Object.entries(record(record(value.requestBody).content))
  const request = bodies.map(
    ([type, media]) => `\nContent-Type: ${type}\n\n${encoded(type, record(media).example)}`,
  )
  const answer = record(
    record(record(resolve(record(record(value.responses)['200']))).content)['application/json'],
  )
  return [
    element('h4', {}, 'Example'),
    block(`${method.toUpperCase()} ${addressOf(path, value)}${request.join('')}`, 'Example request'),
    ...(answer.example === undefined
      ? []
      : [block(`200\n\n${JSON.stringify(answer.example, null, 2)}`, 'Example response')]),
  ]
}

/** Path parameters and required query parameters with their examples. */
function addressOf(path: string, { parameters }: Json): string {
  const all = list(parameters).map((parameter) => resolve(record(parameter)))
  const exampleFor = ({ name, schema }: Json) =>
    encodeURIComponent(text(list(record(schema).examples)[0]) || `{${text(name)}}`)
  const query = all.filter((one) => one.in === 'query' && one.required === true)
  const filled = all
    .filter((one) => one.in === 'path')
    .reduce((address, one) => address.replace(`{${text(one.name)}}`, exampleFor(one)), path)
  return [filled, query.map((one) => `${text(one.name)}=${exampleFor(one)}`).join('&')]
    .filter(Boolean)
    .join('?')
}

function encoded(type: string, example: unknown): string {
  if (type === 'application/json') return JSON.stringify(example, null, 2)
  const pairs = Object.entries(record(example)).map(([name, one]) => [name, String(one)])
  return new URLSearchParams(pairs).toString()
}

/** It can be scrolled sideways, with the keyboard too. */
function block(content: string, label: string): HTMLElement {
  return element('pre', { tabindex: '0', role: 'group', 'aria-label': label }, content)
}

function answersOf({ responses }: Json): HTMLElement {
  const rows = Object.entries(record(responses)).map(([status, response]) => {
    const { description, headers, content } = resolve(record(response))
    const names = Object.keys(record(headers)).filter((name) => name !== 'X-Request-Id')
    return element(
      'tr',
      {},
      element('th', { scope: 'row' }, status),
      element(
        'td',
        { class: 'codes' },
        ...paragraphs(text(description)),
        names.length > 0 && element('p', { class: 'note' }, `Headers: ${names.join(', ')}`),
      ),
      element('td', {}, ...contentOf(record(content))),
    )
  })
  return table(['Status', 'Meaning', 'Body'], rows)
}

function contentOf(content: Json): (Node | string)[] {
  const views = Object.entries(content).map(([type, media]) => {
    const schema = errorOrSelf(record(record(media).schema))
    return type === 'application/json'
      ? element('div', {}, ...typeOf(schema))
      : element('div', {}, element('code', {}, type))
  })
  return views.length === 0 ? ['none'] : views
}

/** An error of certain codes is an Error; the codes stand beside it. */
function errorOrSelf(schema: Json): Json {
  const [first] = list(schema.allOf)
  return first === undefined ? schema : record(first)
}

function namedSchema(name: string, schema: Json): HTMLElement {
  return element(
    'details',
    { class: 'card', id: `schema-${name}` },
    element('summary', {}, element('h3', {}, element('code', {}, name))),
    ...paragraphs(text(schema.description)),
    schemaView(schema),
  )
}

function schemaView(schema: Json): HTMLElement {
  const members = membersOf(schema)
  return members === undefined ? element('p', {}, ...typeOf(schema)) : members
}

/** The members of an object, or of the objects of a list; undefined when there are none to name. */
function membersOf(schema: Json): HTMLUListElement | undefined {
  const inner = [schema, record(schema.items), ...list(schema.anyOf).map(record)].find(
    (one) => Object.keys(record(one.properties)).length > 0,
  )
  if (inner === undefined) return undefined
  const required = list(inner.required)
  const items = Object.entries(record(inner.properties)).map(([name, value]) => {
    const member = record(value)
    const below = membersOf(member)
    return element(
      'li',
      {},
      element('code', {}, name),
      required.includes(name) && needed(),
      ' ',
      element('span', { class: 'type' }, ...typeOf(member)),
      ...note(text(member.description), list(member.examples)),
      below,
    )
  })
  if (inner.additionalProperties !== false && inner.additionalProperties !== undefined)
    items.push(element('li', { class: 'note' }, 'and whatever else the sign-in API says'))
  return element('ul', { class: 'members' }, ...items)
}

/** A type in words, with links to schemas that have names. */
function typeOf(schema: Json): (Node | string)[] {
  if (typeof schema.$ref === 'string') {
    const name = schema.$ref.split('/').at(-1) ?? ''
    return [element('a', { href: `#schema-${name}` }, name)]
  }
  if (schema.not !== undefined) return ['never']
  if (schema.const !== undefined) return [element('code', {}, JSON.stringify(schema.const))]
  if (Array.isArray(schema.enum))
    return joined(schema.enum.map((value) => [element('code', {}, String(value))]))
  const either = [...list(schema.anyOf), ...list(schema.allOf)].map(record)
  if (either.length > 0) return joined(either.map(typeOf))
  if (schema.type === 'array') return ['list of ', ...typeOf(record(schema.items))]
  const words = [[schema.type ?? 'anything'].flat().join(' or '), ...boundsOf(schema)]
  return [words.join(', ')]
}

function boundsOf(schema: Json): string[] {
  const { format, minLength, maxLength, minimum, maximum, default: preset, contentMediaType } = schema
  return [
    ...[format, contentMediaType].filter((value) => typeof value === 'string'),
    ...rangeOf(minLength, maxLength, ' characters'),
    ...rangeOf(minimum, maximum, ''),
    ...(preset === undefined ? [] : [`default ${String(preset)}`]),
  ]
}

function rangeOf(from: unknown, to: unknown, unit: string): string[] {
  if (typeof from !== 'number' && typeof to !== 'number') return []
  if (typeof to !== 'number') return [`at least ${from}${unit}`]
  return [typeof from === 'number' ? `${from} to ${to}${unit}` : `up to ${to}${unit}`]
}

/** Hides what does not hold every word that was typed. */
function findBy(total: number): void {
  const filter = at('filter')
  const apply = () => {
    const words = filter instanceof HTMLInputElement ? filter.value.toLowerCase().split(/\s+/) : []
    let shown = 0
    for (const section of at('operations').children) {
      let any = false
      for (const view of section.querySelectorAll<HTMLElement>('details')) {
        const said = view.querySelector('summary')?.textContent.toLowerCase() ?? ''
        view.hidden = !words.every((word) => said.includes(word))
        if (!view.hidden) shown++
        any ||= !view.hidden
      }
      if (section instanceof HTMLElement) section.hidden = !any
    }
    at('found').textContent = shown === total ? `${total} operations` : `${shown} of ${total} operations`
  }
  filter.addEventListener('input', apply)
  apply()
}

/** What the address names is opened. */
function openLinked(): void {
  const open = () => {
    const named = document.getElementById(decodeURIComponent(location.hash.slice(1)))
    if (!(named instanceof HTMLDetailsElement)) return
    named.open = true
    named.scrollIntoView()
  }
  addEventListener('hashchange', open)
  open()
}

function table(heads: readonly string[], rows: readonly HTMLElement[]): HTMLElement {
  // it can be scrolled sideways, with the keyboard too
  return element(
    'div',
    { class: 'wide', tabindex: '0', role: 'group', 'aria-label': heads.join(', ') },
    element(
      'table',
      {},
      element('thead', {}, element('tr', {}, ...heads.map((head) => element('th', { scope: 'col' }, head)))),
      element('tbody', {}, ...rows),
    ),
  )
}

function needed(): HTMLElement {
  return element('span', { class: 'needed' }, ' required')
}

function paragraphs(words: string): HTMLElement[] {
  return words === '' ? [] : words.split('\n\n').map((one) => element('p', {}, ...inline(one)))
}

function note(words: string, examples: readonly unknown[] = []): HTMLElement[] {
  const shown = examples.map((example) => (typeof example === 'string' ? example : JSON.stringify(example)))
  const all = [words, shown.length === 0 ? '' : `For example \`${shown.join('`, `')}\`.`].filter(
    (one) => one !== '',
  )
  return all.length === 0 ? [] : [element('span', { class: 'note' }, ' — ', ...inline(all.join(' ')))]
}

/** Backticks are code. */
function inline(words: string): (Node | string)[] {
  return words.split('`').map((part, index) => (index % 2 === 1 ? element('code', {}, part) : part))
}

function joined(parts: readonly (readonly (Node | string)[])[]): (Node | string)[] {
  return parts.flatMap((part, index) => (index === 0 ? part : [' or ', ...part]))
}

/** Follows a `$ref` into the components. */
function resolve(value: Json): Json {
  if (typeof value.$ref !== 'string') return value
  const names = value.$ref.slice('#/'.length).split('/')
  return record(names.reduce<unknown>((found, name) => record(found)[name], api))
}

function at(id: string): HTMLElement {
  const found = document.getElementById(id)
  if (found === null) throw new Error(`the page has no element ${id}`)
  return found
}

function record(value: unknown): Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : {}
}

function list(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}

function text(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

show().catch((error: unknown) => {
  at('found').textContent = error instanceof Error ? error.message : 'Something went wrong.'
})
