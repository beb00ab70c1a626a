import {
  addressOf,
  bodyOf,
  encodeBody,
  exampleOf,
  isNavigation,
  type Json,
  list,
  type Operation,
  type Parameter,
  parametersOf,
  text,
} from './api-document.js'
import { bodyFor, type Link, linksIn, targetOf } from './api-links.js'
import { type ApiRequest, send } from './api-send.js'
import { lastAnswer, showState, userIn, withHandle, withOwnValues } from './api-state.js'
import { byId, type Child, element } from './parts/elements.js'

let onUser = (_login: string) => {}
/** Called with the user of each sign-in. */
export function notifyUser(notify: (login: string) => void): void {
  onUser = notify
}

/** Opens the form of an operation. */
export function openForm(
  operation: Operation,
  filled: { parameters?: Json; body?: unknown } = {},
): HTMLFormElement {
  const parent = byId(operation.id)
  if (parent instanceof HTMLDetailsElement) parent.open = true
  const place = byId(`try-${operation.id}`)
  const form = formOf(operation, { ...parametersFor(operation), ...filled.parameters }, filled.body)
  place.replaceChildren(form, element('div', { class: 'answer' }))
  parent.scrollIntoView()
  return form
}

/** The parameters of the last answer's link to this operation, if there is one: ids of examples do not exist. */
function parametersFor(operation: Operation): Json {
  const targets = linksIn(lastAnswer()).map(targetOf)
  return targets.find((one) => one?.operation.id === operation.id)?.parameters ?? {}
}

function formOf(operation: Operation, parameters: Json, body: unknown): HTMLFormElement {
  const all = parametersOf(operation)
  const inputs = all.map((one) => [one, inputOf(one, text(parameters[one.name]))] as const)
  const inputFor = (parameter: Parameter) => inputs.find(([one]) => one === parameter)?.[1].value.trim() ?? ''
  const area = areaOf(operation, body)
  const form = element(
    'form',
    { class: 'try', 'aria-label': `Try ${operation.method} ${operation.path}`, autocomplete: 'off' },
    ...(body === undefined ? exampleChoice(operation, area) : []),
    ...inputs.map(([one, input]) =>
      labelled(`${one.name} (${one.place}${one.isRequired ? ', required' : ''})`, input),
    ),
    area && labelled('Body', area),
    ...submitOf(operation),
  )
  form.addEventListener('submit', (event) => {
    event.preventDefault()
    const url = addressOf(operation, inputFor, all)
    if (isNavigation(operation)) window.open(url, '_blank', 'noopener')
    else
      void sendAndShow(
        form,
        operation,
        { url, method: operation.method, ...contentOf(operation, area) },
        headersOf(all, inputFor),
      )
  })
  return form
}

function submitOf(operation: Operation): Child[] {
  const submit = (words: string) => element('p', {}, element('button', { type: 'submit' }, words))
  if (!isNavigation(operation)) return [submit('Send')]
  const why =
    'This is a redirect. A script cannot read where it leads, and the broker accepts it only as a navigation: it opens in a new tab.'
  return [element('p', { class: 'soft' }, why), submit('Open in a new tab')]
}

function contentOf(operation: Operation, area: HTMLTextAreaElement | undefined) {
  return { type: bodyOf(operation)?.type, body: area?.value ?? null }
}

function headersOf(
  all: readonly Parameter[],
  inputFor: (parameter: Parameter) => string,
): [string, string][] {
  const headers = all.filter(({ place }) => place === 'header')
  return headers.map((one): [string, string] => [one.name, inputFor(one)]).filter(([, value]) => value !== '')
}

async function sendAndShow(
  form: HTMLFormElement,
  operation: Operation,
  { type, ...request }: Omit<ApiRequest, 'headers'> & { type: string | undefined },
  given: readonly (readonly [string, string])[],
): Promise<void> {
  const headers = Object.fromEntries([['Accept', 'application/json'], ...given])
  if (type !== undefined) headers['Content-Type'] = type
  const { view, body } = await send(operation, { ...request, headers }, follow)
  form.nextElementSibling?.replaceChildren(view)
  const login = userIn(body)
  if (login !== '') onUser(login)
  await showState()
}

/** Sends the request of the link. If the request needs input, the form is shown with everything else filled in. */
function follow(link: Link): void {
  const target = targetOf(link)
  if (target === undefined) return void window.open(link.href, '_blank', 'noopener')
  const { value, isComplete } = bodyFor(link, target.operation)
  const form = openForm(target.operation, { parameters: target.parameters, body: value })
  form.querySelector<HTMLElement>(isComplete ? 'button' : 'textarea')?.focus()
  if (isComplete) form.requestSubmit()
}

function areaOf(operation: Operation, body: unknown): HTMLTextAreaElement | undefined {
  const { type, examples } = bodyOf(operation) ?? {}
  if (type === undefined) return undefined
  const words = encodeBody(type, withOwnValues(body ?? Object.values(examples ?? {})[0]))
  const rows = String(Math.max(3, words.split('\n').length))
  const area = element('textarea', { rows, spellcheck: 'false', autocapitalize: 'none' })
  area.value = words
  return area
}

/** Fills in another example. */
function exampleChoice(operation: Operation, area: HTMLTextAreaElement | undefined): Child[] {
  const { type = '', examples = {} } = bodyOf(operation) ?? {}
  const names = Object.keys(examples)
  if (area === undefined || names.length < 2) return []
  const select = element('select', {}, ...names.map((name) => element('option', {}, name)))
  select.addEventListener('change', () => {
    area.value = encodeBody(type, withOwnValues(examples[select.value]))
  })
  return [labelled('Example that leads to', select)]
}

function inputOf(parameter: Parameter, value: string): HTMLInputElement | HTMLSelectElement {
  const { isRequired: required, schema } = parameter
  const choices = list(schema.enum)
  const input =
    choices.length > 0
      ? element('select', {}, ...['', ...choices].map((one) => element('option', {}, text(one))))
      : element('input', { required, spellcheck: 'false', autocapitalize: 'none' })
  input.value = value || (required ? withHandle(exampleOf(parameter)) : '')
  return input
}

function labelled(label: string, input: HTMLElement): HTMLElement {
  return element('label', {}, label, input)
}
