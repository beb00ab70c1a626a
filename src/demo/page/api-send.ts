import { type Json, type Operation, record, resolve, text } from './api-document.js'
import { block } from './api-examples.js'
import { type Link, linksIn } from './api-links.js'
import { inline } from './api-schemas.js'
import { keepAnswer } from './api-state.js'
import { type Child, element } from './parts/elements.js'

/** A request that the page can send. */
export interface ApiRequest {
  readonly url: string
  readonly method: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | null
}

/** Sends the request with the browser's cookies, and shows the answer. */
export async function send(
  operation: Operation,
  { url, ...request }: ApiRequest,
  follow: (link: Link) => void,
): Promise<{ view: HTMLElement; body: Json }> {
  const startedAt = performance.now()
  const response = await fetch(url, { ...request, redirect: 'manual' }).catch(() => Response.error())
  const words = await response.text().catch(() => '')
  const ms = Math.round(performance.now() - startedAt)
  const body = parse(words)
  keepAnswer(operation.id, response.status, record(body))
  const view = element(
    'div',
    {},
    element('p', { role: 'status' }, ...summaryOf(response, ms)),
    ...meaningOf(operation, response.status, record(body)),
    ...contentOf(response, url, body ?? words, follow),
  )
  return { view, body: record(body) }
}

function summaryOf({ status, headers }: Response, ms: number): Child[] {
  const id = headers.get('x-request-id') ?? 'none'
  if (status === 0) return ['No answer: the demo cannot be reached.']
  return [element('strong', {}, String(status)), ` after ${ms} ms. Request id: `, element('code', {}, id)]
}

/** The documented meaning of the status, or of the error code. */
function meaningOf({ value }: Operation, status: number, { errorCode }: Json): HTMLElement[] {
  const responses = record(value.responses)
  const sentences = text(resolve(record(responses[status] ?? responses.default)).description).split('\n\n')
  const meaning = sentences.find((one) => one.startsWith(`\`${text(errorCode)}\``)) ?? sentences[0]
  return status === 0 || !meaning ? [] : [element('p', { class: 'soft' }, ...inline(meaning))]
}

function contentOf(
  { headers, status }: Response,
  url: string,
  body: unknown,
  follow: (link: Link) => void,
): HTMLElement[] {
  if (status === 0) return []
  const lines = [...headers].map(([name, value]) => `${name}: ${value}`).join('\n')
  return [
    element('h4', {}, 'Body'),
    bodyView(headers.get('content-type') ?? '', url, body),
    ...linksOf(body, follow),
    element('h4', {}, 'Headers'),
    block('Answer headers', lines),
    element('p', { class: 'soft' }, 'Scripts cannot read Set-Cookie: the two cookies are HttpOnly.'),
  ]
}

function bodyView(type: string, url: string, body: unknown): HTMLElement {
  if (type.startsWith('image/'))
    return element('img', { src: url, alt: 'The image of the answer', class: 'image' })
  if (body === '') return element('p', {}, 'No body.')
  return block('Answer body', typeof body === 'string' ? body : JSON.stringify(body, null, 2))
}

/** A button for each link. A link to another origin, such as a page of Okta, is a navigation. */
function linksOf(body: unknown, follow: (link: Link) => void): HTMLElement[] {
  const links = linksIn(body)
  if (links.length === 0) return []
  return [
    element('h4', {}, 'Links of the answer'),
    element('ul', { class: 'links' }, ...links.map((link) => element('li', {}, linkView(link, follow)))),
  ]
}

function linkView(link: Link, follow: (link: Link) => void): HTMLElement {
  const { href, method, name, factor } = link
  const path = href.replace(location.origin, '').replace(/\?.*/, '')
  const ofFactor = /^(cancel|prev|skip)$/.test(name) ? [] : [text(factor.factorType), text(factor.provider)]
  const words = [name, ...ofFactor].filter(Boolean).join(', ')
  const made = element('button', { type: 'button' }, words, ' ', element('code', {}, `${method} ${path}`))
  made.addEventListener('click', () => follow(link))
  return made
}

function parse(words: string): unknown {
  try {
    return JSON.parse(words)
  } catch {
    return undefined // an image, or no body
  }
}
