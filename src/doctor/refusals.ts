import { fieldsOf } from '../upstream/http-api.ts'
import type { Answer } from './calls.ts'
import { PROXY_FIX } from './client-address.ts'
import { type Finding, fail } from './finding.ts'

/** What a proxy answers instead of the broker. */

export function replacedError(status: number, when = ''): Finding {
  return fail(
    `the proxy replaces the errors of the broker (${when}HTTP ${status})`,
    `Pages read the broker’s errors: the proxy must pass them (nginx: proxy_intercept_errors off). ${PROXY_FIX}`,
  )
}

/** A status with which the proxy speaks of itself, where the broker never sends it. */
export function refusalOfStatus({ status, json }: Pick<Answer, 'status' | 'json'>): Finding | undefined {
  if ('errorCode' in fieldsOf(json)) return undefined // the broker's own
  if (status === 429)
    return fail(
      'the proxy limits requests (HTTP 429)',
      `The doctor sends some dozen at once, as a page of a few users: allow more. ${PROXY_FIX}`,
    )
  if (status === 503)
    return fail(
      'the proxy gets no answer of the broker, or limits requests (HTTP 503)',
      'Look at its log: a replica may be down, or the limit too low for a page of a few users (nginx: limit_req; limit_req_status 429 tells the two apart).',
    )
  if (status !== 502 && status !== 504) return undefined
  return fail(
    `the proxy gets no answer of the broker, or of one of its replicas (HTTP ${status})`,
    'Look at the log of the proxy: a replica may be down, or its address may be an old one.',
  )
}

/** The answer to a request without a session, which the broker answers with 404 or 400 in JSON. */
export function refusalOfPlain(answer: Answer, publicUrl: string): Finding | undefined {
  const { status, headers, json, bytes } = answer
  if ('errorCode' in fieldsOf(json)) return undefined // the broker's own
  if (status >= 300 && status < 400) return judgeRedirect(answer, publicUrl)
  const [scheme] = String(headers['www-authenticate'] ?? '').match(/^[A-Za-z]{1,20}/) ?? []
  if (status === 401 && scheme !== undefined)
    return fail(
      `the proxy asks for a password of its own (HTTP 401, ${scheme})`,
      `Browsers do not send it with the calls of a page: the paths of Gatehouse need none (nginx: auth_basic off). ${PROXY_FIX}`,
    )
  if (status === 403)
    return fail(
      'the proxy, or a firewall in front of it, refuses requests (HTTP 403)',
      'Look at its log. If it has bot protection, let it admit the doctor, and never show its own page on the paths of Gatehouse.',
    )
  const text = bytes.toString('utf8').trimStart()
  const type = String(headers['content-type'] ?? 'none').split(';')[0] ?? ''
  if (!text.startsWith('{"errorCode"')) return undefined
  if (/\bjson$/i.test(type))
    return fail(
      'the proxy changes the bodies of responses: they are no JSON any more',
      `It must not inject anything into JSON, and not change its encoding. ${PROXY_FIX}`,
    )
  return fail(
    `the proxy changes Content-Type: JSON arrives as ${printable(type)}`,
    `It must pass Content-Type unchanged. ${PROXY_FIX}`,
  )
}

function judgeRedirect({ status, headers }: Answer, publicUrl: string): Finding | undefined {
  const { location } = headers
  if (typeof location !== 'string' || !URL.canParse(location, publicUrl)) return undefined
  const { origin, host, pathname } = new URL(location, publicUrl)
  const own = new URL(publicUrl)
  if (origin === own.origin && pathname === '/api/v1/sessions/me')
    return fail(
      `PUBLIC_URL redirects to itself, in a loop (HTTP ${status})`,
      'A proxy believes that the request came over http: where TLS ends, send X-Forwarded-Proto: https to the next proxy, or let it not redirect (Cloudflare: “Full (strict)” instead of “Flexible”).',
    )
  const signIn =
    'If it is a sign-in: a sign-in in front of the proxy must let the paths of Gatehouse pass, which has its own.'
  if (origin === own.origin)
    return fail(`PUBLIC_URL redirects to a page of its own (HTTP ${status})`, `${signIn} ${PROXY_FIX}`)
  return fail(
    `PUBLIC_URL redirects to ${printable(host === own.host ? origin : host)} (HTTP ${status})`,
    `If it is the portal’s own host: set PUBLIC_URL to the origin that users see. ${signIn}`,
  )
}

const printable = (text: string) => text.replace(/[^\w.:/-]/g, '?').slice(0, 100)
