import { type Json, list, loadDocument, record, resolve, text } from './api-document.js'
import { namedSchema, note, paragraphs, requiredMark, schemaView, typeOf } from './api-schemas.js'
import { byId, element } from './parts/elements.js'

const METHODS = ['get', 'post', 'delete']

interface Operation {
  readonly method: string
  readonly path: string
  readonly value: Json
}

/** Shows the OpenAPI document: operations by group, then the shared schemas. */
async function show(): Promise<void> {
  const api = await loadDocument()
  const operations = operationsOf(api)
  byId('about').replaceChildren(...paragraphs(text(record(api.info).description)))
  byId('operations').replaceChildren(...list(api.tags).map((tag) => groupOf(record(tag), operations)))
  byId('schemas').replaceChildren(
    element('h2', {}, 'Schemas'),
    ...Object.entries(record(record(api.components).schemas)).map(([name, schema]) =>
      namedSchema(name, record(schema)),
    ),
  )
  addFilter(operations.length)
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
    element('h4', {}, 'Responses'),
    responsesOf(value),
    ...examplesOf({ method, path, value }),
  )
}

/** `security` lists alternatives. A cookie is required if every alternative has it. */
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
      required === true && requiredMark(),
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

/** The example requests with their answers, if those have a body; without a body, the request alone. */
function examplesOf({ method, path, value }: Operation): HTMLElement[] {
  const line = `${method.toUpperCase()} ${addressOf(path, value)}`
  const [type, media] = Object.entries(record(record(value.requestBody).content))[0] ?? []
  const requests = record(record(media).examples)
  const answer = record(resolve(record(record(value.responses)['200'])).content)['application/json']
  const responses = record(record(answer).examples)
  const names = Object.keys({ ...requests, ...responses })
  return (names.length > 0 ? names : ['']).flatMap((name) => {
    const request = record(requests[name]).value
    const response = record(responses[name]).value
    const sent =
      type !== undefined && request !== undefined
        ? `\nContent-Type: ${type}\n\n${encoded(type, request)}`
        : ''
    return [
      element('h4', {}, name === '' || name === 'default' ? 'Example' : `Example: ${name}`),
      block(line + sent, `Example request ${name}`),
      ...(response === undefined
        ? []
        : [block(`200\n\n${JSON.stringify(response, null, 2)}`, `Example response ${name}`)]),
    ]
  })
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

/** Scrolls horizontally, with the keyboard too. */
function block(content: string, label: string): HTMLElement {
  return element('pre', { tabindex: '0', role: 'group', 'aria-label': label }, content)
}

function responsesOf({ responses }: Json): HTMLElement {
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

/** A response that allows certain error codes is shown as its schema, Error; its description lists the codes. */
function errorOrSelf(schema: Json): Json {
  const [first] = list(schema.allOf)
  return first === undefined ? schema : record(first)
}

/** Shows only the operations that contain every typed word. */
function addFilter(total: number): void {
  const filter = byId('filter')
  const apply = () => {
    const words = filter instanceof HTMLInputElement ? filter.value.toLowerCase().split(/\s+/) : []
    let shown = 0
    for (const section of byId('operations').children) {
      let any = false
      for (const view of section.querySelectorAll<HTMLElement>('details')) {
        const said = view.querySelector('summary')?.textContent.toLowerCase() ?? ''
        view.hidden = !words.every((word) => said.includes(word))
        if (!view.hidden) shown++
        any ||= !view.hidden
      }
      if (section instanceof HTMLElement) section.hidden = !any
    }
    byId('found').textContent = shown === total ? `${total} operations` : `${shown} of ${total} operations`
  }
  filter.addEventListener('input', apply)
  apply()
}

/** Opens the operation or schema that the URL's fragment names. */
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
  // scrolls horizontally, with the keyboard too
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

show().catch((error: unknown) => {
  byId('found').textContent =
    error instanceof Error ? error.message : 'The API description could not be loaded.'
})
