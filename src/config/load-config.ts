import { closeSync, constants, fstatSync, openSync, readFileSync } from 'node:fs'
import type { AuthnConfig, Config, EgressConfig, SessionConfig } from './config.ts'
import { ConfigError } from './config-error.ts'
import { deepFreeze } from './deep-freeze.ts'
import { createEnvReader, type Environment, type EnvReader, type ReadFile } from './env-reader.ts'
import { factorType } from './factor-types.ts'
import { ignoredProxies } from './ignored-proxies.ts'
import { loadPam } from './load-pam.ts'
import { misspelt } from './misspelt.ts'
import { listenHost, port, proxyException, trustedProxies } from './network-values.ts'
import { domain, listOf, oneOf, onOrOff, wholeNumber } from './plain-values.ts'
import { Refusal } from './refusal.ts'
import { whyNotSameSite } from './same-site.ts'
import { createSecret } from './secret.ts'
import { createWatchedSecrets, type WatchedSecrets } from './secret-files.ts'
import { apiTokens, certificates, isOverTls, opsToken, redisUrl, secretKeys } from './secret-values.ts'
import { parseTunables, TUNABLES_FILE, type Tunables } from './tunables.ts'
import { pageUrl, proxyUrl, publicOrigin, redirectPrefix, upstreamOrigin, webOrigin } from './url-values.ts'

export interface LoadConfigOptions {
  readonly env: Environment
  /** How secret and certificate files are read. */
  readonly readFile?: ReadFile
  /** Instead of `config/default.json`. */
  readonly tunables?: Tunables
  /** The store's own reader of `REDIS_URL`; throws an Error that names the trouble and repeats no value. */
  readonly parseRedisUrl: (url: string) => unknown
}

/** The whole configuration, frozen; or ConfigError with every problem at once, by name, without a value. */
export function loadConfig(options: LoadConfigOptions): Config {
  const env = { ...options.env }
  const newReader = () => createEnvReader({ env, readFile: options.readFile ?? readText })
  const reader = newReader()
  const secrets = createWatchedSecrets({
    reader,
    newReader,
    pathOf: (name) => env[`${name}_FILE`]?.trim() || undefined,
  })

  const production = reader.optional('NODE_ENV', (text) => text === 'production') ?? false
  const publicUrl = reader.required('PUBLIC_URL', publicOrigin)
  const allowedOrigins = loadAllowedOrigins(reader, publicUrl)
  const authn = loadAuthn(reader, secrets, publicUrl)
  const readRedisUrl = redisUrl({ production, parse: options.parseRedisUrl })
  const redis = secrets.take(['REDIS_URL'], (from) => from.required('REDIS_URL', readRedisUrl))
  const keys = secrets.take(['SECRET_KEYS'], (from) => from.required('SECRET_KEYS', secretKeys))
  const rest = {
    production,
    allowedOrigins,
    ...loadListeners(reader, secrets),
    signInUrl: loadSignInUrl(reader, publicUrl, allowedOrigins),
    trustProxy: reader.optional('TRUST_PROXY', trustedProxies) ?? [],
    pam: loadPam(reader, secrets),
    egress: loadEgress(reader),
    session: loadSession(reader),
    logLevel: reader.optional('LOG_LEVEL', oneOf('error', 'warn', 'info', 'debug')) ?? 'info',
  }
  const redisCa = reader.fileOf('REDIS_CA_FILE', certificates)
  if (redisCa !== undefined && redis !== undefined && !isOverTls(redis.current()))
    reader.refuse('REDIS_CA_FILE', 'only goes with a REDIS_URL over TLS, such as rediss://')
  const tunables = options.tunables ?? loadTunables()

  const problems = [
    ...reader.problems,
    ...misspelt(env),
    ...(tunables instanceof ConfigError ? tunables.problems : []),
  ]
  const isWhole = publicUrl && authn && redis && keys && !(tunables instanceof ConfigError)
  if (problems.length > 0 || !isWhole) throw new ConfigError(problems)

  return deepFreeze({
    ...rest,
    publicUrl: { origin: publicUrl, secure: publicUrl.startsWith('https:') },
    authn,
    redis: { url: redis, ca: redisCa },
    secretKeys: keys,
    tunables,
    notes: [...reader.notes, ...ignoredProxies(env)],
    secretFiles: secrets.files,
  })
}

/** The checked figures of `config/default.json`. Throws ConfigError. */
export function defaultTunables(): Tunables {
  const tunables = loadTunables()
  if (tunables instanceof ConfigError) throw tunables
  return tunables
}

function loadTunables(): Tunables | ConfigError {
  let data: unknown
  try {
    data = JSON.parse(readText(new URL(`../../${TUNABLES_FILE}`, import.meta.url)))
  } catch {
    return new ConfigError([`${TUNABLES_FILE}: cannot be read or is not JSON`]) // the parser's error quotes the text
  }
  try {
    return parseTunables(data)
  } catch (error) {
    if (error instanceof ConfigError) return error
    throw error
  }
}

function loadListeners(reader: EnvReader, secrets: WatchedSecrets): Pick<Config, 'listen' | 'ops'> {
  const listen = {
    port: reader.optional('PORT', port) ?? 8080,
    host: reader.optional('HOST', listenHost) ?? '0.0.0.0',
  }
  const ops = {
    port: reader.optional('OPS_PORT', port) ?? 9090,
    host: reader.optional('OPS_HOST', listenHost) ?? '127.0.0.1',
    token: secrets.take(['OPS_TOKEN'], (from) => from.optional('OPS_TOKEN', opsToken)),
  }
  if (listen.port === ops.port && listen.port !== 0)
    reader.refuse('OPS_PORT', 'must be another port than PORT')
  return { listen, ops }
}

function loadAllowedOrigins(reader: EnvReader, publicUrl: string | undefined): readonly string[] {
  const origin = (text: string) => {
    const found = webOrigin(text)
    const why = publicUrl === undefined ? undefined : whyNotSameSite(found, publicUrl)
    if (why !== undefined) throw new Refusal(why)
    return found
  }
  const origins = new Set(reader.optional('ALLOWED_ORIGINS', listOf(origin)))
  if (publicUrl !== undefined) origins.delete(publicUrl)
  return [...origins]
}

/** A page elsewhere would get a sign-in handle and could do nothing with it. */
function loadSignInUrl(reader: EnvReader, publicUrl: string | undefined, allowed: readonly string[]): string {
  const ownPage = (text: string) => {
    const url = pageUrl(text)
    if (publicUrl !== undefined && ![publicUrl, ...allowed].includes(url.origin)) {
      throw new Refusal('must be on PUBLIC_URL or on one of ALLOWED_ORIGINS')
    }
    return url.href
  }
  return reader.optional('SIGN_IN_URL', ownPage) ?? `${publicUrl}/`
}

function loadAuthn(
  reader: EnvReader,
  secrets: WatchedSecrets,
  publicUrl: string | undefined,
): AuthnConfig | undefined {
  const elsewhere = (text: string) => {
    const origin = upstreamOrigin(text)
    if (origin === publicUrl) throw new Refusal('must not be PUBLIC_URL: the broker would call itself')
    return origin
  }
  const baseUrl = reader.required('AUTHN_BASE_URL', elsewhere)
  const tokens = secrets.take(['AUTHN_API_TOKEN'], (from) => from.required('AUTHN_API_TOKEN', apiTokens))
  const rest = {
    linkOrigins: [...new Set(reader.optional('AUTHN_LINK_ORIGINS', listOf(elsewhere)))],
    stepUp: reader.optional('STEP_UP', onOrOff) ?? false,
    ssoRedirects: reader.optional('SSO_REDIRECTS', listOf(redirectPrefix)) ?? [],
    loginDomains: [...new Set(reader.optional('LOGIN_DOMAINS', listOf(domain)))],
    hiddenFactors: reader.optional('HIDDEN_FACTORS', listOf(factorType)) ?? [],
  }
  return baseUrl === undefined || tokens === undefined ? undefined : { baseUrl, apiTokens: tokens, ...rest }
}

function loadEgress(reader: EnvReader): EgressConfig {
  const proxy = reader.optional('HTTPS_PROXY', proxyUrl)
  return {
    ca: reader.fileOf('UPSTREAM_CA_FILE', certificates),
    httpsProxy: proxy === undefined ? undefined : createSecret(proxy),
    noProxy: reader.optional('NO_PROXY', listOf(proxyException)) ?? [],
  }
}

function loadSession(reader: EnvReader): SessionConfig {
  const session = {
    idleMinutes: reader.optional('SESSION_IDLE_MINUTES', wholeNumber(1, 24 * 60)) ?? 30,
    absoluteHours: reader.optional('SESSION_ABSOLUTE_HOURS', wholeNumber(1, 24 * 7)) ?? 12,
    sameSite: reader.optional('SESSION_SAME_SITE', sameSite) ?? 'lax',
  }
  if (session.idleMinutes > session.absoluteHours * 60) {
    reader.refuse('SESSION_IDLE_MINUTES', 'must not be more than SESSION_ABSOLUTE_HOURS')
  }
  return session
}

function sameSite(text: string): 'lax' | 'strict' {
  if (text.toLowerCase() === 'none') {
    throw new Refusal('must be lax or strict: with none, every site could send the session cookie')
  }
  return oneOf('lax', 'strict')(text)
}

/** Only of regular files: a pipe that nobody writes to would stop the process, a device would never end. */
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

/** Bundles of certificates are the largest. */
const MAX_FILE_BYTES = 4_194_304
