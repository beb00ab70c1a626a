import type { RecordedRequest } from '../../src/sandbox/request-log.ts'
import type { PageAnswer } from './browser.ts'

export interface Link {
  readonly path: string
  readonly methods: readonly string[]
}

/** Every link of the response to the broker. Without hints, both methods are allowed. */
export function linksIn(value: unknown, origin: string): Link[] {
  if (typeof value !== 'object' || value === null) return []
  const inside = Object.values(value).flatMap((member) => linksIn(member, origin))
  const href: unknown = Reflect.get(value, 'href')
  if (typeof href !== 'string' || !href.startsWith(`${origin}/`)) return inside
  const allow: unknown = Reflect.get(Object(Reflect.get(value, 'hints')), 'allow')
  const methods = Array.isArray(allow) ? allow.map(String) : ['GET', 'POST']
  return [{ path: new URL(href).pathname, methods }, ...inside]
}

/** The security questions of a user have the same path in every transaction. */
export function isQuestions(path: string): boolean {
  return path.endsWith('/questions')
}

/** The broker's own call that checks its API token. */
export function isTokenCheck({ path, body }: RecordedRequest): boolean {
  return path === '/api/v1/authn' && Object.keys(Object(body)).join() === 'context'
}

/** In the broker's own errors, `errorId` is the request id. */
export function isBrokerMade({ json, headers }: PageAnswer): boolean {
  return json.errorId !== undefined && json.errorId === headers.get('x-request-id')
}

export function isOurs(answer: PageAnswer, ...codes: string[]): boolean {
  return isBrokerMade(answer) && codes.includes(String(answer.json.errorCode))
}

export function what({ json }: PageAnswer): string {
  return String(json.status ?? json.errorCode ?? '')
}

export function fail(message: string): never {
  throw new Error(message)
}
