import { request } from 'node:http'
import { checkAnswer } from './api-contract.ts'
import type { Browser } from './browser.ts'
import { trafficOf } from './recorded-traffic.ts'

/** The response when the browser itself opens a URL. Redirects are not followed. */
export interface Navigated {
  readonly status: number
  readonly location: string | undefined
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly text: string
}

export interface NavigateOptions {
  readonly method?: string
  readonly headers?: Readonly<Record<string, string>>
}

/**
 * Sends a request with the headers of a top-level navigation (Fetch metadata), unless others are
 * given. A response that the OpenAPI document does not allow throws.
 */
export async function navigate(
  browser: Browser,
  href: string,
  options: NavigateOptions = {},
): Promise<Navigated> {
  const url = new URL(href)
  const cookie = await browser.jar.getCookieString(url.href)
  const headers = {
    accept: 'text/html,application/xhtml+xml',
    'sec-fetch-mode': 'navigate',
    'sec-fetch-dest': 'document',
    'sec-fetch-site': 'cross-site',
    ...browser.proxyHeaders,
    ...(cookie === '' ? {} : { cookie }),
    ...options.headers,
  }
  const answer = await new Promise<Navigated>((resolve, reject) => {
    const asked = request(url, { method: options.method ?? 'GET', headers }, (res) => {
      const chunks: Buffer[] = []
      res.on('data', (chunk: Buffer) => chunks.push(chunk))
      res.on('end', () => {
        const text = Buffer.concat(chunks).toString('utf8')
        resolve({ status: res.statusCode ?? 0, location: res.headers.location, headers: res.headers, text })
      })
    })
    asked.once('error', reject)
    asked.end()
  })
  const { status, text } = answer
  const lines = Object.entries(answer.headers).map(([name, value]) => `${name}: ${value}`)
  trafficOf(url.origin).received.push(...lines, text)
  const [contentType] = [answer.headers['content-type']].flat()
  if (url.origin === browser.origin && (options.method ?? 'GET') === 'GET')
    checkAnswer('GET', url.pathname, { status, contentType, bytes: Buffer.from(text) })
  for (const setCookie of [answer.headers['set-cookie'] ?? []].flat())
    await browser.jar.setCookie(setCookie, url.href)
  return answer
}
