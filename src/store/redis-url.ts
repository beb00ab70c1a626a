/** What a `REDIS_URL` says: which form Redis is run in, where it is and who we are there. Pure, no dependency. */
export type RedisTarget = StandaloneTarget | SentinelTarget | ClusterTarget

export interface StandaloneTarget extends Access {
  readonly form: 'standalone'
  readonly address: Address
  readonly db: number
}

export interface SentinelTarget extends Access {
  readonly form: 'sentinel'
  /** The sentinels, not the Redis servers that they watch. */
  readonly sentinels: readonly Address[]
  readonly masterName: string
  readonly db: number
  /** Who we are at the sentinels: as at Redis, unless the URL says otherwise. */
  readonly sentinelCredentials: Credentials | undefined
}

export interface ClusterTarget extends Access {
  readonly form: 'cluster'
  readonly nodes: readonly Address[]
}

export interface Address {
  readonly host: string
  readonly port: number
}

export interface Credentials {
  readonly username?: string
  readonly password: string
}

interface Access {
  readonly tls: boolean
  readonly credentials: Credentials | undefined
}

/**
 * Reads `redis[s]://[user]:password@host:port/db`, `redis[s]+sentinel://…@h1:p1,h2:p2/db?name=mymaster` and
 * `redis[s]+cluster://…@h1:p1,h2:p2`. User and password are percent-decoded. The sentinels are asked with the same ones as
 * Redis, unless the query has `sentinelUsername` and `sentinelPassword` (an empty `sentinelPassword`: with none).
 *
 * Throws an Error that names the part that is wrong and never repeats its value: the URL holds a password.
 */
export function parseRedisUrl(url: string): RedisTarget {
  if (hasUnescaped(url)) {
    throw new Error(
      'password: must be percent-encoded: @ as %40, / as %2F, ? as %3F, # as %23, a space as %20',
    )
  }
  const parts = SHAPE.exec(url)?.groups
  const scheme = SCHEMES.get(parts?.scheme?.toLowerCase() ?? '')
  if (!parts || !scheme) {
    throw new Error(
      `scheme: must be one of ${[...SCHEMES.keys()].join(', ')}, each with ://, or memory: alone`,
    )
  }
  const access = { tls: scheme.tls, credentials: parseUserInfo(parts.userinfo) }
  const hosts = parts.hosts ?? ''
  const query = parseQuery(parts.query, scheme.form === 'sentinel' ? SENTINEL_PARAMETERS : [])

  switch (scheme.form) {
    case 'standalone': {
      const [address, ...more] = parseHosts(hosts, 6379)
      if (!address || more.length > 0)
        throw new Error('host: exactly one is needed; several need +sentinel or +cluster')
      return { form: 'standalone', ...access, address, db: parseDb(parts.path) }
    }
    case 'sentinel': {
      const masterName = query.get('name')
      if (!masterName)
        throw new Error('query: name is missing (the name that the sentinels know the primary by)')
      return {
        form: 'sentinel',
        ...access,
        sentinels: parseHosts(hosts, 26379),
        masterName,
        db: parseDb(parts.path),
        sentinelCredentials: sentinelCredentialsOf(query, access.credentials),
      }
    }
    case 'cluster': {
      if (parseDb(parts.path) !== 0) throw new Error('path: a cluster has database 0 only')
      return { form: 'cluster', ...access, nodes: parseHosts(hosts, 6379) }
    }
  }
}

const SHAPE =
  /^(?<scheme>[a-z+]+):\/\/(?:(?<userinfo>[^/?#]*)@)?(?<hosts>[^/?#@]*)(?<path>\/[^?#]*)?(?:\?(?<query>[^#]*))?$/i

/** A user or a password ends at the first `/`, `?` or `#`, so an `@` after that, or a second one, means an unescaped one. */
function hasUnescaped(url: string): boolean {
  const [, authority = '', rest = ''] = /^[a-z+]+:\/\/([^/?#]*)(.*)$/is.exec(url) ?? []
  const restWithoutSentinelUser = rest.replace(/([?&]sentinel(?:Username|Password)=)[^&]*/g, '$1')
  return /@.*@|\s.*@/s.test(authority) || restWithoutSentinelUser.includes('@')
}

const SCHEMES: ReadonlyMap<string, { form: RedisTarget['form']; tls: boolean }> = new Map([
  ['redis', { form: 'standalone', tls: false }],
  ['rediss', { form: 'standalone', tls: true }],
  ['redis+sentinel', { form: 'sentinel', tls: false }],
  ['rediss+sentinel', { form: 'sentinel', tls: true }],
  ['redis+cluster', { form: 'cluster', tls: false }],
  ['rediss+cluster', { form: 'cluster', tls: true }],
])

const SENTINEL_PARAMETERS = ['name', 'sentinelUsername', 'sentinelPassword']

function parseUserInfo(userinfo: string | undefined): Credentials | undefined {
  if (userinfo === undefined || userinfo === '') return undefined
  const colon = userinfo.indexOf(':')
  if (colon < 0) throw new Error('password: missing (write user:password@ or :password@)')
  const username = percentDecoded(userinfo.slice(0, colon), 'user')
  const password = percentDecoded(userinfo.slice(colon + 1), 'password')
  if (password === '') throw new Error('password: is empty')
  return username === '' ? { password } : { username, password }
}

function percentDecoded(text: string, part: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    // The error of decodeURIComponent says nothing of use, and the value must not be repeated.
    throw new Error(`${part}: is not percent-encoded correctly`)
  }
}

function parseHosts(hosts: string, defaultPort: number): Address[] {
  return hosts.split(',').map((entry) => {
    const parts = HOST.exec(entry)?.groups
    const host = parts?.v6 ?? parts?.name
    if (!host) throw new Error('host: is missing or malformed')
    return { host, port: parts?.port === undefined ? defaultPort : parsePort(parts.port) }
  })
}

const HOST = /^(?:\[(?<v6>[0-9a-f:.]+)\]|(?<name>[a-z0-9._-]+))(?::(?<port>[^:]*))?$/i

function parsePort(text: string): number {
  const port = /^\d{1,5}$/.test(text) ? Number(text) : 0
  if (port < 1 || port > 65535) throw new Error('port: must be a number from 1 to 65535')
  return port
}

function parseDb(path: string | undefined): number {
  if (path === undefined || path === '/') return 0
  if (!/^\/\d{1,5}$/.test(path)) throw new Error('path: must be the number of a database, such as /0')
  return Number(path.slice(1))
}

function parseQuery(query: string | undefined, known: readonly string[]): URLSearchParams {
  const parameters = new URLSearchParams(query ?? '')
  for (const name of new Set(parameters.keys())) {
    if (!known.includes(name)) {
      throw new Error(
        `query: has a parameter other than ${known.length > 0 ? known.join(', ') : 'none at all'}`,
      )
    }
    if (parameters.getAll(name).length > 1) throw new Error(`query: ${name} stands twice`)
  }
  return parameters
}

function sentinelCredentialsOf(
  query: URLSearchParams,
  atRedis: Credentials | undefined,
): Credentials | undefined {
  const username = query.get('sentinelUsername') ?? undefined
  const password = query.get('sentinelPassword') ?? undefined
  if (username === undefined && password === undefined) return atRedis
  if (!password) {
    if (username) throw new Error('query: sentinelUsername needs a sentinelPassword')
    return undefined
  }
  return username ? { username, password } : { password }
}
