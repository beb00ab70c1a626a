import { OPERATIONS } from '../src/authn/operations.ts'
import { rewriteAnswer } from '../src/authn/sanitize/links.ts'
import { removeTokens } from '../src/authn/sanitize/token-search.ts'
import { PICTURE } from '../src/authn/transaction/link-paths.ts'
import { advance, createTransaction, findStep, isOngoing } from '../src/authn/transaction/transaction.ts'
import { readAnswer } from '../src/authn/upstream/read-answer.ts'

/**
 * The result of processing one recorded response with the broker's code for upstream responses, and
 * checking the output with independent rules.
 */
export type Verdict =
  | {
      readonly kind: 'ok' | 'findings'
      readonly findings: readonly string[]
      readonly notes: readonly string[]
    }
  /** The broker responds 502 to these. */
  | { readonly kind: 'not JSON' | 'not an object' }

export const PUBLIC_ORIGIN = 'https://portal.example.test'
/** The org's origin for recordings with a placeholder. */
export const PLACEHOLDER_ORIGIN = 'https://org.example.test'
const HANDLE = `00${'replay'.repeat(7)}-`
const DEVICE = '0'.repeat(32)

/**
 * `https://{yourOktaDomain}`, `https://${org}.example.com`, `{{url}}`: placeholders in recordings.
 */
const PLACEHOLDER = /(?:https?:\/\/)?(?:[\w.-]*\$?\{\{?[\w .-]+\}\}?[\w.-]*)+(?=[/"?#])/g

export function replayAnswer(text: string): Verdict {
  const answer = parse(text.replaceAll(PLACEHOLDER, PLACEHOLDER_ORIGIN))
  if (answer === undefined) return { kind: 'not JSON' }
  if (!isRecord(answer.value)) return { kind: 'not an object' }
  const findings: string[] = []
  const notes: string[] = []
  try {
    checkOutput(answer.value, findings, notes)
  } catch (error) {
    findings.push(`throws: ${error instanceof Error ? error.message : String(error)}`)
  }
  return { kind: findings.length === 0 ? 'ok' : 'findings', findings, notes }
}

function checkOutput(given: Readonly<Record<string, unknown>>, findings: string[], notes: string[]): void {
  const origins = originsOf(given)
  const rewritten = rewriteAnswer(given, {
    upstreamOrigins: origins,
    publicOrigin: PUBLIC_ORIGIN,
    handle: HANDLE,
    knownTokens: [],
    pictureHandle: () => 'picture-handle',
  })
  const serialized = JSON.stringify(rewritten.body)
  const { text, removed } = removeTokens(serialized, rewritten.tokens)
  if (removed > 0) findings.push(`the token filter had to remove ${removed} token(s)`)
  if (rewritten.tokensInLinks > 0) notes.push(`${rewritten.tokensInLinks} token(s) removed from links`)

  const out = parse(text)?.value
  if (!isRecord(out)) {
    findings.push('the output is not a JSON object')
    return
  }
  const secrets = secretsOf(given)
  for (const { place, secret } of secrets)
    if (text.includes(secret) || text.includes(encodeURIComponent(secret)))
      findings.push(`${place} is in the output`)
  findings.push(
    ...differences(
      given,
      out,
      '',
      secrets.map(({ secret }) => secret),
      origins,
    ),
  )

  for (const { href, methods } of linksOf(given)) {
    const url = ownUrl(href, origins)
    if (url === undefined) continue
    for (const method of methods) {
      if (findStep(rewritten.offered, method, url.pathname) === undefined)
        findings.push(`${method} ${url.pathname}: offered upstream, but not by the broker`)
      else if (!hasRoute(method, url.pathname))
        notes.push(`${method} ${url.pathname}: not a route of the broker`)
    }
  }
  checkReading(given, rewritten.offered, findings, notes)
}

/** Checks that the broker reads the response correctly. */
function checkReading(
  given: Readonly<Record<string, unknown>>,
  offered: Parameters<typeof advance>[2]['offered'],
  findings: string[],
  notes: string[],
): void {
  const answer = readAnswer(given)
  if (answer.status !== (typeof given.status === 'string' ? given.status : ''))
    findings.push('status misread')
  const stateToken = typeof given.stateToken === 'string' ? given.stateToken : ''
  const after = advance(createTransaction(DEVICE, undefined, 0), answer, {
    offered,
    accepted: undefined,
    expiresAtMs: 60_000,
  })
  if (after.stateToken !== stateToken) findings.push('stateToken misread')
  if (after.offered.length !== offered.length) findings.push('an offered step is not remembered')
  if (after.credentialAccepted) findings.push('a credential counts as accepted, but none was sent')
  if (answer.status === '') notes.push('no status: an error, or part of a response')
  else notes.push(`${answer.status}${isOngoing(after) ? '' : ', ends the transaction'}`)
}

/** The placeholder's origin, and all origins with links to the authentication API. */
function originsOf(given: unknown): readonly [string, ...string[]] {
  const named = linksOf(given).flatMap(({ href }) => {
    const url = URL.canParse(href) ? new URL(href) : undefined
    return url?.pathname.startsWith('/api/v1/') === true ? [url.origin] : []
  })
  return [PLACEHOLDER_ORIGIN, ...new Set(named)]
}

function ownUrl(href: string, origins: readonly string[]): URL | undefined {
  const url = URL.canParse(href, origins[0]) ? new URL(href, origins[0]) : undefined
  if (url === undefined || !origins.includes(url.origin)) return undefined
  return url.pathname.startsWith('/api/v1/') || REDIRECT.test(url.pathname) ? url : undefined
}

const REDIRECT = /^\/(login\/(step-up|token)\/redirect|sso\/idps\/[^/]+)$/

const ROUTES: readonly (readonly [method: string, path: RegExp])[] = [
  ...['', '/introspect', '/recovery/password', '/recovery/unlock', '/recovery/token'].map(
    (path) => ['POST', new RegExp(`^/api/v1/authn${path}$`)] as const,
  ),
  ...OPERATIONS.map(({ path }) => ['POST', new RegExp(`^${path.replaceAll(/:\w+/g, '[^/]+')}$`)] as const),
  ['GET', /^\/api\/v1\/users\/[^/]+\/factors\/questions$/],
  ['GET', PICTURE],
  ['GET', REDIRECT],
]

function hasRoute(method: string, path: string): boolean {
  return ROUTES.some(([allowed, pattern]) => allowed === method && pattern.test(path))
}

const SECRET_FIELD = /^(state|session|recovery)token$/i

/**
 * Tokens in fields, queries and paths of QR codes; found by this file, not by the code under test.
 */
function secretsOf(value: unknown, place = ''): { place: string; secret: string }[] {
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([name, member]) => {
    const at = `${place}.${name}`
    if (typeof member !== 'string') return secretsOf(member, at)
    if (SECRET_FIELD.test(name)) return member.length < 16 ? [] : [{ place: at, secret: member }]
    if (name !== 'href') return []
    const inQuery = /[?&]stateToken=([^&#]{16,})/.exec(member)?.[1]
    const inPath = /\/qr\/([^/?#]{16,})$/.exec(member)?.[1]
    return [inQuery, inPath].flatMap((secret) => (secret === undefined ? [] : [{ place: at, secret }]))
  })
}

/** Differences between input and output, except tokens and links. */
function differences(
  given: unknown,
  out: unknown,
  place: string,
  secrets: readonly string[],
  origins: readonly string[],
): string[] {
  if (Array.isArray(given) && Array.isArray(out)) {
    if (given.length !== out.length) return [`${place}: ${given.length} entries, now ${out.length}`]
    return given.flatMap((one, index) => differences(one, out[index], `${place}[${index}]`, secrets, origins))
  }
  if (isRecord(given) && isRecord(out)) {
    const kept = Object.keys(given).filter((name) => !/^(session|recovery)token$/i.test(name))
    if (kept.join() !== Object.keys(out).join()) return [`${place || 'top'}: other members or another order`]
    return kept.flatMap((name) => {
      const at = `${place}.${name}`
      const before = given[name]
      if (SECRET_FIELD.test(name) && typeof before === 'string')
        return out[name] === HANDLE ? [] : [`${at}: not the handle`]
      if (name === 'href' && typeof before === 'string')
        return hrefDifferences(before, out[name], at, secrets, origins)
      return differences(before, out[name], at, secrets, origins)
    })
  }
  return given === out ? [] : [`${place}: ${typeof given} changed`]
}

function hrefDifferences(
  given: string,
  out: unknown,
  place: string,
  secrets: readonly string[],
  origins: readonly string[],
): string[] {
  if (typeof out !== 'string') return [`${place}: not a string`]
  const url = ownUrl(given, origins)
  if (url === undefined) {
    return out === given || secrets.some((secret) => given.includes(secret))
      ? []
      : [`${place}: a third-party link changed`]
  }
  const moved = URL.canParse(out) ? new URL(out) : undefined
  if (moved?.origin !== PUBLIC_ORIGIN) return [`${place}: not on the broker's origin`]
  const samePath = moved.pathname === url.pathname || PICTURE.test(url.pathname)
  const sameQuery = [...moved.searchParams.keys()].join() === [...url.searchParams.keys()].join()
  return samePath && sameQuery ? [] : [`${place}: another path or query`]
}

function linksOf(value: unknown): { href: string; methods: string[] }[] {
  if (typeof value !== 'object' || value === null) return []
  const inside = Object.values(value).flatMap(linksOf)
  if (!isRecord(value) || typeof value.href !== 'string') return inside
  const allow = isRecord(value.hints) && Array.isArray(value.hints.allow) ? value.hints.allow : ['GET']
  return [{ href: value.href, methods: allow.map(String) }, ...inside]
}

function parse(text: string): { value: unknown } | undefined {
  try {
    return { value: JSON.parse(text) }
  } catch {
    return undefined // reported as not JSON
  }
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
