/** One link of a `Link` header (RFC 8288, section 3). Names and relations are in lower case. The first parameter of a name is used. */
export interface HeaderLink {
  readonly target: string
  readonly relations: readonly string[]
  readonly parameters: ReadonlyMap<string, string>
}

/**
 * Parses `Link` headers strictly by RFC 8288: a skipped link would make a list incomplete. Common parsers lose a link after a
 * parameter without a value, or after a space before a comma.
 *
 * @returns undefined if the header is malformed
 */
export function parseLinkHeader(header: string): HeaderLink[] | undefined {
  const links: HeaderLink[] = []
  const at = { text: header, index: 0 }
  for (;;) {
    take(at, EMPTY_ELEMENTS)
    if (at.index === header.length) return links
    const link = takeLink(at)
    if (link === undefined) return undefined
    links.push(link)
    if (at.index < header.length && header[at.index] !== ',') return undefined
  }
}

interface Position {
  readonly text: string
  index: number
}

const EMPTY_ELEMENTS = /[ \t,]*/y
const TARGET = /<([^<>\s]*)>[ \t]*/y
const PARAMETER_START = /;[ \t]*/y
const NAME = /[!#$%&'*+\-.^_`|~\dA-Za-z]+[ \t]*/y
const EQUALS = /=[ \t]*/y
const QUOTED = /"((?:[^"\\]|\\.)*)"[ \t]*/y
/** More than a token, because some servers do not quote media types and URLs (RFC 8288, appendix B.3). */
const UNQUOTED = /([^\s"',;<>][^\s",;<>]*)[ \t]*/y
/** A registered relation type, or a URI (RFC 8288, section 3.3). */
const RELATION = /^[a-z](?:[a-z\d.-]*|[a-z\d+.-]*:[\x21-\x7e]+)$/

function takeLink(at: Position): HeaderLink | undefined {
  const target = take(at, TARGET)?.[1]
  if (target === undefined) return undefined
  const parameters = new Map<string, string>()
  while (take(at, PARAMETER_START) !== undefined) {
    const name = take(at, NAME)?.[0].trim().toLowerCase()
    if (name === undefined) continue // an empty parameter, `;;`
    const value = take(at, EQUALS) === undefined ? '' : takeValue(at)
    if (value === undefined) return undefined
    if (!parameters.has(name)) parameters.set(name, value)
  }
  const relations = parseRelations(parameters.get('rel'))
  return relations === undefined ? undefined : { target, relations, parameters }
}

/** undefined: a relation is malformed, and might have been `next`. */
function parseRelations(rel = ''): string[] | undefined {
  const relations = rel
    .toLowerCase()
    .split(/[ \t]+/)
    .filter((relation) => relation !== '')
  return relations.every((relation) => RELATION.test(relation)) ? relations : undefined
}

function takeValue(at: Position): string | undefined {
  const quoted = take(at, QUOTED)?.[1]
  return quoted === undefined ? take(at, UNQUOTED)?.[1] : quoted.replace(/\\(.)/g, '$1')
}

function take(at: Position, pattern: RegExp): RegExpExecArray | undefined {
  pattern.lastIndex = at.index
  const match = pattern.exec(at.text)
  if (match === null) return undefined
  at.index = pattern.lastIndex
  return match
}
