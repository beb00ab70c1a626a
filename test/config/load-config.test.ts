import { rootCertificates } from 'node:tls'
import { inspect } from 'node:util'
import { afterAll, describe, expect, test } from '@jest/globals'
import { generateKey } from '../../src/config/secret-values.ts'
import { makeCertificates } from '../support/redis-certificates.ts'
import { KEY, load, PAM, problemsOf } from './valid-environment.ts'

/** Before Node’s oldest authority ends. */
const IN_2020 = Date.UTC(2020, 0, 1)

test('the required variables alone make a valid configuration', () => {
  const { secretKeys, authn, redis, tunables, ...rest } = load()

  expect(rest).toMatchObject({
    publicUrl: { origin: 'https://portal.example.com', secure: true },
    listen: { port: 8080, host: '0.0.0.0' },
    ops: { port: 9090, host: '127.0.0.1' },
    allowedOrigins: [],
    signInUrl: 'https://portal.example.com/',
    trustProxy: [],
    pam: undefined,
    egress: { ca: undefined, httpsProxy: undefined, noProxy: [] },
    session: { idleMinutes: 30, absoluteHours: 12, sameSite: 'lax', signOutClears: [] },
    logLevel: 'info',
  })
  expect(authn).toMatchObject({
    forwardOrigin: false,
    stepUp: false,
    ssoRedirects: [],
    oktaSignOut: false,
    linkOrigins: [],
    loginDomains: [],
  })
  expect(authn.hiddenFactors).toEqual([])
  expect(authn.baseUrl).toBe('https://org.example.net')
  expect(authn.apiToken.value).toBe('marked-api-token')
  expect(redis.url.value).toBe('redis://:marked-password@redis.internal:6379/0')
  expect(secretKeys.value).toEqual([Buffer.from(KEY, 'base64')])
  expect(tunables.session.maxPerUser).toBe(20)
})

const NAMED_TOKEN = 'a-named-ops-token-of-32-characters'

test('each variable sets its part of the configuration', () => {
  const config = load({
    ...PAM,
    PORT: '0',
    OPS_PORT: '9000',
    OPS_HOST: '::1',
    OPS_TOKENS: `helpdesk:${NAMED_TOKEN}`,
    OPS_TOKEN: 'an-ops-token-of-some-length',
    ALLOWED_ORIGINS: 'https://app.example.com,https://portal.example.com',
    ALLOWED_HEADERS: 'Traceparent',
    SIGN_IN_URL: 'https://app.example.com/#/login',
    TRUST_PROXY: '10.0.0.0/8',
    AUTHN_API_TOKEN: 'current',
    AUTHN_LINK_ORIGINS: 'https://id.example.com',
    AUTHN_FORWARD_ORIGIN: 'on',
    STEP_UP: 'on',
    SSO_REDIRECTS: 'https://app.example.org/home',
    OKTA_SIGN_OUT: 'on',
    LOGIN_DOMAINS: 'corp',
    HIDDEN_FACTORS: 'question',
    PAM_KEY_ID: 'key-1',
    PAM_KEY_SECRET: 'secret-1',
    PAM_KEY_EXPIRES_AT: '2027-01-31T02:00:00+02:00',
    PAM_USER_NAME: 'login-local-part',
    PAM_USER_DOMAINS: 'EXAMPLE.com',
    PAM_DIRECTORY: 'role:pam_admin',
    HTTPS_PROXY: 'http://user:p*ss@proxy.internal:3128',
    NO_PROXY: '.svc,localhost,10.0.0.0/8',
    SESSION_SAME_SITE: 'strict',
    SIGN_OUT_CLEARS: 'storage',
    LOG_LEVEL: 'debug',
  })

  expect(config).toMatchObject({
    listen: { port: 0 },
    ops: { port: 9000, host: '::1' },
    allowedOrigins: ['https://app.example.com'],
    allowedHeaders: ['traceparent'],
    signInUrl: 'https://app.example.com/#/login',
    trustProxy: ['10.0.0.0/8'],
    authn: {
      linkOrigins: ['https://id.example.com'],
      forwardOrigin: true,
      stepUp: true,
      ssoRedirects: [{ origin: 'https://app.example.org', pathPrefix: '/home' }],
      oktaSignOut: true,
      loginDomains: ['corp'],
      hiddenFactors: ['question'],
    },
    pam: {
      baseUrl: 'https://team.pam.example',
      team: 'acme',
      keyExpiresAtMs: Date.UTC(2027, 0, 31),
      tokenPath: '/v1/teams/{team_name}/service_token',
      userName: { kind: 'login-local-part', domains: [{ domain: 'example.com', prefix: '' }] },
      directory: { kind: 'rules', roles: ['pam_admin'], groups: [] },
    },
    egress: { noProxy: ['.svc', 'localhost', '10.0.0.0/8'] },
    session: { sameSite: 'strict', signOutClears: ['storage'] },
    logLevel: 'debug',
  })
  expect(config.egress.httpsProxy?.value).toBe('http://user:p*ss@proxy.internal:3128/')
  expect(config.ops.tokens.value).toEqual([
    { name: 'helpdesk', token: NAMED_TOKEN },
    { name: undefined, token: 'an-ops-token-of-some-length' },
  ])
  expect(config.authn.apiToken.value).toBe('current')
  expect(config.pam?.key.value).toEqual({ id: 'key-1', secret: 'secret-1' })
})

test('over plain http, the cookies are not Secure', () => {
  expect(load({ PUBLIC_URL: 'http://[::1]:8080' }).publicUrl.secure).toBe(false)
})

test('certificates are read from the named files', () => {
  const [one = '', two = ''] = rootCertificates.map((pem) => pem.trim())
  const config = load(
    { UPSTREAM_CA_FILE: '/upstream', REDIS_CA_FILE: '/redis', REDIS_URL: 'rediss://redis' },
    { readFile: (path) => (path === '/upstream' ? one : two), nowMs: IN_2020 },
  )
  expect(config.egress.ca).toEqual([`${one}\n`])
  expect(config.redis.ca).toBe(`${two}\n`)
})

test("the authorities of Node's own variable count beside those of UPSTREAM_CA_FILE", () => {
  const [one = '', two = ''] = rootCertificates.map((pem) => pem.trim())
  const readFile = (path: string) => (path === '/upstream' ? one : two)
  const both = load({ UPSTREAM_CA_FILE: '/upstream', NODE_EXTRA_CA_CERTS: '/extra' }, { readFile })
  expect(both.egress.ca).toEqual([`${one}\n`, `${two}\n`])
  // alone, Node has them already
  expect(load({ NODE_EXTRA_CA_CERTS: '/extra' }, { readFile }).egress.ca).toBeUndefined()
})

test('variables that depend on a missing variable are not reported as well', () => {
  const required = (name: string) => [expect.stringContaining(`${name}: is required`)]
  expect(
    problemsOf({
      PUBLIC_URL: undefined,
      ALLOWED_ORIGINS: 'https://app.example.org',
      SIGN_IN_URL: 'https://app.example.net/',
    }),
  ).toEqual(required('PUBLIC_URL'))
  expect(
    problemsOf(
      { REDIS_URL: undefined, REDIS_CA_FILE: '/ca' },
      { readFile: () => rootCertificates[0] ?? '', nowMs: IN_2020 },
    ),
  ).toEqual(required('REDIS_URL'))
})

test('a generated key is valid', () => {
  const key = generateKey()
  expect(load({ SECRET_KEYS: key }).secretKeys.value).toEqual([Buffer.from(key, 'base64')])
  expect(generateKey()).not.toBe(key)
})

test('the configuration is frozen', () => {
  const config = load({ ...PAM, SSO_REDIRECTS: 'https://app.example.com/' })
  const frozen = (value: unknown): boolean =>
    typeof value !== 'object' ||
    value === null ||
    (Object.isFrozen(value) && Object.values(value).every(frozen))
  expect(frozen(config)).toBe(true)
})

// shows: P-10.2
test('a printed configuration shows no secret', () => {
  const config = load({
    ...PAM,
    HTTPS_PROXY: 'http://user:marked-proxy@proxy:3128',
    OPS_TOKEN: 'marked-ops-token',
    EVENT_HOOK_SECRET: 'marked-hook-secret,marked-next-hook-secret',
    APP_TOKENS: `portal:marked-${'x'.repeat(32)}`,
  })
  for (const text of [JSON.stringify(config), inspect(config, { depth: 9, showHidden: true })]) {
    expect(text).toContain('[secret]')
    expect(text).not.toContain('marked')
    expect(text).not.toContain(KEY)
  }
})

// shows: V6.3.2, V13.2.3
test.each(['PUBLIC_URL', 'AUTHN_BASE_URL', 'AUTHN_API_TOKEN', 'REDIS_URL', 'SECRET_KEYS'])(
  '%s is required, and an empty value counts as not set',
  (name) => {
    const orFile = /^(PUBLIC|AUTHN_BASE)_URL$/.test(name) ? '' : ` (or ${name}_FILE)`
    for (const value of [undefined, '', '  '])
      expect(problemsOf({ [name]: value })).toEqual([`${name}: is required${orFile}`])
  },
)

test('without PAM_BASE_URL, PAM is off, and other PAM variables are refused, from files too', () => {
  expect(load().pam).toBeUndefined()
  const refusals = problemsOf(
    {
      PAM_TEAM: 'acme',
      PAM_KEY_ID_FILE: '/id',
      PAM_TOKEN_PATH: '/x',
      PAM_DIRECTORY: 'all',
      APP_TOKENS: `portal:${'x'.repeat(32)}`,
    },
    { readFile: () => 'x' },
  )
  expect(refusals).toEqual(
    ['PAM_TEAM', 'PAM_KEY_ID_FILE', 'PAM_TOKEN_PATH', 'PAM_DIRECTORY', 'APP_TOKENS'].map(
      (name) => `${name}: is set, but PAM_BASE_URL is not`,
    ),
  )
})

test('with PAM_BASE_URL, a team and a key are required, and the rest has defaults', () => {
  expect(problemsOf({ PAM_BASE_URL: PAM.PAM_BASE_URL })).toEqual([
    'PAM_TEAM: is required',
    'PAM_KEY_ID: is required (or PAM_KEY_ID_FILE)',
    'PAM_KEY_SECRET: is required (or PAM_KEY_SECRET_FILE)',
  ])
  const { pam } = load(PAM)
  expect(pam?.key.value).toEqual({ id: 'key-1', secret: 'marked-key-secret' })
  expect({ ...pam, key: undefined }).toEqual({
    baseUrl: 'https://team.pam.example',
    team: 'acme',
    keyExpiresAtMs: undefined,
    tokenPath: '/v1/teams/{team_name}/service_token',
    userName: { kind: 'login' },
    directory: { kind: 'none' },
  })
})

test('a variable that is not valid is not compared with others', () => {
  expect(problemsOf({ ...PAM, PAM_USER_NAME: 'email', PAM_USER_DOMAINS: 'corp.example' })).toEqual([
    'PAM_USER_NAME: Invalid option: expected one of "login"|"login-local-part"',
  ])
  expect(problemsOf({ ...PAM, PAM_BASE_URL: 'ftp://a.b', PORT: 'x', OPS_PORT: '8080' })).toHaveLength(2)
})

test.each(['rediss+sentinel://s1:26379/0?name=main', 'REDISS+cluster://c1:6379'])(
  'REDIS_CA_FILE is accepted for %s',
  (url) => {
    const ca = rootCertificates[0] ?? ''
    const options = { readFile: () => ca, nowMs: IN_2020 }
    expect(problemsOf({ REDIS_URL: url, REDIS_CA_FILE: '/ca' }, options)).toEqual([])
  },
)

describe('a client certificate for Redis', () => {
  const [own, other] = [makeCertificates(), makeCertificates()]
  afterAll(() => {
    own.remove()
    other.remove()
  })
  const DAY_MS = 86_400_000
  const BOTH = 'REDIS_KEY_FILE: must be set if REDIS_CERT_FILE is, and only then'
  const problems = (
    REDIS_CERT_FILE: string,
    REDIS_KEY_FILE: string,
    REDIS_URL = 'rediss://redis',
    nowMs = Date.now(),
  ) => problemsOf({ REDIS_URL, REDIS_CERT_FILE, REDIS_KEY_FILE }, { nowMs })

  test('and its key are read, and the key is hidden', () => {
    const config = load({
      REDIS_URL: 'rediss://redis',
      REDIS_CERT_FILE: own.certFile,
      REDIS_KEY_FILE: own.keyFile,
    })
    expect(config.redis.cert).toMatch(/^-----BEGIN CERTIFICATE-----/)
    expect(config.redis.privateKey?.value).toMatch(/^-----BEGIN PRIVATE KEY-----/)
    expect(JSON.stringify(config)).not.toContain('PRIVATE KEY')
  })

  test.each([
    ['without a key', () => problems(own.certFile, ''), BOTH],
    ['without a certificate', () => problems('', own.keyFile), BOTH],
    [
      'with the key of another one',
      () => problems(own.certFile, other.keyFile),
      'REDIS_KEY_FILE: does not belong to the first certificate of REDIS_CERT_FILE',
    ],
    [
      'with a certificate as its key',
      () => problems(own.certFile, own.certFile),
      'REDIS_KEY_FILE: must be a PEM private key without a passphrase',
    ],
    [
      'with a key as the certificate',
      () => problems(own.keyFile, own.keyFile),
      'REDIS_CERT_FILE: has no PEM certificate, or one that cannot be read',
    ],
    [
      'with files that cannot be read',
      () => problems(own.certFile, '/no/such/key'),
      'REDIS_KEY_FILE: the file cannot be read (ENOENT)',
    ],
    [
      'without TLS',
      () => problems(own.certFile, own.keyFile, 'redis+cluster://redis'),
      'REDIS_CERT_FILE: requires a REDIS_URL over TLS, such as rediss://',
    ],
    [
      'that has expired',
      () => problems(own.certFile, own.keyFile, 'rediss://redis', Date.now() + 3 * DAY_MS),
      'REDIS_CERT_FILE: its first certificate has expired',
    ],
  ])('%s is refused', (_, found, problem) => {
    expect(found()).toEqual([problem])
  })
})

test('an authority for Redis that has expired is refused, unless another one in the file has not', () => {
  const [one = '', ...others] = rootCertificates
  const problemsAt = (year: number, pem: string) =>
    problemsOf(
      { REDIS_URL: 'rediss://redis', REDIS_CA_FILE: '/ca.pem' },
      { readFile: () => pem, nowMs: Date.UTC(year, 0, 1) },
    )
  expect(problemsAt(2020, one)).toEqual([])
  expect(problemsAt(2200, one)).toEqual(['REDIS_CA_FILE: every certificate in it has expired'])
  expect(problemsAt(2038, [one, ...others].join('\n'))).toEqual([])
})

test('the names of the variables that are set are listed for the log, without values', () => {
  const { variables } = load({ ...PAM, PAM_KEY_ID: '', PAM_KEY_ID_FILE: '/id' }, { readFile: () => 'x' })
  expect(variables).toEqual([
    'PUBLIC_URL',
    'AUTHN_BASE_URL',
    'AUTHN_API_TOKEN',
    'REDIS_URL',
    'SECRET_KEYS',
    'PAM_BASE_URL',
    'PAM_TEAM',
    'PAM_KEY_ID_FILE',
    'PAM_KEY_SECRET',
  ])
})
