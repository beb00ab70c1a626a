import { durationOf } from './duration.js'
import { MESSAGES, OTHER_USER } from './messages.js'

/** Calls the broker. The browser adds the two HttpOnly cookies. The body is sent as JSON, or as a form if it is URLSearchParams. */
export async function call<Answer>(
  method: string,
  url: string,
  body?: object,
  more?: object,
): Promise<Answer> {
  const isForm = body instanceof URLSearchParams
  const type = body && !isForm && { 'content-type': 'application/json' }
  const headers = { accept: 'application/json', ...type, ...more }
  const request = { method, headers, body: isForm ? body : body ? JSON.stringify(body) : null }
  const response = await fetch(url, request).catch(() => Response.error()) // no connection: the status is 0
  // a body that is not JSON comes from a proxy: only its status is used
  const answer = response.status === 204 ? {} : await response.json().catch(() => undefined)
  if (response.ok && answer !== undefined) return answer
  throw toRequestError(response, answer)
}

/** An Error object of the broker or of Okta, with a message for users. */
export type RequestError = ReturnType<typeof toRequestError>

export function toRequestError(response: Response, said: Said = {}) {
  const { errorCode = 'E0000009', errorSummary = 'Something went wrong.', errorCauses = [] } = said
  const { status } = response
  const causes = errorCauses.map((cause) => cause.errorSummary)
  const [cause = ''] = causes
  const withoutField = cause.replace(/^\w+: /, '')
  const words = MESSAGES[status] ?? MESSAGES[withoutField] ?? MESSAGES[errorCode]
  const waitSeconds = waitOf(response)
  const wait = waitSeconds === undefined ? '' : ` Please wait ${durationOf(waitSeconds, 'long')}.`
  return Object.assign(new Error((words ?? errorSummary) + wait), {
    status,
    waitSeconds,
    causes: words === undefined || words.endsWith(':') ? causes : [],
    /** The transaction or the session is over: the page starts again. */
    isOver:
      status === 409 ||
      withoutField === OTHER_USER ||
      errorCode === 'E0000079' ||
      (status === 401 && errorCode !== 'E0000004'),
  })
}
interface Said {
  readonly errorCode?: string
  readonly errorSummary?: string
  readonly errorCauses?: readonly { readonly errorSummary: string }[]
}

/** `Retry-After`. Okta's own 429 has none: then the time until `X-Rate-Limit-Reset`, a header of every response. */
function waitOf({ headers, status }: Response): number | undefined {
  const now = Date.parse(headers.get('date') ?? '') / 1000
  const untilReset = Math.ceil(Number(headers.get('x-rate-limit-reset')) - now)
  const limit = untilReset > 0 ? untilReset : 30
  return Number(headers.get('retry-after')) || (status === 429 ? limit : undefined)
}
