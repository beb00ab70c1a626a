import { GatehouseError } from './gatehouse-error.ts'

/** Outside a browser: keeps the broker's two cookies. `CookieJar` of the package tough-cookie is one. */
export interface CookieJar {
  getCookieString(url: string): string | Promise<string>
  setCookie(header: string, url: string): unknown
}

export interface TransportOptions {
  /** The broker's origin, such as `https://portal.example.com`. Default: the page's own. */
  readonly baseUrl?: string
  /** Required outside a browser. */
  readonly cookieJar?: CookieJar
  /** BCP 47. Okta sends its messages in this language. Default: the browser's. */
  readonly language?: string
  /** Default: the global `fetch`. */
  readonly fetch?: typeof fetch
}

export interface Details {
  /** Sent as JSON, or as a form if it is `URLSearchParams`. */
  readonly body?: object | undefined
  readonly headers?: Readonly<Record<string, string>> | undefined
  readonly signal?: AbortSignal | undefined
}

/** @throws {GatehouseError} for an error of the broker, and if there is no answer; the signal's reason if it is aborted */
export type Request = <Answer>(method: string, href: string, details?: Details) => Promise<Answer>

export interface Transport {
  readonly request: Request
  /** The broker's origin. */
  readonly origin: string
  /** The broker's time in milliseconds, as far as its answers have told it. */
  now(): number
}

export function createTransport(options: TransportOptions): Transport {
  const { baseUrl, cookieJar, language, fetch: send = fetch } = options
  const base = new URL(baseUrl ?? globalThis.location?.href)
  let clockOffsetMs = 0

  async function exchange(method: string, href: string, { body, headers, signal }: Details) {
    const url = new URL(href, base).href
    const isForm = body instanceof URLSearchParams
    const response = await send(url, {
      method,
      credentials: 'include',
      headers: {
        accept: 'application/json',
        ...(body && !isForm && { 'content-type': 'application/json' }),
        ...(language && { 'accept-language': language }),
        ...(cookieJar && { cookie: await cookieJar.getCookieString(url), origin: base.origin }),
        ...headers,
      },
      body: isForm ? body : body ? JSON.stringify(body) : null,
      signal: signal ?? null,
    })
    const date = Date.parse(response.headers.get('date') ?? '')
    if (date) clockOffsetMs = date - Date.now()
    if (cookieJar) await keepCookies(cookieJar, response, url)
    return { response, text: await response.text() }
  }

  async function request<Answer>(method: string, href: string, details: Details = {}): Promise<Answer> {
    const { response, text } = await exchange(method, href, details).catch((error: unknown) => {
      details.signal?.throwIfAborted()
      throw new GatehouseError(undefined, {}, error)
    })
    const answer = method === 'DELETE' && response.status === 204 ? {} : parseObject(text)
    if (response.ok && answer) return answer as Answer // as the OpenAPI document says
    throw new GatehouseError(response, answer ?? {})
  }

  return { request, origin: base.origin, now: () => Date.now() + clockOffsetMs }
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

/** Adds the parameters that have a value. */
export function withQuery(href: string, parameters: object): string {
  const given = Object.entries(parameters).filter(([, value]) => value !== undefined)
  const query = new URLSearchParams(given.map(([name, value]) => [name, String(value)]))
  return given.length === 0 ? href : `${href}${href.includes('?') ? '&' : '?'}${query}`
}
