import { Cookie, CookieJar } from 'tough-cookie'
import { checkAnswer } from './api-contract.ts'
import { recordBody, trafficOf } from './recorded-traffic.ts'

/** A response as the page's script sees it, and its raw form. */
export interface PageAnswer {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  readonly bytes: Buffer
  /** The JSON body. An empty object if the body is missing or not JSON. */
  readonly json: JsonObject
  readonly setCookies: readonly string[]
}

export type JsonObject = Record<string, unknown>

export interface Browser {
  get(path: string, options?: CallOptions): Promise<PageAnswer>
  post(path: string, body?: unknown, options?: CallOptions): Promise<PageAnswer>
  delete(path: string, options?: CallOptions): Promise<PageAnswer>
  readonly origin: string
  readonly jar: CookieJar
  /** The headers that the proxy in front of the broker adds to each request. */
  readonly proxyHeaders: Readonly<Record<string, string>>
  /** Everything that the browser received, in which tests search for secrets. */
  readonly received: string[]
  /**
   * From now on, the upstream's transactions are made up by the test, and need not look like
   * Okta's.
   */
  allowAnyTransaction(): void
}

export interface CallOptions {
  readonly headers?: Record<string, string>
  /** A raw body, sent instead of JSON. */
  readonly raw?: string
  /** A form body, sent instead of JSON. */
  readonly form?: Record<string, string>
}

/**
 * A browser whose page is on the broker's origin: it keeps cookies and sends `Sec-Fetch-Site:
 * same-origin`. A response that the OpenAPI document does not allow throws.
 */
export function openBrowser(origin: string, proxyHeaders: Readonly<Record<string, string>> = {}): Browser {
  const jar = new CookieJar()
  const received: string[] = []
  const contract = { anyTransaction: false }

  const call = async (method: string, path: string, body: unknown, options: CallOptions = {}) => {
    const url = new URL(path, origin)
    const cookie = await jar.getCookieString(url.href)
    const traffic = trafficOf(url.origin)
    recordBody(traffic, options.form ?? body)
    const raw = options.form === undefined ? options.raw : new URLSearchParams(options.form).toString()
    const type =
      options.form === undefined ? 'application/json' : 'application/x-www-form-urlencoded; charset=UTF-8'
    const response = await fetch(url, {
      method,
      redirect: 'manual',
      headers: {
        ...proxyHeaders,
        'sec-fetch-site': 'same-origin',
        'user-agent': 'TestBrowser/1.0',
        ...(cookie === '' ? {} : { cookie }),
        ...(body === undefined && raw === undefined ? {} : { 'content-type': type }),
        // lower case, so that they replace the defaults
        ...Object.fromEntries(new Headers(options.headers)),
      },
      body: raw ?? (body === undefined ? null : JSON.stringify(body)),
    })
    const setCookies = response.headers.getSetCookie()
    for (const setCookie of setCookies) await jar.setCookie(Cookie.parse(setCookie) ?? setCookie, url.href)
    const bytes = Buffer.from(await response.arrayBuffer())
    const text = bytes.toString('utf8')
    const { status } = response
    const contentType = response.headers.get('content-type') ?? undefined
    if (url.origin === origin) checkAnswer(method, url.pathname, { status, contentType, bytes }, contract)
    const wire = [[...response.headers].map(([name, value]) => `${name}: ${value}`).join('\n'), text]
    received.push(...wire)
    traffic.received.push(...wire)
    const isPicture = response.headers.get('content-type')?.startsWith('image/') === true
    const json = isPicture ? {} : parseObject(text)
    return { status: response.status, headers: response.headers, text, bytes, json, setCookies }
  }

  return {
    origin,
    jar,
    proxyHeaders,
    received,
    allowAnyTransaction() {
      contract.anyTransaction = true
    },
    get: (path, options) => call('GET', path, undefined, options),
    post: (path, body, options) => call('POST', path, body, options),
    delete: (path, options) => call('DELETE', path, undefined, options),
  }
}

function parseObject(text: string): JsonObject {
  if (text === '') return {}
  const value: unknown = JSON.parse(text)
  return typeof value === 'object' && value !== null ? { ...value } : {}
}
