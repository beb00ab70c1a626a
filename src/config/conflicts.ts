import { createPrivateKey, X509Certificate } from 'node:crypto'
import { missing } from './environment.ts'
import { areExpired } from './secret-values.ts'
import { siteOf } from './site.ts'
import { VARIABLE_NAMES, type Values, type VariableName } from './variables.ts'

type Conflict = readonly [VariableName, string]
type IsSet = (name: VariableName) => boolean

/** Problems between several variables. A variable that is not valid by itself is undefined here. */
export function* conflictsIn(values: Partial<Values>, isSet: IsSet, nowMs: number): Generator<Conflict> {
  const { PORT, OPS_PORT } = values
  if (PORT === OPS_PORT && PORT !== undefined && PORT !== 0)
    yield ['OPS_PORT', 'must be a different port from PORT']
  if (Number(values.SESSION_IDLE_MINUTES) > Number(values.SESSION_ABSOLUTE_HOURS) * 60)
    yield ['SESSION_IDLE_MINUTES', 'must not be more than SESSION_ABSOLUTE_HOURS']
  if (values.DEVICE_BOUND_SESSIONS && values.PUBLIC_URL?.startsWith('http:'))
    yield ['DEVICE_BOUND_SESSIONS', 'requires an https PUBLIC_URL: browsers bind no session over http']
  if (values.PUBLIC_URL !== undefined) yield* conflictsOfOrigins(values, values.PUBLIC_URL)
  const { OPS_TOKENS, OPS_TOKEN } = values
  if (OPS_TOKENS?.value.some(({ token }) => token === OPS_TOKEN?.value))
    yield ['OPS_TOKEN', 'is one of OPS_TOKENS too: its calls would have two names']
  yield* conflictsOfRedis(values, isSet)
  yield* expiredForRedis(values, nowMs)
  yield* conflictsOfPam(values, isSet)
}

function* conflictsOfRedis(values: Partial<Values>, isSet: IsSet): Generator<Conflict> {
  const { REDIS_URL, REDIS_CERT_FILE, REDIS_KEY_FILE } = values
  if (REDIS_URL?.value === 'memory:' && values.NODE_ENV === 'production')
    yield ['REDIS_URL', 'must not be memory: in production: it works for one process only']
  for (const name of ['REDIS_CA_FILE', 'REDIS_CERT_FILE'] as const)
    if (values[name] !== undefined && REDIS_URL !== undefined && !/^rediss[+:]/i.test(REDIS_URL.value))
      yield [name, 'requires a REDIS_URL over TLS, such as rediss://']
  if (isSet('REDIS_CERT_FILE') !== isSet('REDIS_KEY_FILE'))
    yield ['REDIS_KEY_FILE', 'must be set if REDIS_CERT_FILE is, and only then']
  if (REDIS_CERT_FILE === undefined || REDIS_KEY_FILE === undefined) return
  if (!new X509Certificate(REDIS_CERT_FILE).checkPrivateKey(createPrivateKey(REDIS_KEY_FILE.value)))
    yield ['REDIS_KEY_FILE', 'does not belong to the first certificate of REDIS_CERT_FILE']
}

/**
 * Nothing works without Redis. An authority of Okta that has expired is only a note: open sessions
 * need no Okta.
 */
function* expiredForRedis(values: Partial<Values>, nowMs: number): Generator<Conflict> {
  const { REDIS_CA_FILE, REDIS_CERT_FILE } = values
  if (REDIS_CA_FILE !== undefined && areExpired(REDIS_CA_FILE, nowMs).every(Boolean))
    yield ['REDIS_CA_FILE', 'every certificate in it has expired']
  if (REDIS_CERT_FILE !== undefined && areExpired(REDIS_CERT_FILE, nowMs)[0])
    yield ['REDIS_CERT_FILE', 'its first certificate has expired']
}

function* conflictsOfOrigins(values: Partial<Values>, publicUrl: string): Generator<Conflict> {
  const { SIGN_IN_URL, ALLOWED_ORIGINS, AUTHN_BASE_URL, AUTHN_LINK_ORIGINS = [] } = values
  // every link of Okta would lead to the broker, and the broker would call itself
  if (AUTHN_BASE_URL === publicUrl) yield ['PUBLIC_URL', `must not be AUTHN_BASE_URL${ORG_ADDRESS}`]
  if (AUTHN_LINK_ORIGINS.includes(publicUrl))
    yield ['PUBLIC_URL', `must not be one of AUTHN_LINK_ORIGINS${ORG_ADDRESS}`]
  if (values.PAM_BASE_URL === publicUrl)
    yield ['PAM_BASE_URL', 'must not be PUBLIC_URL: it is the address of the broker, not of PAM']
  for (const [index, origin] of (ALLOWED_ORIGINS ?? []).entries())
    if (siteOf(origin) !== siteOf(publicUrl)) yield ['ALLOWED_ORIGINS', `entry ${index + 1} ${OTHER_SITE}`]
  // a page on another origin would get a handle that it cannot use
  if (
    SIGN_IN_URL &&
    ALLOWED_ORIGINS &&
    ![publicUrl, ...ALLOWED_ORIGINS].includes(new URL(SIGN_IN_URL).origin)
  )
    yield ['SIGN_IN_URL', 'must be on PUBLIC_URL or on one of ALLOWED_ORIGINS']
  if (SIGN_IN_URL?.split(/[?#]/)[0] === `${publicUrl}/signin`)
    yield ['SIGN_IN_URL', 'must not be /signin of PUBLIC_URL: the broker serves that path']
}

const ORG_ADDRESS = ': it is the address of the broker, not of the org'

const OTHER_SITE =
  'is not on the same site as PUBLIC_URL (scheme and public suffix list): browsers would not send the cookies'

function* conflictsOfPam({ PAM_USER_NAME }: Partial<Values>, isSet: IsSet): Generator<Conflict> {
  if (!isSet('PAM_BASE_URL')) {
    for (const name of VARIABLE_NAMES.filter((each) => /^(PAM_|APP_TOKENS$)/.test(each) && isSet(each)))
      yield [name, 'is set, but PAM_BASE_URL is not']
    return
  }
  for (const name of ['PAM_TEAM', 'PAM_KEY_ID', 'PAM_KEY_SECRET'] as const)
    if (!isSet(name)) yield [name, missing(name)]
  if (PAM_USER_NAME && isSet('PAM_USER_DOMAINS') !== (PAM_USER_NAME === 'login-local-part'))
    yield ['PAM_USER_DOMAINS', 'must be set if PAM_USER_NAME is login-local-part, and only then']
}
