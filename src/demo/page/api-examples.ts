import {
  addressOf,
  bodyOf,
  encodeBody,
  exampleOf,
  type Json,
  type Operation,
  parametersOf,
  record,
  resolve,
  text,
  valuesOf,
} from './api-document.js'
import { element } from './parts/elements.js'

interface Example {
  readonly status: string
  /** Such as `MFA_REQUIRED` or `E0000011`. */
  readonly name: string
  readonly answer: string
}

/** A choice of answers, by status, and the request and the answer of the chosen one. */
export function examplesView(operation: Operation): HTMLElement[] {
  const examples = answersOf(operation)
  const select = element('select', {}, ...groupsOf(examples))
  const request = block('Example request')
  const answer = block('Example answer')
  const apply = () => {
    const chosen = examples[select.selectedIndex]
    request.textContent = requestOf(operation, chosen?.name)
    answer.textContent = chosen?.answer ?? ''
  }
  select.addEventListener('change', apply)
  apply()
  return [
    element('h4', {}, 'Examples'),
    element('label', { class: 'choice' }, 'Answer', select),
    request,
    answer,
  ]
}

function groupsOf(examples: readonly Example[]): HTMLElement[] {
  return [...new Set(examples.map(({ status }) => status))].map((status) => {
    const own = examples.filter((one) => one.status === status)
    const options = own.map(({ name }) => element('option', {}, [status, name].join(' ').trim()))
    return element('optgroup', { label: status }, ...options)
  })
}

/** At least one for each documented status. */
function answersOf({ value }: Operation): Example[] {
  const all = Object.entries(record(value.responses)).flatMap(([status, response]) =>
    examplesOf(status, resolve(record(response))),
  )
  return all.toSorted((one, other) => Number(one.status) - Number(other.status))
}

function examplesOf(status: string, { headers, content }: Json): Example[] {
  const examples = Object.entries(valuesOf(record(record(content)['application/json']).examples))
  if (examples.length > 0)
    return examples.map(([key, value]) => {
      const [, ownStatus = status, code = ''] = /^(\d{3})-(.+)$/.exec(key) ?? [key, status, key]
      const name = code === 'default' ? '' : code
      return { status: ownStatus, name, answer: `${ownStatus}\n\n${JSON.stringify(value, null, 2)}` }
    })
  const lines = Object.entries(record(headers)).flatMap(([name, header]) => {
    const { example } = record(header)
    return example === undefined ? [] : [`${name}: ${String(example)}`]
  })
  const type = Object.keys(record(content))[0]
  const body = type === undefined ? 'No body.' : `A body of the type ${type}.`
  return [{ status, name: '', answer: [status, ...lines, '', body].join('\n') }]
}

/** The example request of this name; if there is none, the first one. */
function requestOf(operation: Operation, name = ''): string {
  const body = bodyOf(operation)
  const parameters = parametersOf(operation).filter(({ isRequired }) => isRequired)
  const line = `${operation.method} ${addressOf(operation, exampleOf, parameters)}`
  if (body === undefined) return line
  const example = body.examples[name] ?? Object.values(body.examples)[0]
  return `${line}\nContent-Type: ${body.type}\n\n${encodeBody(body.type, example)}`
}

/** Scrolls horizontally, with the keyboard too. */
export function block(label: string, content = ''): HTMLElement {
  return element('pre', { tabindex: '0', role: 'group', 'aria-label': label }, text(content))
}
