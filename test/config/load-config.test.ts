import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { rootCertificates } from 'node:tls'
import { inspect } from 'node:util'
import { expect, test } from '@jest/globals'
import { generateKey } from '../../src/config/secret-values.ts'
import { KEY, load, PAM, problemsOf } from './valid-environment.ts'

test('the required variables alone make a valid configuration', () => {
  const { secretKeys, authn, redis, tunables, ...rest } = load()

  expect(rest).toMatchObject({
    production: false,
    publicUrl: { origin: 'https://portal.example.com', secure: true },
    listen: { port: 8080, host: '0.0.0.0' },
    ops: { port: 9090, host: '127.0.0.1', token: undefined },
    allowedOrigins: [],
    signInUrl: 'https://portal.example.com/',
    trustProxy: [],
    pam: undefined,
    egress: { ca: undefined, httpsProxy: undefined, noProxy: [] },
    session: { idleMinutes: 30, absoluteHours: 12, sameSite: 'lax' },
    logLevel: 'info',
    secretFiles: [],
  })
  expect(authn).toMatchObject({
    forwardOrigin: false,
    stepUp: false,
    ssoRedirects: [],
    linkOrigins: [],
    loginDomains: [],
  })
  expect(authn.hiddenFactors).toEqual([])
  expect(authn.baseUrl).toBe('https://org.example.net')
  expect(authn.apiTokens.current()).toEqual(['marked-api-token'])
  expect(redis.url.current()).toBe('redis://:marked-password@redis.internal:6379/0')
  expect(secretKeys.current()).toEqual([Buffer.from(KEY, 'base64')])
  expect(tunables.http.bodyLimitBytes).toBe(65536)
})

test('all variables are read and normalized', () => {
  const config = load({
    ...PAM,
    NODE_ENV: 'production',
    PUBLIC_URL: 'HTTPS://Portal.Example.com:443/',
    PORT: '0',
    OPS_PORT: '9000',
    OPS_HOST: '::1',
    OPS_TOKEN: 'an-ops-token-of-some-length',
    ALLOWED_ORIGINS: 'https://app.example.com, https://APP.example.com:8443/,https://portal.example.com',
    SIGN_IN_URL: 'https://app.example.com/#/login',
    TRUST_PROXY: '10.0.0.0/8, 192.0.2.1, 2001:DB8::1',
    AUTHN_API_TOKEN: 'current,standby',
    AUTHN_LINK_ORIGINS: 'https://id.example.com',
    AUTHN_FORWARD_ORIGIN: 'on',
    STEP_UP: 'on',
    SSO_REDIRECTS: 'https://app.example.com, https://app.example.org/home/',
    LOGIN_DOMAINS: 'Example.com,corp',
    HIDDEN_FACTORS: 'question, token:software:totp,question',
    PAM_KEY_ID: 'key-1,key-2',
    PAM_KEY_SECRET: 'secret-1,secret-2',
    PAM_KEY_EXPIRES_AT: '2027-01-31T02:00:00+02:00',
    PAM_USER_NAME: 'login-local-part',
    PAM_USER_DOMAINS: 'EXAMPLE.com',
    PAM_DIRECTORY: 'role:pam_admin,group:0F3B0C6E-7B8E-4B0A-9E53-0D3B8F0A1C2D',
    HTTPS_PROXY: 'http://user:p*ss@proxy.internal:3128',
    NO_PROXY: '.svc,localhost,10.0.0.0/8',
    SESSION_SAME_SITE: 'strict',
    LOG_LEVEL: 'debug',
  })

  expect(config).toMatchObject({
    production: true,
    publicUrl: { origin: 'https://portal.example.com', secure: true },
    listen: { port: 0 },
    ops: { port: 9000, host: '::1' },
    allowedOrigins: ['https://app.example.com', 'https://app.example.com:8443'],
    signInUrl: 'https://app.example.com/#/login',
    trustProxy: ['10.0.0.0/8', '192.0.2.1/32', '2001:db8::1/128'],
    authn: {
      linkOrigins: ['https://id.example.com'],
      forwardOrigin: true,
      stepUp: true,
      ssoRedirects: [
        { origin: 'https://app.example.com', pathPrefix: '/' },
        { origin: 'https://app.example.org', pathPrefix: '/home' },
      ],
      loginDomains: ['example.com', 'corp'],
      hiddenFactors: ['question', 'token:software:totp'],
    },
    pam: {
      baseUrl: 'https://team.pam.example',
      team: 'acme',
      keyExpiresAtMs: Date.UTC(2027, 0, 31),
      tokenPath: '/v1/teams/{team_name}/service_token',
      userName: { kind: 'login-local-part', domains: [{ domain: 'example.com', prefix: '' }] },
      directory: { kind: 'rules', roles: ['pam_admin'], groups: ['0f3b0c6e-7b8e-4b0a-9e53-0d3b8f0a1c2d'] },
    },
    egress: { noProxy: ['.svc', 'localhost', '10.0.0.0/8'] },
    session: { sameSite: 'strict' },
    logLevel: 'debug',
  })
  expect(config.egress.httpsProxy?.current()).toBe('http://user:p*ss@proxy.internal:3128/')
  expect(config.ops.token?.current()).toBe('an-ops-token-of-some-length')
  expect(config.authn.apiTokens.current()).toEqual(['current', 'standby'])
  expect(config.pam?.keys.current()).toEqual([
    { id: 'key-1', secret: 'secret-1' },
    { id: 'key-2', secret: 'secret-2' },
  ])
})

test.each(['http://localhost:8080', 'http://127.0.0.1:8080', 'http://[::1]:8080'])(
  'plain http is allowed at %s, and the cookies are then not Secure',
  (url) => {
    expect(load({ PUBLIC_URL: url }).publicUrl).toEqual({ origin: url, secure: false })
  },
)

test.each([
  ['https://team.pam.example/', 'https://team.pam.example'],
  ['https://gateway.example.com/pam/v9', 'https://gateway.example.com/pam/v9'],
  ['HTTPS://Gateway.Example.com:443/Pam/', 'https://gateway.example.com/Pam'],
  ['http://127.0.0.1:8082/pam', 'http://127.0.0.1:8082/pam'],
])('PAM_BASE_URL may have a path: %s', (given, baseUrl) => {
  expect(load({ ...PAM, PAM_BASE_URL: given }).pam?.baseUrl).toBe(baseUrl)
})

test('another port of localhost is same-site', () => {
  const config = load({ PUBLIC_URL: 'http://localhost:8080', ALLOWED_ORIGINS: 'http://localhost:3000' })
  expect(config.allowedOrigins).toEqual(['http://localhost:3000'])
})

test('an upstream on loopback may use plain http', () => {
  expect(load({ AUTHN_BASE_URL: 'http://127.0.0.2:9999' }).authn.baseUrl).toBe('http://127.0.0.2:9999')
})

test.each([
  'redis://localhost',
  'rediss://user:p%40ss@redis:6380/1',
  'redis+sentinel://s1:26379,s2:26379/0?name=mymaster',
  'rediss+sentinel://:pw@s1/0?name=mymaster',
  'redis+cluster://h1:6379,h2:6379',
  'redis://[::1]:6379',
  'memory:',
])('REDIS_URL may be %s, and the store’s parser accepts it', (url) => {
  expect(load({ REDIS_URL: url }).redis.url.current()).toBe(url)
})

test('several keys keep their order; URL-safe and unpadded base64 is accepted', () => {
  const second = Buffer.alloc(32, 0xfb)
  second[0] = 1
  const config = load({ SECRET_KEYS: `${KEY}, ${second.toString('base64url')}` })
  expect(config.secretKeys.current()).toEqual([Buffer.from(KEY, 'base64'), second])
})

test.each([
  ['example.com', [['example.com', '']]],
  ['Example.com,example.COM', [['example.com', '']]],
  ['example.com=emp_', [['example.com', 'emp_']]],
  [
    'Corp.example=, partner.example = partner-,',
    [
      ['corp.example', ''],
      ['partner.example', 'partner-'],
    ],
  ],
])('PAM_USER_DOMAINS=%s is accepted', (domains, expected) => {
  const { pam } = load({ ...PAM, PAM_USER_NAME: 'login-local-part', PAM_USER_DOMAINS: domains })
  const mappings = expected.map(([domain, prefix]) => ({ domain, prefix }))
  expect(pam?.userName).toEqual({ kind: 'login-local-part', domains: mappings })
})

test('each secret may be read from a file, which is watched', () => {
  const files: Record<string, string> = {
    '/token': 'a-token',
    '/redis': 'redis://localhost',
    '/keys': KEY,
    '/ops': 'an-ops-token-of-some-length',
  }
  const config = load(
    {
      AUTHN_API_TOKEN: undefined,
      AUTHN_API_TOKEN_FILE: ' /token ',
      REDIS_URL: undefined,
      REDIS_URL_FILE: '/redis',
      SECRET_KEYS: undefined,
      SECRET_KEYS_FILE: '/keys',
      OPS_TOKEN_FILE: '/ops',
    },
    { readFile: (path) => files[path] ?? '' },
  )
  expect(config.authn.apiTokens.current()).toEqual(['a-token'])
  expect(config.redis.url.current()).toBe('redis://localhost')
  expect(config.secretKeys.current()).toEqual([Buffer.from(KEY, 'base64')])
  expect(config.ops.token?.current()).toBe('an-ops-token-of-some-length')
  expect(config.secretFiles.map(({ variables, paths }) => [...variables, ...paths]).sort()).toEqual([
    ['AUTHN_API_TOKEN_FILE', '/token'],
    ['OPS_TOKEN_FILE', '/ops'],
    ['REDIS_URL_FILE', '/redis'],
    ['SECRET_KEYS_FILE', '/keys'],
  ])
})

test('files are read from the disk by default', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'gatehouse-config-'))
  const path = join(folder, 'token')
  await writeFile(path, 'a-token\n')
  const config = load({ AUTHN_API_TOKEN: undefined, AUTHN_API_TOKEN_FILE: path })
  await rm(folder, { recursive: true })
  expect(config.authn.apiTokens.current()).toEqual(['a-token'])
})

test('certificates are read from the named files', () => {
  const [one = '', two = ''] = rootCertificates.map((pem) => pem.trim())
  const config = load(
    { UPSTREAM_CA_FILE: '/upstream', REDIS_CA_FILE: '/redis', REDIS_URL: 'rediss://redis' },
    { readFile: (path) => (path === '/upstream' ? one : two) },
  )
  expect(config.egress.ca).toBe(`${one}\n`)
  expect(config.redis.ca).toBe(`${two}\n`)
})

test.each([
  ['production', true],
  ['development', false],
  ['Production', false],
])('NODE_ENV=%s: production is %s', (value, production) => {
  expect(load({ NODE_ENV: value }).production).toBe(production)
})

test('both ports may be 0, and the idle limit may equal the absolute limit', () => {
  expect(load({ PORT: '0', OPS_PORT: '0' })).toMatchObject({ listen: { port: 0 }, ops: { port: 0 } })
  expect(load({ SESSION_IDLE_MINUTES: '60', SESSION_ABSOLUTE_HOURS: '1' }).session.idleMinutes).toBe(60)
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
    problemsOf({ REDIS_URL: undefined, REDIS_CA_FILE: '/ca' }, { readFile: () => rootCertificates[0] ?? '' }),
  ).toEqual(required('REDIS_URL'))
})

test('a generated key is valid', () => {
  const key = generateKey()
  expect(load({ SECRET_KEYS: key }).secretKeys.current()).toEqual([Buffer.from(key, 'base64')])
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

test('a printed configuration shows no secret', () => {
  const config = load({
    ...PAM,
    HTTPS_PROXY: 'http://user:marked-proxy@proxy:3128',
    OPS_TOKEN: 'marked-ops-token',
  })
  for (const text of [JSON.stringify(config), inspect(config, { depth: 9, showHidden: true })]) {
    expect(text).toContain('[secret]')
    expect(text).not.toContain('marked')
    expect(text).not.toContain(KEY)
  }
})

test.each([
  ['AUTNH_API_TOKEN', 'AUTHN_API_TOKEN', { AUTHN_API_TOKEN: undefined }],
  ['SECRET_KEY', 'SECRET_KEYS', { SECRET_KEYS: undefined }],
  ['ALLOWED_ORIGIN', 'ALLOWED_ORIGINS', {}],
  ['GATEHOUSE_LOG_LEVEL', 'LOG_LEVEL', {}],
  ['log_level', 'LOG_LEVEL', {}],
  ['OPS_TOKENFILE', 'OPS_TOKEN_FILE', {}],
])('%s is reported as a misspelled %s', (name, meant, without) => {
  expect(problemsOf({ ...without, [name]: 'x' })).toContainEqual(
    `${name}: is unknown; did you mean ${meant}?`,
  )
})

test('a variable that is not a secret cannot be read from a file', () => {
  expect(problemsOf({ TRUST_PROXY_FILE: '/x' })).toEqual([
    'TRUST_PROXY_FILE: TRUST_PROXY is not a secret and cannot be read from a file',
  ])
})

test('variables that the platform sets are ignored', () => {
  const platform = {
    HTTP_PROXY: 'http://proxy:3128',
    https_proxy: 'http://proxy:3128',
    no_proxy: 'localhost',
    HOSTNAME: 'gatehouse-0',
    REDIS_PORT: 'tcp://10.0.0.1:6379',
    REDIS_SERVICE_HOST: '10.0.0.1',
    PAM_SERVICE_PORT: '80',
    GATEHOUSE_PORT: 'tcp://10.0.0.1:8080',
    GATEHOUSE_SERVICE_HOST: '10.0.0.1',
    SESSION_MANAGER: 'local',
    NODE_VERSION: '24.0.0',
    SECRET_KEY: 'another program reads this one', // SECRET_KEYS is set too
  }
  expect(problemsOf(platform)).toEqual([])
})
