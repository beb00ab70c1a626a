import { CookieJar } from 'tough-cookie'
import { type Answer, askPort } from './ask-port.ts'
import type { Gatehouse } from './gatehouse.ts'

/** A request to a host of the site, as its proxy passes it on. */
export interface SiteRequest {
  readonly method?: string
  readonly body?: object
  /** Added to those of the browser and the proxy. undefined: not sent. */
  readonly headers?: Readonly<Record<string, string | readonly string[] | undefined>>
}

const NAVIGATION = {
  accept: 'text/html',
  'sec-fetch-mode': 'navigate',
  'sec-fetch-dest': 'document',
  'sec-fetch-site': 'same-site',
}
const FETCH = { 'sec-fetch-mode': 'cors', 'sec-fetch-dest': 'empty', 'sec-fetch-site': 'same-origin' }

export type SiteBrowser = ReturnType<typeof openSiteBrowser>

/**
 * A browser with the cookies of several hosts, each behind a proxy that passes requests to the
 * replicas by turns and names its host. The brokers trust the proxies (`TRUST_PROXY`).
 */
export function openSiteBrowser(replicas: readonly Gatehouse[]) {
  const jar = new CookieJar()
  let turn = 0

  const send = async (href: string, { method = 'GET', body, headers = {} }: SiteRequest): Promise<Answer> => {
    const url = new URL(href)
    const replica = replicas[turn++ % replicas.length]
    const cookie = await jar.getCookieString(href)
    const all = {
      'x-forwarded-for': '192.0.2.7',
      'x-forwarded-host': url.host,
      ...(cookie === '' ? {} : { cookie }),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...headers,
    }
    const answer = await askPort(Number(new URL(replica?.url ?? '').port), {
      method,
      path: url.pathname + url.search,
      headers: Object.fromEntries(
        Object.entries(all).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
      ),
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    for (const line of answer.headers['set-cookie'] ?? []) await jar.setCookie(line, href)
    return answer
  }

  return {
    jar,
    /** The browser opens a page. Redirects are not followed. */
    open: (href: string, { headers, ...rest }: SiteRequest = {}) =>
      send(href, { ...rest, headers: { ...NAVIGATION, ...headers } }),
    /** A script of the host requests it. */
    fetch: (href: string, { headers, ...rest }: SiteRequest = {}) =>
      send(href, { ...rest, headers: { ...FETCH, ...headers } }),
    /** The host's proxy asks whether the user is signed in: it sends only the cookies. */
    ask: (href: string, request: SiteRequest = {}) => send(href, request),
  }
}
