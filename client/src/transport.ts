import { GatehouseError } from './gatehouse-error.ts'

/**
 * Outside a browser: keeps the broker's two cookies. `CookieJar` of the package tough-cookie is
 * one.
 */
export interface CookieJar {
  getCookieString(url: string): string | Promise<string>
  setCookie(header: string, url: string): unknown
}

export interface TransportOptions {
  /**
   * The broker's origin, such as `https://portal.example.com`. No request goes to another one.
   * Default: the page's own.
   */
  readonly baseUrl?: string
  /** Outside a browser, it is required, like `baseUrl`. */
  readonly cookieJar?: CookieJar
  /** BCP 47. Okta sends its messages in this language. Default: the browser's. */
  readonly language?: string
  /** Default: the global `fetch`. */
  readonly fetch?: typeof fetch
  /**
   * Milliseconds until a request without a complete answer fails, with status 0. Default: 30,000.
   */
  readonly timeoutMs?: number
}

export interface Details {
  /** Sent as JSON, or as a form if it is `URLSearchParams`. */
  readonly body?: object | undefined
  readonly headers?: Readonly<Record<string, string>> | undefined
  readonly signal?: AbortSignal | undefined
  /** Gets the headers of an answer, which may be an error. */
  readonly onHeaders?: ((headers: Headers) => void) | undefined
}

/**
 * @throws {GatehouseError} for an error of the broker, and if there is no answer; the signal's
 * reason if it is aborted
 */
export type Request = <Answer>(method: string, href: string, details?: Details) => Promise<Answer>

export interface Transport {
  readonly request: Request
  /** The broker's origin. Undefined outside a browser without a `baseUrl`. */
  origin(): string | undefined
  /** The broker's time in milliseconds, as far as its answers have told it. */
  now(): number
}

const OUTSIDE_A_BROWSER =
  'gatehouse-client was called outside a browser, and has no baseUrl. If a server renders the page, call it in the browser only, such as in an effect. In a script, pass baseUrl and cookieJar.'

export function createTransport(options: TransportOptions): Transport {
  const { baseUrl, cookieJar, language, fetch: send = fetch, timeoutMs = 30_000 } = options
  let clockOffsetMs = 0

  /** Not before the first request: a server may import a module that creates a client. */
  function origin(): string | undefined {
    const url = baseUrl ?? globalThis.location?.href
    return url && new URL(url).origin
  }

  async function sendRequest(
    method: string,
    { href: url, origin: target }: URL,
    { body, headers }: Details,
    signal: AbortSignal,
  ) {
    const own = origin()
    if (target !== own) throw new Error(`The link leads to ${target}, not to ${own}`)
    const isForm = body instanceof URLSearchParams
    const response = await send(url, {
      method,
      credentials: 'include',
      redirect: 'error', // which would resend passwords and codes, perhaps to another origin
      headers: {
        accept: 'application/json',
        ...(body && !isForm && { 'content-type': 'application/json' }),
        ...(language && { 'accept-language': language }),
        ...(cookieJar && { cookie: await cookieJar.getCookieString(url), origin: target }),
        ...headers,
      },
      body: isForm ? body : body ? JSON.stringify(body, withTrimmedUsername) : null,
      signal,
    })
    const date = Date.parse(response.headers.get('date') ?? '')
    if (date) clockOffsetMs = date - Date.now()
    if (cookieJar) await keepCookies(cookieJar, response, url)
    return { response, text: await response.text() }
  }

  async function request<Answer>(method: string, href: string, details: Details = {}): Promise<Answer> {
    const base = origin()
    if (base === undefined) throw new Error(OUTSIDE_A_BROWSER)
    const url = new URL(href, base)
    const { response, text } = await withTimeout(timeoutMs, details.signal, (signal) =>
      sendRequest(method, url, details, signal),
    ).catch((error: unknown) => {
      details.signal?.throwIfAborted()
      throw new GatehouseError(undefined, {}, { path: url.pathname, cause: error })
    })
    details.onHeaders?.(response.headers)
    const answer = method === 'DELETE' && response.status === 204 ? {} : parseObject(text)
    if (response.ok && answer) return answer as Answer // as the OpenAPI document says
    throw new GatehouseError(response, answer ?? pageInstead(response, url.pathname), { path: url.pathname })
  }

  return { request, origin, now: () => Date.now() + clockOffsetMs }
}

/**
 * @param run gets a signal that is aborted after `ms`, and when `outer` is. `AbortSignal.any` is
 * too new for some browsers.
 */
async function withTimeout<Result>(
  ms: number,
  outer: AbortSignal | undefined,
  run: (signal: AbortSignal) => Promise<Result>,
): Promise<Result> {
  const controller = new AbortController()
  const abort = () => controller.abort(outer?.reason)
  const timer = setTimeout(() => controller.abort(new Error(`No answer within ${ms} ms`)), ms)
  outer?.addEventListener('abort', abort)
  if (outer?.aborted) abort()
  try {
    return await run(controller.signal)
  } finally {
    clearTimeout(timer)
    outer?.removeEventListener('abort', abort)
  }
}

async function keepCookies(jar: CookieJar, { headers }: Response, url: string): Promise<void> {
  for (const cookie of headers.getSetCookie()) {
    try {
      await jar.setCookie(cookie, url)
    } catch {
      // such as a proxy's cookie for another domain: a browser ignores it
    }
  }
}

/** @returns undefined for other texts: they come from a proxy, and only their status counts */
function parseObject(text: string): object | undefined {
  try {
    const parsed: unknown = JSON.parse(text)
    return typeof parsed === 'object' && parsed !== null ? parsed : undefined
  } catch {
    return undefined
  }
}

/** The statuses with which a server of pages answers for paths that it does not have. */
const OF_PAGES = [200, 404, 405]

/** The body of the error, if a page came: the server does not pass this path to the broker. */
function pageInstead({ status, headers }: Response, path: string) {
  if (!OF_PAGES.includes(status) || !headers.get('content-type')?.startsWith('text/html')) return {}
  const errorSummary = `A page answered ${path} (${status}), and not Gatehouse: is /api proxied?`
  return { errorCode: 'api_not_proxied' as const, errorSummary }
}

/** Adds the parameters that have a value. */
export function withQuery(href: string, parameters: object): string {
  const given = Object.entries(parameters).filter(([, value]) => value !== undefined)
  const query = new URLSearchParams(given.map(([name, value]) => [name, String(value)]))
  return given.length === 0 ? href : `${href}${href.includes('?') ? '&' : '?'}${query}`
}

/** Keyboards of phones add a space to a suggested name, for which Okta may know no user. */
function withTrimmedUsername(key: string, value: unknown): unknown {
  return key === 'username' && typeof value === 'string' ? value.trim() : value
}
