import { closeSync, constants, fstatSync, openSync, readFileSync } from 'node:fs'
import { ConfigError, InvalidValue } from './config-error.ts'
import { deepFreeze } from './deep-freeze.ts'
import { type Environment, EnvReader, type ReadFile } from './env-reader.ts'
import { loadPam } from './load-pam.ts'
import { ignoredProxyVariables, misspelledVariables } from './misspelled-variables.ts'
import { listenHost, port, proxyException, trustedProxies } from './network-values.ts'
import { domain, factorType, listOf, oneOf, onOrOff, visibleAscii, wholeNumber } from './plain-values.ts'
import { sameSiteProblem } from './same-site.ts'
import { createSecret } from './secret.ts'
import { apiTokens, certificates, isOverTls, opsToken, redisUrl, secretKeys } from './secret-values.ts'
import { parseTunables, TUNABLES_FILE, type Tunables } from './tunables.ts'
import { pageUrl, proxyUrl, publicOrigin, redirectPrefix, upstreamOrigin, webOrigin } from './url-values.ts'

/**
 * The whole configuration, checked and frozen. Only `main`, `wiring`, `doctor` and `sandbox-package` see it; a module gets the part that it
 * needs.
 */
export type Config = ReturnType<typeof loadConfig>

export interface LoadConfigOptions {
  readonly env: Environment
  /** How secret and certificate files are read. */
  readonly readFile?: ReadFile
  /** Default: `config/default.json`. */
  readonly tunables?: Tunables
  /** The store's own parser of `REDIS_URL`. It throws an Error that names what is wrong without the value. */
  readonly parseRedisUrl: (url: string) => unknown
}

/** @throws ConfigError with every problem, by name and without a value */
export function loadConfig({ env, readFile = readText, parseRedisUrl, ...options }: LoadConfigOptions) {
  const reader = new EnvReader({ env: { ...env }, readFile })
  const production = reader.read('NODE_ENV', (text) => text === 'production') ?? false
  const publicOriginText = reader.read('PUBLIC_URL', publicOrigin)
  const allowedOrigins = loadAllowedOrigins(reader, publicOriginText)
  const authn = loadAuthn(reader, publicOriginText)
  const redis = loadRedis(reader, redisUrl({ production, parse: parseRedisUrl }))
  const keys = reader.secret(['SECRET_KEYS'], (from) => from.read('SECRET_KEYS', secretKeys))
  const rest = {
    production,
    /** As browsers write them (lower case, no default port), without that of `PUBLIC_URL`. */
    allowedOrigins,
    ...loadListeners(reader),
    signInUrl: loadSignInUrl(reader, publicOriginText, allowedOrigins),
    pam: loadPam(reader),
    egress: loadEgress(reader),
    session: loadSession(reader),
    logLevel: reader.read('LOG_LEVEL', oneOf('error', 'warn', 'info', 'debug')) ?? 'info',
    /** The commit that the image was built from. */
    revision: reader.read('GIT_REVISION', visibleAscii) ?? 'unknown',
  }
  const tunables = options.tunables ?? loadTunables()

  const problems = [...reader.problems, ...misspelledVariables(env)]
  if (tunables instanceof ConfigError) throw new ConfigError([...problems, ...tunables.problems])
  const isComplete = publicOriginText && authn && redis && keys
  if (problems.length > 0 || !isComplete) throw new ConfigError(problems)

  return deepFreeze({
    ...rest,
    /** https: the cookies are Secure and have the `__Host-` prefix. */
    publicUrl: { origin: publicOriginText, secure: publicOriginText.startsWith('https:') },
    authn,
    redis,
    /** The first key seals and signs, all open and verify. Each has 32 bytes. */
    secretKeys: keys,
    tunables,
    /** Valid but unusual settings that were found while reading. `configNotes` adds the others. */
    notes: [...reader.notes, ...ignoredProxyVariables(env)],
    secretFiles: reader.secretFiles,
  })
}

/** The tunables in `config/default.json`. Throws ConfigError. */
export function defaultTunables(): Tunables {
  const tunables = loadTunables()
  if (tunables instanceof ConfigError) throw tunables
  return tunables
}

function loadTunables(): Tunables | ConfigError {
  try {
    return parseTunables(JSON.parse(readText(new URL(`../../${TUNABLES_FILE}`, import.meta.url))))
  } catch (error) {
    if (error instanceof ConfigError) return error
    return new ConfigError([`${TUNABLES_FILE}: cannot be read or is not JSON`]) // the parser's error quotes the text
  }
}

function loadListeners(reader: EnvReader) {
  /** Port 0 lets the system choose. */
  const listen = {
    port: reader.read('PORT', port) ?? 8080,
    host: reader.read('HOST', listenHost) ?? '0.0.0.0',
  }
  const ops = {
    port: reader.read('OPS_PORT', port) ?? 9090,
    host: reader.read('OPS_HOST', listenHost) ?? '127.0.0.1',
    /** Undefined: the admin routes answer 404. */
    token: reader.secret(['OPS_TOKEN'], (from) => from.read('OPS_TOKEN', opsToken)),
  }
  if (listen.port === ops.port && listen.port !== 0)
    reader.refuse('OPS_PORT', 'must be a different port from PORT')
  /** CIDRs, a single address as `/32` or `/128`. */
  const trustProxy = reader.read('TRUST_PROXY', trustedProxies) ?? []
  return { listen, ops, trustProxy }
}

function loadAllowedOrigins(reader: EnvReader, publicUrl: string | undefined): string[] {
  const origin = (text: string) => {
    const found = webOrigin(text)
    const why = publicUrl === undefined ? undefined : sameSiteProblem(found, publicUrl)
    if (why !== undefined) throw new InvalidValue(why)
    return found
  }
  const origins = new Set(reader.read('ALLOWED_ORIGINS', listOf(origin)))
  if (publicUrl !== undefined) origins.delete(publicUrl)
  return [...origins]
}

/** A page on another origin would get a handle that it cannot use. */
function loadSignInUrl(reader: EnvReader, publicUrl: string | undefined, allowed: readonly string[]): string {
  const ownPage = (text: string) => {
    const url = pageUrl(text)
    if (publicUrl !== undefined && ![publicUrl, ...allowed].includes(url.origin)) {
      throw new InvalidValue('must be on PUBLIC_URL or on one of ALLOWED_ORIGINS')
    }
    return url.href
  }
  return reader.read('SIGN_IN_URL', ownPage) ?? `${publicUrl}/`
}

function loadAuthn(reader: EnvReader, publicUrl: string | undefined) {
  const elsewhere = (text: string) => {
    const origin = upstreamOrigin(text)
    if (origin === publicUrl) throw new InvalidValue('must not be PUBLIC_URL: the broker would call itself')
    return origin
  }
  const baseUrl = reader.read('AUTHN_BASE_URL', elsewhere)
  const tokens = reader.secret(['AUTHN_API_TOKEN'], (from) => from.read('AUTHN_API_TOKEN', apiTokens))
  const rest = {
    linkOrigins: [...new Set(reader.read('AUTHN_LINK_ORIGINS', listOf(elsewhere)))],
    /** Okta gets the `Origin` of pages. */
    forwardOrigin: reader.read('AUTHN_FORWARD_ORIGIN', onOrOff) ?? false,
    stepUp: reader.read('STEP_UP', onOrOff) ?? false,
    /** Empty: no SSO tokens. */
    ssoRedirects: reader.read('SSO_REDIRECTS', listOf(redirectPrefix)) ?? [],
    loginDomains: [...new Set(reader.read('LOGIN_DOMAINS', listOf(domain)))],
    /** Factor types that are removed from every response. */
    hiddenFactors: reader.read('HIDDEN_FACTORS', listOf(factorType)) ?? [],
  }
  return baseUrl === undefined || tokens === undefined ? undefined : { baseUrl, apiTokens: tokens, ...rest }
}

function loadRedis(reader: EnvReader, parseUrl: (text: string) => string) {
  const url = reader.secret(['REDIS_URL'], (from) => from.read('REDIS_URL', parseUrl))
  const ca = reader.read('REDIS_CA_FILE', certificates)
  if (ca !== undefined && url !== undefined && !isOverTls(url.current()))
    reader.refuse('REDIS_CA_FILE', 'requires a REDIS_URL over TLS, such as rediss://')
  return url && { url, ca }
}

function loadEgress(reader: EnvReader) {
  const proxy = reader.read('HTTPS_PROXY', proxyUrl)
  return {
    /** PEM certificates, trusted besides the public ones in calls to the upstreams. */
    ca: reader.read('UPSTREAM_CA_FILE', certificates),
    /** A secret, because the URL may contain a password. */
    httpsProxy: proxy === undefined ? undefined : createSecret(proxy),
    noProxy: reader.read('NO_PROXY', listOf(proxyException)) ?? [],
  }
}

function loadSession(reader: EnvReader) {
  const session = {
    idleMinutes: reader.read('SESSION_IDLE_MINUTES', wholeNumber(1, 24 * 60)) ?? 30,
    absoluteHours: reader.read('SESSION_ABSOLUTE_HOURS', wholeNumber(1, 24 * 7)) ?? 12,
    sameSite: reader.read('SESSION_SAME_SITE', sameSite) ?? 'lax',
  }
  if (session.idleMinutes > session.absoluteHours * 60) {
    reader.refuse('SESSION_IDLE_MINUTES', 'must not be more than SESSION_ABSOLUTE_HOURS')
  }
  return session
}

function sameSite(text: string): 'lax' | 'strict' {
  if (text.toLowerCase() === 'none') {
    throw new InvalidValue(
      'must be lax or strict: with none, requests from every site would carry the session cookie',
    )
  }
  return oneOf('lax', 'strict')(text)
}

/** Regular files only: reading a pipe could block the process, and a device may never end. */
function readText(path: string | URL): string {
  const file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK)
  try {
    const stat = fstatSync(file)
    if (!stat.isFile() && !stat.isDirectory()) throw unreadable('EFTYPE')
    if (stat.size > MAX_FILE_BYTES) throw unreadable('EFBIG')
    return readFileSync(file, 'utf8')
  } finally {
    closeSync(file)
  }
}

function unreadable(code: string): Error {
  return Object.assign(new Error('unreadable'), { code })
}

const MAX_FILE_BYTES = 4_194_304
