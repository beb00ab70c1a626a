import {
  bodyOf,
  type Json,
  list,
  type Operation,
  parametersOf,
  record,
  resolve,
  text,
} from './api-document.js'
import { examplesView } from './api-examples.js'
import { note, paragraphs, requiredMark, schemaView, typeOf } from './api-schemas.js'
import { openForm } from './api-try.js'
import { element } from './parts/elements.js'

export function operationView(operation: Operation): HTMLElement {
  const { id, method, path, value } = operation
  return element(
    'details',
    { class: 'card', id },
    element(
      'summary',
      {},
      element('span', { class: `method ${method.toLowerCase()}` }, method),
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
    element('div', { id: `try-${id}` }, tryButton(operation)),
    ...parametersView(operation),
    ...bodyView(operation),
    element('h4', {}, 'Responses'),
    responsesOf(value),
    ...examplesView(operation),
  )
}

function tryButton(operation: Operation): HTMLElement {
  const made = element('button', { type: 'button' }, 'Try it')
  made.addEventListener('click', () => {
    openForm(operation).querySelector<HTMLElement>('input, select, textarea, button')?.focus()
  })
  return made
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

function parametersView(operation: Operation): HTMLElement[] {
  const items = parametersOf(operation).map(({ name, place, isRequired, description, schema }) =>
    element(
      'li',
      {},
      element('code', {}, name),
      isRequired && requiredMark(),
      ' ',
      element('span', { class: 'type' }, `${place}, `, ...typeOf(schema)),
      ...note(description),
    ),
  )
  return [element('h4', {}, 'Parameters'), element('ul', { class: 'members' }, ...items)]
}

function bodyView(operation: Operation): HTMLElement[] {
  const body = bodyOf(operation)
  if (body === undefined) return []
  return [element('h4', {}, 'Body ', element('code', {}, body.type)), schemaView(body.schema)]
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
