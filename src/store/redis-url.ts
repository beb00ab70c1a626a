export interface RedisTarget {
  readonly form: 'standalone' | 'sentinel' | 'cluster'
  readonly tls: boolean
  readonly credentials: Credentials | undefined
  /** Of the server, the sentinels, or some nodes of the cluster. */
  readonly addresses: readonly [Address, ...Address[]]
  readonly db: number
  readonly sentinel?: SentinelTarget
}

export interface SentinelTarget {
  /** The name of the primary in the configuration of the sentinels. */
  readonly masterName: string
  readonly credentials: Credentials | undefined
}

export interface Address {
  readonly host: string
  readonly port: number
}

export interface Credentials {
  readonly username?: string
  readonly password: string
}

/**
 * Reads `redis[s]://[user]:password@host:port/db`,
 * `redis[s]+sentinel://…@h1:p1,h2:p2/db?name=mymaster` and `redis[s]+cluster://…@h1:p1,h2:p2`. User
 * and password are percent-decoded. The sentinels get the same ones, unless the query has
 * `sentinelUsername` and `sentinelPassword` (an empty `sentinelPassword` means none).
 *
 * Throws an Error that names the invalid part, never its value: the URL contains a password.
 */
export function parseRedisUrl(url: string): RedisTarget {
  if (hasUnescapedCharacter(url))
    throw new Error(
      'password: must be percent-encoded: @ as %40, / as %2F, ? as %3F, # as %23, a space as %20',
    )
  const parts = SHAPE.exec(url)?.groups
  if (!parts)
    throw new Error(
      'scheme: must be one of redis, rediss, redis+sentinel, rediss+sentinel, redis+cluster, rediss+cluster, each with ://, or memory:',
    )
  const form = FORMS.find((name) => name === parts.form?.toLowerCase()) ?? 'standalone'
  const credentials = parseUserInfo(parts.userinfo)
  const [address, ...more] = (parts.hosts ?? '').split(',')
  const addressOf = (text = '') => parseAddress(text, form === 'sentinel' ? 26379 : 6379)
  const target = {
    form,
    tls: parts.tls !== undefined,
    credentials,
    addresses: [addressOf(address), ...more.map(addressOf)],
    db: parseDb(parts.path),
  } satisfies RedisTarget
  const query = parseQuery(parts.query, form === 'sentinel' ? SENTINEL_PARAMETERS : [])
  if (form === 'standalone' && more.length > 0)
    throw new Error('host: must be exactly one; several hosts need +sentinel or +cluster')
  if (form === 'cluster' && target.db !== 0) throw new Error('path: a cluster has only database 0')
  return form === 'sentinel' ? { ...target, sentinel: parseSentinel(query, credentials) } : target
}

const SHAPE =
  /^redis(?<tls>s)?(?:\+(?<form>sentinel|cluster))?:\/\/(?:(?<userinfo>[^/?#]*)@)?(?<hosts>[^/?#@]*)(?<path>\/[^?#]*)?(?:\?(?<query>[^#]*))?$/i
const FORMS = ['sentinel', 'cluster'] as const
const SENTINEL_PARAMETERS = ['name', 'sentinelUsername', 'sentinelPassword']

/**
 * The user and password end at the first `/`, `?` or `#`: an `@` after that, or a second one, is
 * unescaped.
 */
function hasUnescapedCharacter(url: string): boolean {
  const [, authority = '', rest = ''] = /^[a-z+]+:\/\/([^/?#]*)(.*)$/is.exec(url) ?? []
  const restWithoutSentinelUser = rest.replace(/([?&]sentinel(?:Username|Password)=)[^&]*/g, '$1')
  return /@.*@|\s.*@/s.test(authority) || restWithoutSentinelUser.includes('@')
}

function parseUserInfo(userinfo: string | undefined): Credentials | undefined {
  if (userinfo === undefined || userinfo === '') return undefined
  const colon = userinfo.indexOf(':')
  if (colon < 0) throw new Error('password: is missing; use user:password@ or :password@')
  const username = percentDecoded(userinfo.slice(0, colon), 'user')
  const password = percentDecoded(userinfo.slice(colon + 1), 'password')
  if (password === '') throw new Error('password: is empty')
  return username === '' ? { password } : { username, password }
}

function percentDecoded(text: string, part: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    throw new Error(`${part}: is not percent-encoded correctly`)
  }
}

function parseAddress(text: string, defaultPort: number): Address {
  const { v6, name, port = String(defaultPort) } = ADDRESS.exec(text)?.groups ?? {}
  const host = v6 ?? name
  if (!host) throw new Error('host: is missing or malformed')
  if (!/^\d{1,5}$/.test(port) || Number(port) < 1 || Number(port) > 65535)
    throw new Error('port: must be a number from 1 to 65535')
  return { host, port: Number(port) }
}

const ADDRESS = /^(?:\[(?<v6>[0-9a-f:.]+)\]|(?<name>[a-z0-9._-]+))(?::(?<port>[^:]*))?$/i

function parseDb(path = '/'): number {
  if (!/^\/\d{0,5}$/.test(path)) throw new Error('path: must be the number of a database, such as /0')
  return Number(path.slice(1))
}

function parseQuery(query: string | undefined, known: readonly string[]): URLSearchParams {
  const parameters = new URLSearchParams(query)
  for (const name of parameters.keys()) {
    if (!known.includes(name))
      throw new Error(`query: unknown parameter; allowed: ${known.length > 0 ? known.join(', ') : 'none'}`)
    if (parameters.getAll(name).length > 1) throw new Error(`query: ${name} is given twice`)
  }
  return parameters
}

function parseSentinel(query: URLSearchParams, redisCredentials: Credentials | undefined): SentinelTarget {
  const masterName = query.get('name')
  if (!masterName)
    throw new Error('query: name is missing (the name of the primary, as the sentinels have it)')
  const username = query.get('sentinelUsername')
  const password = query.get('sentinelPassword')
  if (username && !password) throw new Error('query: sentinelUsername needs a sentinelPassword')
  if (username === null && password === null) return { masterName, credentials: redisCredentials }
  const credentials = password ? { ...(username ? { username } : {}), password } : undefined
  return { masterName, credentials }
}
