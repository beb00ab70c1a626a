/**
 * Parses `Link` headers strictly by RFC 8288: a skipped link would make a list incomplete. Common
 * parsers lose a link after a parameter without a value, or after a space before a comma. Names and
 * relations are in lower case. The first parameter of a name is used.
 *
 * @returns undefined if the header is malformed
 */
export function parseLinkHeader(header: string) {
  const links: { target: string; relations: string[]; parameters: Map<string, string> }[] = []
  for (let rest = header.replace(EMPTY_ELEMENTS, ''); rest !== ''; ) {
    const [all = '', target = '', text = ''] = LINK.exec(rest) ?? []
    const parameters = new Map<string, string>()
    for (const [, name = '', quoted, unquoted] of text.matchAll(PARAMETERS))
      if (name !== '' && !parameters.has(name.toLowerCase()))
        parameters.set(name.toLowerCase(), quoted?.replace(/\\(.)/g, '$1') ?? unquoted ?? '')
    const rel = (parameters.get('rel') ?? '').toLowerCase()
    const relations = rel.split(/[ \t]+/).filter((relation) => relation !== '')
    // A relation that is malformed might have been `next`.
    if (all === '' || !relations.every((relation) => RELATION.test(relation))) return undefined
    links.push({ target, relations, parameters })
    rest = rest.slice(all.length).replace(EMPTY_ELEMENTS, '')
  }
  return links
}

const EMPTY_ELEMENTS = /^[ \t,]*/
const NAME = /[!#$%&'*+\-.^_`|~\dA-Za-z]+/.source
const QUOTED = /"((?:[^"\\]|\\.)*)"/.source
/**
 * More than a token, because some servers do not quote media types and URLs (RFC 8288, appendix
 * B.3).
 */
const UNQUOTED = /([^\s"',;<>][^\s",;<>]*)/.source
/** A name without a value is possible, and so is an empty parameter, `;;`. */
const PARAMETER = `;[ \\t]*(?:(${NAME})[ \\t]*(?:=[ \\t]*(?:${QUOTED}|${UNQUOTED})[ \\t]*)?)?`
const PARAMETERS = new RegExp(PARAMETER, 'g')
const LINK = new RegExp(`^<([^<>\\s]*)>[ \\t]*((?:${PARAMETER.replaceAll(/\((?!\?)/g, '(?:')})*)(?=,|$)`)
/** A registered relation type, or a URI (RFC 8288, section 3.3). */
const RELATION = /^[a-z](?:[a-z\d.-]*|[a-z\d+.-]*:[\x21-\x7e]+)$/
