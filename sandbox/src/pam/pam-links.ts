import { offsetOfKey } from './pam-pagination.ts'

/** The parts of a Link header. Targets are absolute, without user info. */
export type LinkParts = {
  /** Scheme, host and port. */
  origin: string
  path: string
  /** The query of the request, without `?`. */
  query: string
  /** The correct targets. */
  next: string | undefined
  prev: string | undefined
}

/** Unusual but legal (RFC 8288). A client that reads them gets the complete list. */
export const LEGAL_LINK_FORMS = [
  'plain',
  'several-headers',
  'commas-in-urls',
  'unquoted',
  'upper-case',
  'param-order',
  'extra-params',
  'flag-param',
  'several-relations',
  'second-rel-ignored',
  'whitespace',
  'empty-elements',
  'relative',
] as const

/** Links that a client must not follow. Sent on every page, even on the last. */
export const HOSTILE_LINK_FORMS = [
  'other-origin',
  'other-scheme',
  'other-port',
  'lookalike-host',
  'other-path',
  'dot-segments',
  'userinfo',
  'itself',
  'loop',
  'endless',
  'malformed',
  'single-quotes',
  'no-relation',
  'not-a-url',
  'long',
  'two-next',
] as const

export type LegalLinkForm = (typeof LEGAL_LINK_FORMS)[number]
export type HostileLinkForm = (typeof HOSTILE_LINK_FORMS)[number]
/** `raw` is the header's text; it may contain `{origin}`, `{path}` and `{next}`. */
export type LinkForm = LegalLinkForm | HostileLinkForm | { raw: string | string[] }

/** The target of a hostile link: `origin` for other-origin, `path` for other-path. */
export type LinkTarget = { origin?: string | undefined; path?: string | undefined }

/** The values of the Link header; none if there is neither a next nor a previous page. */
export function linkHeaders(form: LinkForm, parts: LinkParts, target: LinkTarget = {}): string[] {
  if (typeof form !== 'string') return [form.raw].flat().map((text) => fillIn(text, parts))
  if (isHostile(form)) return [HOSTILE[form](parts, target)].flat()
  const links = relationsOf(parts)
  return links.length === 0 ? [] : LEGAL[form](links, parts)
}

type Link = { rel: 'next' | 'prev'; url: string }

const LEGAL: Record<LegalLinkForm, (links: Link[], parts: LinkParts) => string[]> = {
  plain: (links) => [links.map(plainLink).join(', ')],
  'several-headers': (links) => links.map(plainLink),
  'commas-in-urls': (links) => [
    links.map(({ rel, url }) => `<${url.replace('offset=', 'offset=,,')}>; rel="${rel}"`).join(','),
  ],
  unquoted: (links) => [links.map(({ rel, url }) => `<${url}>;rel=${rel}`).join(',')],
  'upper-case': (links) => [links.map(({ rel, url }) => `<${url}>; REL="${rel.toUpperCase()}"`).join(', ')],
  'param-order': (links) => [
    links
      .toReversed()
      .map(({ rel, url }) => `<${url}>; type="application/json"; hreflang=en; rel="${rel}"`)
      .join(', '),
  ],
  'extra-params': (links) => [
    links
      .map(
        ({ rel, url }) =>
          `<${url}>; title="a \\"page\\", <x>; rel=\\"last\\""; rel="${rel}"; crossorigin; n=1`,
      )
      .join(', '),
  ],
  'flag-param': (links) => [links.map(({ rel, url }) => `<${url}>; crossorigin; rel="${rel}"`).join(', ')],
  'several-relations': (links) => [
    links.map(({ rel, url }) => `<${url}>; rel="nofollow ${rel} item"`).join(', '),
  ],
  'second-rel-ignored': (links) => [
    links.map(({ rel, url }) => `<${url}>; rel="${rel}"; rel="last"`).join(', '),
  ],
  whitespace: (links) => [links.map(({ rel, url }) => `<${url}>  ;\t rel = "${rel}" `).join(' ,\t')],
  'empty-elements': (links) => [`, ,${links.map(plainLink).join(', ,')},`],
  relative: (links, { origin }) => [
    links.map(({ rel, url }) => plainLink({ rel, url: url.slice(origin.length) })).join(', '),
  ],
}

const HOSTILE: Record<HostileLinkForm, (parts: LinkParts, target: LinkTarget) => string | string[]> = {
  'other-origin': (parts, { origin = 'https://collector.example.org' }) =>
    nextLink(`${origin}${parts.path}?${nextQuery(parts)}`),
  'other-scheme': (parts) => {
    const other = parts.origin.startsWith('https:') ? 'http:' : 'https:'
    return nextLink(`${other}//${hostOf(parts)}${parts.path}?${nextQuery(parts)}`)
  },
  'other-port': (parts) => {
    const url = new URL(parts.origin)
    url.port = url.port === '1' ? '2' : '1'
    return nextLink(`${url.origin}${parts.path}?${nextQuery(parts)}`)
  },
  'lookalike-host': (parts) => {
    const scheme = new URL(parts.origin).protocol
    return nextLink(`${scheme}//${hostOf(parts)}.collector.example.org${parts.path}?${nextQuery(parts)}`)
  },
  'other-path': (parts, { path = '/v1/teams/other-team/groups' }) =>
    nextLink(`${parts.origin}${path}?${nextQuery(parts)}`),
  'dot-segments': (parts) =>
    nextLink(`${parts.origin}${parts.path}/../../other-team/groups?${nextQuery(parts)}`),
  userinfo: (parts) => {
    const scheme = new URL(parts.origin).protocol
    return nextLink(`${scheme}//svc:secret@${hostOf(parts)}${parts.path}?${nextQuery(parts)}`)
  },
  itself: (parts) => nextLink(`${parts.origin}${parts.path}${parts.query === '' ? '' : `?${parts.query}`}`),
  loop: (parts) => nextLink(withCount(parts, (countIn(parts) % 3) + 1)),
  endless: (parts) => nextLink(withCount(parts, countIn(parts) + 1)),
  malformed: (parts) => `<${parts.origin}${parts.path}?${nextQuery(parts)}; rel="next`,
  'single-quotes': (parts) => `<${parts.origin}${parts.path}?${nextQuery(parts)}>; rel='next'`,
  'no-relation': (parts) => `<${parts.origin}${parts.path}?${nextQuery(parts)}>; title="next"`,
  'not-a-url': () => nextLink('http://[not-a-host]:port/%zz'),
  long: (parts) =>
    nextLink(`${parts.origin}${parts.path}?${nextQuery(parts)}&padding=${'x'.repeat(9 * 1024)}`),
  'two-next': (parts) => [
    nextLink(`${parts.origin}${parts.path}?${nextQuery(parts)}`),
    nextLink(`${parts.origin}${parts.path}?offset=${offsetOfKey('zzz')}`),
  ],
}

function isHostile(form: LegalLinkForm | HostileLinkForm): form is HostileLinkForm {
  return (HOSTILE_LINK_FORMS as readonly string[]).includes(form)
}

function relationsOf({ next, prev }: LinkParts): Link[] {
  return [
    ...(next === undefined ? [] : [{ rel: 'next' as const, url: next }]),
    ...(prev === undefined ? [] : [{ rel: 'prev' as const, url: prev }]),
  ]
}

function plainLink({ rel, url }: Link): string {
  return `<${url}>; rel="${rel}"`
}

function nextLink(url: string): string {
  return plainLink({ rel: 'next', url })
}

/** The query of the next page; on the last page, an offset after all groups. */
function nextQuery(parts: LinkParts): string {
  return parts.next === undefined ? `offset=${offsetOfKey('\uffff')}` : parts.next.replace(/^[^?]*\?/, '')
}

function hostOf(parts: LinkParts): string {
  return parts.origin.replace(/^[a-z]+:\/\//, '')
}

function countIn(parts: LinkParts): number {
  return Number(new URLSearchParams(parts.query).get('count') ?? 0)
}

/** The same page under another query. */
function withCount(parts: LinkParts, count: number): string {
  const query = new URLSearchParams(parts.query)
  query.set('count', String(count))
  return `${parts.origin}${parts.path}?${query}`
}

function fillIn(text: string, parts: LinkParts): string {
  return text
    .replaceAll('{origin}', parts.origin)
    .replaceAll('{path}', parts.path)
    .replaceAll('{next}', parts.next ?? '')
}
