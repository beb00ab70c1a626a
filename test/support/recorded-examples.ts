import { OPERATIONS } from '../../src/openapi/document.ts'
import type { Browser, JsonObject, PageAnswer } from './browser.ts'

/**
 * The bodies of a request and its answer, without anything that differs from run to run: by operation, then by the status
 * of the answer, such as `MFA_REQUIRED`, or `default` if it has none.
 */
export type RecordedExamples = Record<string, Record<string, RecordedExample>>
interface RecordedExample {
  request?: unknown
  response?: unknown
  /** Of an answer without a body: its `Location`, or the user for a proxy. */
  headers?: Readonly<Record<string, string>>
}

/** The bodies of errors by status and code, such as `401-E0000011`. */
export type RecordedErrors = Record<string, unknown>

/** Adds the successful JSON answers of a browser to `examples`: the first one of each operation and status. */
export function recordExamples(browser: Browser, examples: RecordedExamples, origins: Origins): void {
  const record = (method: string, path: string, request: unknown, answer: PageAnswer) => {
    const isJson = answer.headers.get('content-type')?.startsWith('application/json') === true
    const id = operationOf(method, new URL(path, browser.origin).pathname)
    if (answer.status !== 200 || !isJson || id === undefined) return
    const body: unknown = JSON.parse(answer.text)
    const name = String(answer.json.status ?? 'default')
    examples[id] ??= {}
    examples[id][name] ??= {
      ...(request !== undefined && { request: withoutSecrets(request, origins) }),
      response: withoutSecrets(body, origins),
    }
  }
  observe(browser, record)
}

/** Adds the error answers of a browser to `errors`: the first one of each status and code. */
export function recordErrors(browser: Browser, errors: RecordedErrors, origins: Origins): void {
  observe(browser, (_method, _path, _request, { status, json }) => addError(errors, status, json, origins))
}

export function addError(errors: RecordedErrors, status: number, body: JsonObject, origins: Origins): void {
  if (typeof body.errorCode === 'string')
    errors[`${status}-${body.errorCode}`] ??= withoutSecrets(body, origins)
}

/** Adds the example of an operation whose answer is in its headers. */
export function recordHeaders(
  examples: RecordedExamples,
  id: keyof typeof OPERATIONS,
  headers: Readonly<Record<string, unknown>>,
  origins: Origins,
): void {
  const kept = Object.entries(headers).filter(
    ([name]) => name === 'Location' || name.startsWith('X-Auth-Request-'),
  )
  examples[id] = {
    default: { headers: withoutSecrets(Object.fromEntries(kept), origins) as Record<string, string> },
  }
}

type OnAnswer = (method: string, path: string, request: unknown, answer: PageAnswer) => void

function observe(browser: Browser, record: OnAnswer): void {
  const { get, post } = browser
  Object.assign(browser, {
    async get(path, options) {
      const answer = await get(path, options)
      record('GET', path, undefined, answer)
      return answer
    },
    async post(path, body, options) {
      const answer = await post(path, body, options)
      record('POST', path, options?.form ?? body, answer)
      return answer
    },
  } satisfies Pick<Browser, 'get' | 'post'>)
}

/** The addresses of this run, and those that the examples have instead. */
export type Origins = readonly (readonly [string, string])[]

/** The operation with the longest literal path. */
function operationOf(method: string, path: string): string | undefined {
  return Object.entries(OPERATIONS)
    .filter(
      ([, one]) => one.method === method && new RegExp(`^${one.path.replace(/:\w+/g, '[^/]+')}$`).test(path),
    )
    .toSorted(([, one], [, other]) => one.path.split(':').length - other.path.split(':').length)[0]?.[0]
}

/** Fixed values of members that differ between runs or look like secrets. */
const FIXED: Readonly<Record<string, unknown>> = {
  ...{ password: 'An-Example-Password-1', oldPassword: 'An-Example-Password-1' },
  ...{ newPassword: 'An-Example-Password-2', passCode: '123456', answer: 'an example answer' },
  ...{ recoveryToken: 'example-recovery-token-not-a-secret', sharedSecret: 'NOTASECRET234567' },
  ...{ sig_response: 'AUTH|example|0:APP|example|0', signature: 'TX|example|0:APP|example|0' },
  ...{ clientData: 'ZXhhbXBsZQ', authenticatorData: 'ZXhhbXBsZQ', signatureData: 'ZXhhbXBsZQ' },
  ...{ createdAt: '2026-11-21T10:00:00.000Z', lastSeenAt: '2026-11-21T10:00:00.000Z' },
  ...{ lastUsedAt: '2026-11-21T10:00:00.000Z' },
  ...{ fetchedAt: '2026-11-21T10:00:00.000Z', idleExpiresAt: '2026-11-21T10:30:00.000Z' },
  ...{ nextCursor: null, errorId: '4f7c7a3e-5d0b-4c1e-9a55-0c3f5f1f7a10' },
}

/** In any text, in this order. */
const PATTERNS: readonly (readonly [RegExp, string])[] = [
  [/(?<=your-org\.example\.net\/[^"]*[?&](?:stateToken|token)=)[\w-]+/g, '00example-okta-token-not-a-secret'],
  [/\b00[\w-]{43}(?![\w-])/g, '00example_handle_not_a_secret_000000000000000'],
  [/(?<="id":")[\w-]{43}(?=")/g, 'example-device-id'],
  [/\/qr\/[\w-]+/g, '/qr/example-image-handle-not-a-secret'],
  [/\b(?!2026-11-21T10:)\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/g, '2026-11-21T10:05:00.000Z'],
  [
    /\b[\da-f]{8}-[\da-f]{4}-4[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}\b/g,
    '4f7c7a3e-5d0b-4c1e-9a55-0c3f5f1f7a10',
  ],
  [/\b(00u|sms|clf|cpf|opf|uft|ost|emf|ufs|dsf|fwf|fuf)[A-Za-z\d]{17}\b/g, '$1Example0000000001'],
]

function withoutSecrets(value: unknown, origins: Origins): unknown {
  const text = JSON.stringify(value, (name, member: unknown) =>
    Object.hasOwn(FIXED, name) && typeof member === 'string' ? FIXED[name] : member,
  )
  const replaced = [...origins.map(([from, to]) => [from, to] as const)].reduce(
    (rest, [from, to]) => rest.replaceAll(from, to),
    text,
  )
  return JSON.parse(PATTERNS.reduce((rest, [from, to]) => rest.replace(from, to), replaced))
}
