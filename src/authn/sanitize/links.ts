import { inOneSpelling, mergeSteps, type OfferedStep, PICTURE } from '../transaction/offered-steps.ts'
import { swapParameters, swapTokens, tokenField, tokenList, tokensIn, tokensInUrl } from './tokens.ts'
import { walk } from './walk.ts'

/**
 * What comes back from the upstream, made fit for a browser (DESIGN §1). Pure: no package, no input or output.
 * Links to the API move to our own address, tokens give way to the handle, and what was offered is remembered.
 */

export interface RewriteOptions {
  /** Origins that are the upstream: its base address first, then its other names. */
  readonly upstreamOrigins: readonly [string, ...string[]]
  /** Our own origin. */
  readonly publicOrigin: string
  /** Takes the place of the transaction's state token; undefined: that goes, as the others do. */
  readonly handle: string | undefined
  /** Tokens that were known before this answer, to be looked for too. */
  readonly knownTokens: readonly string[]
  /** What stands in the path of an enrolment picture in place of the upstream's token. */
  readonly pictureHandle: (upstreamPath: string) => string
}

export interface Rewritten {
  readonly body: Record<string, unknown>
  readonly offered: readonly OfferedStep[]
  /** Tokens taken out of links that are not steps of ours. */
  readonly cutFromLinks: number
  /** Every upstream token that the answer held, for the last guard. */
  readonly tokens: readonly string[]
}

/** Routes of the public surface outside `/api/v1/` that the upstream's links may name. */
const REDIRECTS = [/^\/login\/step-up\/redirect$/, /^\/login\/token\/redirect$/, /^\/sso\/idps\/[^/]+$/]

export function rewriteAnswer(answer: Readonly<Record<string, unknown>>, options: RewriteOptions): Rewritten {
  const urls = new Map<string, URL | undefined>()
  for (const href of hrefsIn(answer)) urls.set(href, upstreamUrl(href, options.upstreamOrigins))
  const linkTokens = [...urls.values()].flatMap(tokensInUrl)
  const tokens = tokenList([...options.knownTokens, ...tokensIn(answer), ...linkTokens])
  const offered: OfferedStep[] = []
  const pictureTokens: string[] = []
  let cutFromLinks = 0

  const rewriteHref = (href: string, link: Readonly<Record<string, unknown>>): string => {
    const url = urls.get(href)
    if (url !== undefined && isOurs(url.pathname)) {
      const upstreamPath = inOneSpelling(url.pathname)
      const step = { path: upstreamPath, query: url.search, methods: allowedMethods(link) }
      offered.push(isRedirect(upstreamPath) ? { ...step, href: url.href } : step)
      const [, folder, token] = PICTURE.exec(url.pathname) ?? []
      if (token !== undefined) pictureTokens.push(token)
      const path = folder === undefined ? url.pathname : folder + options.pictureHandle(upstreamPath)
      const { handle = '' } = options
      return (
        options.publicOrigin +
        path +
        swapTokens(swapParameters(url.search + url.hash, handle), tokens, handle)
      )
    }
    const clean = swapTokens(url === undefined ? href : swapParameters(href, ''), tokens, '')
    if (clean !== href) cutFromLinks += 1
    return clean
  }

  const rewrite = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(rewrite)
    if (!isRecord(value)) return value
    const out: Record<string, unknown> = {}
    for (const key of Object.keys(value)) {
      const member = value[key]
      const field = tokenField(key)
      if (field === 'stateToken' && typeof member === 'string' && options.handle !== undefined)
        define(out, key, options.handle)
      else if (field !== undefined) continue
      else if (key === 'href' && typeof member === 'string') define(out, key, rewriteHref(member, value))
      else define(out, key, rewrite(member))
    }
    return out
  }

  const body = rewrite(answer)
  return {
    body: isRecord(body) ? body : {},
    offered: mergeSteps([], offered),
    cutFromLinks,
    tokens: [...tokens, ...pictureTokens],
  }
}

/** Every link of the answer, at any depth. */
function hrefsIn(answer: unknown): Set<string> {
  const hrefs = new Set<string>()
  walk(answer, (key, member) => {
    if (key === 'href' && typeof member === 'string') hrefs.add(member)
  })
  return hrefs
}

/** The link's URL when it leads to the upstream; a relative one is taken as the upstream's own. */
function upstreamUrl(href: string, origins: RewriteOptions['upstreamOrigins']): URL | undefined {
  try {
    const url = new URL(href, origins[0])
    return origins.includes(url.origin) ? url : undefined
  } catch {
    return undefined // no URL at all: not a link that anybody can follow
  }
}

function isOurs(path: string): boolean {
  return path.startsWith('/api/v1/') || isRedirect(path)
}

function isRedirect(path: string): boolean {
  return REDIRECTS.some((route) => route.test(path))
}

function allowedMethods(link: Readonly<Record<string, unknown>>): string[] {
  const hints = isRecord(link.hints) ? link.hints.allow : undefined
  if (!Array.isArray(hints)) return []
  return hints.filter((method) => typeof method === 'string').map((method) => method.toUpperCase())
}

/** Sets an own property whatever its name: `__proto__` stays a plain field. */
function define(target: Record<string, unknown>, key: string, value: unknown): void {
  if (key !== '__proto__') target[key] = value
  else Object.defineProperty(target, key, { value, enumerable: true })
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
