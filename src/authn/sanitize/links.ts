import { normalizePath, PICTURE } from '../transaction/link-paths.ts'
import { mergeSteps, type OfferedStep } from '../transaction/transaction.ts'
import {
  createTokenReplacer,
  replaceParameters,
  tokenField,
  tokenList,
  tokensInUrl,
  UnusableAnswer,
} from './token-search.ts'

/**
 * Rewrites an Okta answer for a browser. Links to the API lead to Gatehouse, and tokens are
 * replaced with the handle or removed. Also lists the steps that the answer offers. Pure: no
 * packages, no I/O.
 */

export interface RewriteOptions {
  /** The origins of the org: its base address first, then its other names. */
  readonly upstreamOrigins: readonly [string, ...string[]]
  readonly publicOrigin: string
  /**
   * Replaces the transaction's state token. undefined: the state token is removed like other
   * tokens.
   */
  readonly handle: string | undefined
  /** Tokens of earlier answers, which are removed too. */
  readonly knownTokens: readonly string[]
  /** Replaces Okta's token in the path of an enrollment picture. */
  readonly pictureHandle: (upstreamPath: string) => string
}

export interface RewrittenAnswer {
  readonly body: Record<string, unknown>
  readonly offered: readonly OfferedStep[]
  /** How many links had a token, except offered steps. */
  readonly tokensInLinks: number
  /** Every upstream token in the answer, for the token filter. */
  readonly tokens: readonly string[]
  /** The names in every `_links`. */
  readonly linkNames: ReadonlySet<string>
}

type Members = Readonly<Record<string, unknown>>

/** Public routes outside `/api/v1/`. */
const REDIRECTS = [/^\/login\/step-up\/redirect$/, /^\/login\/token\/redirect$/, /^\/sso\/idps\/[^/]+$/]

/** In one answer: twice the steps that a transaction keeps. A response of Okta has some twenty. */
const MAX_LINKS = 4000

/**
 * Copies the answer first, then rewrites its links, because a link may contain a token from
 * anywhere in the answer.
 *
 * @throws UnusableAnswer
 */
export function rewriteAnswer(answer: Members, options: RewriteOptions): RewrittenAnswer {
  const { links, tokens: named, linkNames, body } = copyAnswer(answer, options)
  const inLinks = links.flatMap(({ url }) => tokensInUrl(url))
  const tokens = tokenList([...options.knownTokens, ...named, ...inLinks])
  const replaceIn = createTokenReplacer(tokens)
  const offered: OfferedStep[] = []
  const pictureTokens: string[] = []
  let tokensInLinks = 0
  for (const { copy, href, url, hints } of links) {
    if (url !== undefined && isPublicRoute(url.pathname)) {
      offered.push(toOfferedStep(url, hints))
      const [, , token] = PICTURE.exec(url.pathname) ?? []
      if (token !== undefined) pictureTokens.push(token)
      copy.href = publicHref(url, replaceIn, options)
    } else {
      const clean = replaceIn(url === undefined ? href : replaceParameters(href, ''), () => '')
      if (clean !== href) tokensInLinks += 1
      copy.href = clean
    }
  }
  const allTokens = tokenList([...tokens, ...pictureTokens])
  return { body, offered: mergeSteps([], offered), tokensInLinks, tokens: allTokens, linkNames }
}

interface Link {
  /** The copied object that has the `href`. */
  readonly copy: Record<string, unknown>
  readonly href: string
  /** Set if the link leads to the org. */
  readonly url: URL | undefined
  readonly hints: unknown
}

/** Copies the answer without its tokens, and collects links, tokens and link names. */
function copyAnswer(answer: Members, { handle, upstreamOrigins }: RewriteOptions) {
  const links: Link[] = []
  const tokens: string[] = []
  const linkNames = new Set<string>()

  const copyOf = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.filter((link) => !isUnsafeLink(link)).map(copyOf)
    return isRecord(value) ? copyMembers(value) : value
  }

  const copyMembers = (members: Members): Record<string, unknown> => {
    const copy: Record<string, unknown> = {}
    for (const key of Object.keys(members)) {
      const member = members[key]
      if (isUnsafeLink(member) || (key === 'href' && isUnsafeHref(member))) continue
      const field = tokenField(key)
      if (field !== undefined) {
        tokens.push(
          ...stringsIn(member).flatMap((text) => [text, ...tokensInUrl(upstreamUrl(text, upstreamOrigins))]),
        )
        if (field === 'stateToken' && typeof member === 'string' && handle !== undefined) copy[key] = handle
        continue
      }
      if (key === '_links' && isRecord(member)) for (const name of Object.keys(member)) linkNames.add(name)
      if (key === 'href' && typeof member === 'string') {
        if (links.length === MAX_LINKS) throw new UnusableAnswer('too many links')
        links.push({ copy, href: member, url: upstreamUrl(member, upstreamOrigins), hints: members.hints })
      }
      setOwn(copy, key, copyOf(member))
    }
    return copy
  }

  return { body: copyMembers(answer), links, tokens, linkNames }
}

function stringsIn(value: unknown): string[] {
  if (typeof value === 'string') return [value]
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(stringsIn) : []
}

/** The link's URL if it leads to the org, as relative links do. */
function upstreamUrl(href: string, origins: RewriteOptions['upstreamOrigins']): URL | undefined {
  try {
    const url = new URL(href, origins[0])
    return origins.includes(url.origin) ? url : undefined
  } catch {
    return undefined // not a URL
  }
}

/** A link such as `javascript:…`, which a page must not follow. */
function isUnsafeLink(value: unknown): boolean {
  return isRecord(value) && isUnsafeHref(value.href)
}

function isUnsafeHref(href: unknown): boolean {
  // parsed as a browser does, which ignores spaces and control characters in a scheme; other text
  // leads to the org
  if (typeof href !== 'string' || /^https?:/i.test(href) || !URL.canParse(href)) return false
  const url = new URL(href)
  return !isHttp(url) && !isPicture(url)
}

/** A picture in the link itself, such as a logo. SVG is a document, which may have scripts. */
function isPicture({ protocol, pathname }: URL): boolean {
  return protocol === 'data:' && /^image\/(png|jpeg|gif|webp)[;,]/i.test(pathname)
}

function isHttp({ protocol }: URL): boolean {
  return /^https?:$/.test(protocol)
}

function isPublicRoute(path: string): boolean {
  return path.startsWith('/api/v1/') || isRedirect(path)
}

function isRedirect(path: string): boolean {
  return REDIRECTS.some((route) => route.test(path))
}

function toOfferedStep(url: URL, hints: unknown): OfferedStep {
  const path = normalizePath(url.pathname)
  const step = { path, query: url.search, methods: allowedMethods(hints) }
  return isRedirect(path) ? { ...step, href: url.href } : step
}

function allowedMethods(hints: unknown): string[] {
  const allow = isRecord(hints) ? hints.allow : undefined
  if (!Array.isArray(allow)) return []
  return allow.filter((method) => typeof method === 'string').map((method) => method.toUpperCase())
}

function publicHref(
  url: URL,
  replaceIn: ReturnType<typeof createTokenReplacer>,
  options: RewriteOptions,
): string {
  const { publicOrigin, pictureHandle, handle = '' } = options
  const [, folder] = PICTURE.exec(url.pathname) ?? []
  const path = folder === undefined ? url.pathname : folder + pictureHandle(normalizePath(url.pathname))
  return publicOrigin + path + replaceIn(replaceParameters(url.search + url.hash, handle), () => handle)
}

/** Sets an own property, even for the name `__proto__`. */
function setOwn(target: Record<string, unknown>, key: string, value: unknown): void {
  if (key !== '__proto__') target[key] = value
  else Object.defineProperty(target, key, { value, enumerable: true })
}

function isRecord(value: unknown): value is Members {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
