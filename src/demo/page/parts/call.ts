import { durationOf } from './duration.js'
import { OTHER_USER, WORDS } from './words.js'

/** What this page asks of the broker: plain `fetch`. The two HttpOnly cookies go along by themselves. A body is JSON or a form. */
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
  // what is no JSON comes from a proxy in between: the status says enough
  const answer = response.status === 204 ? {} : await response.json().catch(() => undefined)
  if (response.ok && answer !== undefined) return answer
  throw troubleOf(response, answer)
}

/** An Error object of the broker, or of the upstream behind it, as it is told to people. */
export type Trouble = ReturnType<typeof troubleOf>

export function troubleOf(response: Response, said: Said = {}) {
  const { errorCode = 'E0000009', errorSummary = 'Something went wrong.', errorCauses = [] } = said
  const { status } = response
  const causes = errorCauses.map((cause) => cause.errorSummary)
  const [cause = ''] = causes
  const withoutField = cause.replace(/^\w+: /, '')
  const words = WORDS[status] ?? WORDS[withoutField] ?? WORDS[errorCode]
  const waitSeconds = waitOf(response)
  const wait = waitSeconds === undefined ? '' : ` Please wait ${durationOf(waitSeconds, 'long')}.`
  return Object.assign(new Error((words ?? errorSummary) + wait), {
    status,
    waitSeconds,
    causes: words === undefined || words.endsWith(':') ? causes : [],
    /** What was begun: the page starts again. */
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

/** `Retry-After`; of a limit of the upstream's, until the time at which it ends: that header stands in every answer. */
function waitOf({ headers, status }: Response): number | undefined {
  const now = Date.parse(headers.get('date') ?? '') / 1000
  const untilReset = Math.ceil(Number(headers.get('x-rate-limit-reset')) - now)
  const limit = untilReset > 0 ? untilReset : 30
  return Number(headers.get('retry-after')) || (status === 429 ? limit : undefined)
}
