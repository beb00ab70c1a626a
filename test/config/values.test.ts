import { rootCertificates } from 'node:tls'
import { expect, test } from '@jest/globals'
import { readEnvironment } from '../../src/config/environment.ts'
import type { VariableName } from '../../src/config/variables.ts'
import { KEY, PAM, problemsOf, validEnvironment } from './valid-environment.ts'

/**
 * Each variable with values that it accepts, and with those that it refuses for one reason. Files
 * contain their own path.
 */

type More = Record<string, string | undefined>
type Accepted = readonly (readonly [text: string, value: unknown])[]
/** The values that are refused for each reason, alone or with other variables. */
type Refused = Readonly<Record<string, readonly string[] | ReturnType<typeof withOthers>>>
const withOthers = (more: More, values: readonly string[]) => ({ more, values })

const same = (...texts: string[]): Accepted => texts.map((text) => [text, text])
const readFile = (path: string) => path
/** Before Node’s oldest authority ends. */
const FILES = { readFile, nowMs: Date.UTC(2020, 0, 1) }
const words = (text: string) => text.split(' ')
const numbers = (text: string): Accepted => words(text).map((one) => [one, Number(one)])
const NEEDS_PAM = /^(PAM_|APP_TOKENS$)/
const LOCAL_PART = { ...PAM, PAM_USER_NAME: 'login-local-part' }

const ORIGIN = 'must be an origin only: scheme, host and port, such as https://host.example.com'
const NO_ORIGINS = [
  'a.b',
  '/a',
  'https:a.b',
  'https:/a.b',
  'https://',
  'https:\\\\a.b',
  'https:// a.b',
  'https://a b',
  'https://*.a.b',
  ...words(
    'https://a.b:99999 1https://a.b xhttps://a.b ftp://a.b null https://a.b/x https://a.b/?x https://a.b#x',
  ),
  ...words(
    'https:///a/b https://u@a.b https://:p@a.b https://u@*.b https://a.b. https://a..b https://a~b https://* *',
  ),
]
const ORIGINS: Accepted = [
  ['HTTPS://Host.Example.COM:443/?#', 'https://host.example.com'],
  ...same('https://a_b.example:8443', 'https://[::1]:8443', 'https://10.0.0.1', 'https://host'),
  ...same('http://localhost:8080', 'http://127.0.0.1', 'http://[::1]:1'),
]
const LOOPBACK_ONLY = 'must be https; plain http only on loopback'
const NOT_LOOPBACK = ['http://a.b', 'http://127.0.0.1.b', 'http://a.127.0.0.b', 'http://128.0.0.1']
const BASE = 'must be a URL without user name, query and fragment, such as https://host.example.com'
const NO_BASES = words('https://a.b/?x https://a.b/x#y https://u@a.b/ https://:p@a.b https://*.b/ /x')
const PLACEHOLDER = 'is still the placeholder of the example'
const VISIBLE = 'must be visible ASCII characters without spaces'
const DOMAIN = 'must be a domain without @, such as example.com'
const NO_DOMAINS = ['@a.b', 'a b', 'a..b', '.a', 'a.', 'a@b', 'a.b/c']
const WHOLE = 'must be a whole number'
const SERVICE_LINK =
  'must be a port. Kubernetes sets it to a URL for a Service of this name: set enableServiceLinks: false in the pod, or rename the Service'
const option = (...names: string[]) =>
  `Invalid option: expected one of ${names.map((name) => `"${name}"`).join('|')}`
const HOST = 'must be an IP address or a host name'
const ON_OR_OFF = {
  'must be on or off; in YAML, write it in quotes': ['true', 'false', 'ON', '1'],
}
const CERTIFICATES = rootCertificates.map((pem) => pem.trim())
const APP_TOKEN = 'plainly-fake-token-of-a-backend1'
const DOMAINS_ALONE = 'must be set if PAM_USER_NAME is login-local-part'
const NO_APP_TOKEN =
  'must be a name of at most 32 lower-case letters, digits, _ and -, a letter first, then a colon and a token of 32 visible ASCII characters or more'
const uuid = '0f3b0c6e-7b8e-4b0a-9e53-0d3b8f0a1c2d'
// the second has + and /
const [ONE, TWO] = [Buffer.alloc(32, 'ab'), Buffer.from(`${'fb'.repeat(31)}ff`, 'hex')]

const ACCEPTED: Partial<Record<VariableName, Accepted>> = {
  PUBLIC_URL: [...ORIGINS, ...same('http://portal.localhost:8080', 'http://a.b.localhost')],
  AUTHN_BASE_URL: [
    ...ORIGINS,
    ...same('http://127.1.2.3', 'https://your-org.example.net.b', 'https://x.your-org.example.net'),
  ],
  AUTHN_API_TOKEN: same('!~', 'SSWSabc'),
  SECRET_KEYS: [
    ...[ONE, TWO].flatMap((key): Accepted => {
      const text = key.toString('base64')
      return [text, text.replace('=', ''), key.toString('base64url')].map((each) => [each, [key]])
    }),
    [`${ONE.toString('base64')},${ONE.toString('base64')}`, [ONE]],
    [` ${ONE.toString('base64')} ,\n${TWO.toString('base64url')}\r\n,`, [ONE, TWO]],
  ],
  PORT: numbers('0 8081 65535 00080'),
  HOST: same('0.0.0.0', '::1', '::', 'localhost', 'a', 'A-b.c1', 'a'.repeat(63), 'a.b.'),
  OPS_TOKENS: [
    [
      `helpdesk:${APP_TOKEN},helpdesk:${APP_TOKEN}x`,
      ['', 'x'].map((end) => ({ name: 'helpdesk', token: APP_TOKEN + end })),
    ],
  ],
  OPS_TOKEN: same('x'.repeat(16)),
  ALLOWED_ORIGINS: [
    ['https://app.example.com:8443', ['https://app.example.com:8443']],
    ['https://example.com, HTTPS://Example.com:443/,,', ['https://example.com']],
  ],
  ALLOWED_HEADERS: [['TraceParent, baggage,x_1', ['traceparent', 'baggage', 'x_1']]],
  SIGN_IN_URL: [
    ['https://portal.example.com', 'https://portal.example.com/'],
    ...same('https://portal.example.com/x?y=1#/login', 'https://portal.example.com/?x#//..'),
  ],
  RETURN_TO: [
    ['https://a.b/home/', [{ origin: 'https://a.b', pathPrefix: '/home' }]],
    ['http://a.localhost/', [{ origin: 'http://a.localhost', pathPrefix: '/' }]],
  ],
  TRUST_PROXY: [
    ['192.0.2.1', ['192.0.2.1/32']],
    ['10.0.0.0/8, 2001:DB8::1', ['10.0.0.0/8', '2001:DB8::1/128']],
    ['2001:db8::/128', ['2001:db8::/128']],
    ['10.0.0.128/25,2001:db8:0:1::/64', ['10.0.0.128/25', '2001:db8:0:1::/64']],
    ['10.0.0.0/10,172.16.0.0/12', ['10.0.0.0/10', '172.16.0.0/12']],
  ],
  AUTHN_FORWARD_ORIGIN: [
    ['on', true],
    ['off', false],
  ],
  SSO_REDIRECTS: [
    ['https://A.b:443', [{ origin: 'https://a.b', pathPrefix: '/' }]],
    [
      'https://a.b/home/,http://127.0.0.1:80/...',
      [
        { origin: 'https://a.b', pathPrefix: '/home' },
        { origin: 'http://127.0.0.1', pathPrefix: '/...' },
      ],
    ],
    ['https://a.b/%C3%A4/..c/d..', [{ origin: 'https://a.b', pathPrefix: '/%C3%A4/..c/d..' }]],
  ],
  RECOVERY: same('on', 'known-devices', 'off'),
  LOGIN_DOMAINS: [
    ['Example.COM,example.com', ['example.com']],
    ['corp, a-b_c.x1,münchen.de,a', ['corp', 'a-b_c.x1', 'münchen.de', 'a']],
  ],
  AUTHN_LOCKOUT_ATTEMPTS: [
    ['2', 2],
    ['100', 100],
  ],
  HIDDEN_FACTORS: [['question,token:software:totp,question', ['question', 'token:software:totp']]],
  SESSION_IDLE_MINUTES: numbers('1 030 720'),
  SESSION_ABSOLUTE_HOURS: numbers('1 168'),
  SESSION_SAME_SITE: same('lax', 'strict'),
  SIGN_OUT_CLEARS: [
    ['cache', ['cache']],
    ['storage, cache', ['storage', 'cache']],
  ],
  EVENT_HOOK_SECRET: [
    [`${'x'.repeat(16)}`, ['x'.repeat(16)]],
    [
      `${'x'.repeat(16)}, ${'y'.repeat(17)}\n${'z'.repeat(16)}`,
      ['x'.repeat(16), 'y'.repeat(17), 'z'.repeat(16)],
    ],
  ],
  SESSION_RECHECK_MINUTES: [['off', undefined], ...numbers('1 1440')],
  PAM_BASE_URL: [
    ['HTTPS://Gateway.Example.com:443/Pam/', 'https://gateway.example.com/Pam'],
    ['https://a.b/', 'https://a.b'],
    ...same('https://a.b/pam/v9', 'http://127.0.0.1:8082/pam', 'https://a.b/%C3%A4'),
  ],
  PAM_TEAM: same('acme', '0.a_b~c-d', 'a'.repeat(255)),
  PAM_KEY_EXPIRES_AT: [
    ['2027-01-31T02:00:00+02:00', Date.UTC(2027, 0, 31)],
    ['2027-01-30T18:30:00-05:30', Date.UTC(2027, 0, 31)],
    ['2027-12-31T23:59:59.25Z', Date.UTC(2027, 11, 31, 23, 59, 59, 250)],
    ['2028-02-29T10:20:30Z', Date.UTC(2028, 1, 29, 10, 20, 30)],
  ],
  PAM_TOKEN_PATH: same(
    '/v1/teams/{team_name}/service_token',
    '/{team_name}/{team_name}',
    "/a.b_~!$&'()*+,;=:@-/%20",
    '/a/',
  ),
  PAM_USER_DOMAINS: [
    ['Corp.Example', [{ domain: 'corp.example', prefix: '' }]],
    [
      ' a.b=x- , c.d ,',
      [
        { domain: 'a.b', prefix: 'x-' },
        { domain: 'c.d', prefix: '' },
      ],
    ],
    ['a.b=Az09._~@+-', [{ domain: 'a.b', prefix: 'Az09._~@+-' }]],
    [`a.b=${'x'.repeat(64)}`, [{ domain: 'a.b', prefix: 'x'.repeat(64) }]],
  ],
  APP_TOKENS: [
    [`portal:${APP_TOKEN}`, [{ name: 'portal', token: APP_TOKEN }]],
    [
      ` a_b-1:${APP_TOKEN}:x= ,\n${'z'.repeat(32)}:${'~'.repeat(32)}\r\n,`,
      [
        { name: 'a_b-1', token: `${APP_TOKEN}:x=` },
        { name: 'z'.repeat(32), token: '~'.repeat(32) },
      ],
    ],
    [
      `portal:${APP_TOKEN}1,portal:${APP_TOKEN}2`,
      ['1', '2'].map((end) => ({ name: 'portal', token: APP_TOKEN + end })),
    ],
  ],
  PAM_DIRECTORY: [
    ['none', { kind: 'none' }],
    ['all', { kind: 'all' }],
    [
      ` group:${uuid.toUpperCase()} ,, role:a, role:a0_b,GROUP:${uuid},role:a `,
      { kind: 'rules', roles: ['a', 'a0_b'], groups: [uuid] },
    ],
    [`role:a${'b'.repeat(63)}`, { kind: 'rules', roles: [`a${'b'.repeat(63)}`], groups: [] }],
  ],
  UPSTREAM_CA_FILE: [
    [
      `-----BEGIN PRIVATE KEY-----\nplainly-fake\n-----END PRIVATE KEY-----\n${CERTIFICATES[0]}\n# second\n${CERTIFICATES[1]}\n`,
      `${CERTIFICATES[0]}\n${CERTIFICATES[1]}\n`,
    ],
  ],
  HTTPS_PROXY: [
    ['http://u:p*@proxy:3128', 'http://u:p*@proxy:3128/'],
    ['http://u:100%25@proxy:3128', 'http://u:100%25@proxy:3128/'],
    ['https://proxy', 'https://proxy/'],
  ],
  NO_PROXY: [['.SVC,10.0.0.0/8, host:80', ['.svc', '10.0.0.0/8', 'host:80']]],
  REDIS_KEY_PREFIX: same('gatehouse:', ':', 'a_b.c:D-9:', `${'a'.repeat(63)}:`),
  OTEL_EXPORTER_OTLP_ENDPOINT: [
    ['http://Collector.internal:4318/', 'http://collector.internal:4318'],
    ['https://otlp.example/a/b/', 'https://otlp.example/a/b'],
  ],
  OTEL_EXPORTER_OTLP_HEADERS: [
    ['authorization=Bearer%20a=b, x-team=c ', { authorization: 'Bearer a=b', 'x-team': 'c' }],
  ],
  OTEL_TRACES_SAMPLER: same('always_off', 'parentbased_traceidratio'),
  OTEL_TRACES_SAMPLER_ARG: numbers('0 0.25 1.0'),
  LOG_LEVEL: same('error', 'warn', 'info', 'debug'),
}

test.each(Object.entries(ACCEPTED))('%s is accepted and normalized', (name, accepted) => {
  for (const [text, value] of accepted) {
    const more: More = NEEDS_PAM.test(name) ? (name === 'PAM_USER_DOMAINS' ? LOCAL_PART : PAM) : {}
    const { values, problems } = readEnvironment(validEnvironment({ ...more, [name]: text }), readFile)
    const read = values[name as VariableName]
    const plain = read instanceof Object && 'toJSON' in read && 'value' in read ? read.value : read
    expect([text, problems, plain]).toEqual([text, [], value])
  }
})

const REFUSED: Partial<Record<VariableName, Refused>> = {
  PUBLIC_URL: {
    [ORIGIN]: NO_ORIGINS,
    [LOOPBACK_ONLY]: [...NOT_LOOPBACK, 'http://localhost.b'],
    'must not be AUTHN_BASE_URL: it is the address of the broker, not of the org': words(
      'https://org.example.net https://ORG.example.net:443/',
    ),
    'must not be one of AUTHN_LINK_ORIGINS: it is the address of the broker, not of the org': withOthers(
      { AUTHN_LINK_ORIGINS: 'https://id.example.com,https://login.example.com' },
      ['https://login.example.com'],
    ),
  },
  AUTHN_BASE_URL: {
    [ORIGIN]: NO_ORIGINS,
    // the broker itself would look the name up
    [LOOPBACK_ONLY]: [...NOT_LOOPBACK, 'http://okta.localhost'],
    [PLACEHOLDER]: ['https://your-org.example.net', 'https://your-team.pam.example.net'],
  },
  AUTHN_API_TOKEN: {
    [VISIBLE]: ['SSWS abc', 'one\ntwo', 'a b', 'ä', 'a\u007f'],
    [PLACEHOLDER]: ['replace-with-your-api-token', 'a\nreplace-with-b'],
  },
  REDIS_URL: {
    'scheme: must be one of redis, rediss,': ['http://redis:6379', 'memory://x'],
    'host: is missing': ['redis://'],
    'query: name is missing': ['redis+sentinel://s1:26379,s2:26379/0'],
    'password: must be percent-encoded': ['redis://:p@ss@redis:6379/0'],
    [PLACEHOLDER]: ['redis://:replace-with-your-password@redis.example.internal:6379/0'],
    'must not be memory: in production: it works for one process only': withOthers(
      { NODE_ENV: 'production' },
      ['memory:'],
    ),
  },
  SECRET_KEYS: {
    'entry 1 must be a key of exactly 32 bytes in base64': [
      'c2hvcnQ=',
      `${KEY}AA`,
      `x${KEY}`,
      `!${KEY}`,
      `${KEY}=`,
      KEY.slice(1),
      'no base64 !',
      `${TWO.toString('base64').slice(0, 42)}-`,
      `${'/_'.repeat(21)}A`,
    ],
    'entry 2 must be a key of exactly 32 bytes in base64': [`${KEY},short`],
    'entry 1 must be a random key, not one repeated byte': [Buffer.alloc(32).toString('base64')],
    'has no entry': [',', ',\n,'],
  },
  PORT: {
    [WHOLE]: ['-1', '1.5', 'http', '10.0.0.1', '0x50', '9.09e+03'],
    [SERVICE_LINK]: ['tcp://10.0.0.1:9090', 'udp://10.0.0.1:53', 'TCP://[fd00::1]:9090'],
    'Too big: expected number to be <=65535': ['65536', '080800'],
  },
  OPS_PORT: {
    [SERVICE_LINK]: ['tcp://10.0.0.1:9090'],
    'must be a different port from PORT': ['8080', '08080'],
  },
  HOST: { [HOST]: ['-a', 'a-', '.a', 'a b', 'http://a', 'a:80', 'a_b', 'a'.repeat(64)] },
  OPS_HOST: { [HOST]: ['http://0.0.0.0'] },
  OPS_TOKENS: {
    [`entry 1 ${NO_APP_TOKEN}`]: ['helpdesk', `Help:${APP_TOKEN}`, 'helpdesk:short'],
    [PLACEHOLDER]: ['helpdesk:replace-with-a-long-random-token'],
  },
  OPS_TOKEN: {
    'is one of OPS_TOKENS too: its calls would have two names': withOthers(
      { OPS_TOKENS: `helpdesk:${APP_TOKEN}` },
      [APP_TOKEN],
    ),
    'must have 16 characters or more': ['x'.repeat(15)],
    [VISIBLE]: ['long enough but with spaces'],
    [PLACEHOLDER]: ['replace-with-a-long-random-token'],
  },
  ALLOWED_ORIGINS: {
    [`entry 1 ${ORIGIN}`]: NO_ORIGINS,
    'has no entry': [',', ' , '],
    'entry 1 is not on the same site as PUBLIC_URL (scheme and public suffix list): browsers would not send the cookies':
      ['https://app.example.org', 'https://10.0.0.2', 'https://com'],
    'entry 2 is not on the same site as PUBLIC_URL': ['https://app.example.com,https://app.example.com.b'],
  },
  ALLOWED_HEADERS: {
    'entry 2 must be the name of a header, such as traceparent, and not Authorization': [
      'baggage,*',
      'baggage,Authorization',
      'baggage,x y',
      'baggage,x:1',
    ],
  },
  SIGN_IN_URL: {
    'must be an absolute URL without user name': [
      ...words('/login https://u:p@portal.example.com/ ftp://portal.example.com https://*.example.com/'),
    ],
    'must be on PUBLIC_URL or on one of ALLOWED_ORIGINS': words('https://a.b/ http://portal.example.com/'),
    "must have none of stateToken,returnTo,prompt,amr,maxAuthAge,handover,reason in its query: they are the broker's":
      [
        'https://portal.example.com/?x=1&stateToken=',
        ...['returnTo', 'prompt', 'amr', 'maxAuthAge', 'handover', 'reason'].map(
          (name) => `https://portal.example.com/?${name}=x`,
        ),
      ],
    'must not be /signin of PUBLIC_URL: the broker serves that path': [
      'https://portal.example.com/signin?x#y',
    ],
  },
  RETURN_TO: {
    [`entry 1 ${BASE}`]: NO_BASES,
    [`entry 1 ${LOOPBACK_ONLY}`]: NOT_LOOPBACK,
  },
  TRUST_PROXY: {
    'entry 1 must be the address or CIDR of a proxy, such as 10.0.0.10': [
      '*',
      'true',
      'TRUE',
      'yes',
      'all',
      '1',
      '42',
      'loopback',
      '10.0.0',
      '1a',
      '/8',
      'fe80::1%eth0',
      ...words(
        '10.0.0.0/33 2001:db8::/129 10.0.0.0/8/8 10.0.0.0/ 10.0.0.0/x 10.0.0.0/-1 10.0.0.0/0008 10.0.0.0/000',
      ),
    ],
    'entry 1 must be written as IPv4, not as an IPv4-mapped address': ['::ffff:10.0.0.1', '::ffff:0:0/96'],
    'entry 1 must not be larger than /8 (IPv6: /7), or callers could choose their own addresses': words(
      '0.0.0.0/0 ::/0 10.0.0.0/0 0.0.0.0/1 10.0.0.0/7 ::/1 2000::/3 2000::/6',
    ),
    'entry 2 has bits of its address beyond the prefix: write one address, or the first address of the network':
      words('10.0.0.10/24 10.0.0.10/8 172.16.0.1/12 10.0.0.128/24 2001:db8::1/64 fd00:0:0:1::/48').map(
        (cidr) => `10.0.0.10/32,${cidr}`,
      ),
  },
  AUTHN_LINK_ORIGINS: {
    [`entry 1 ${LOOPBACK_ONLY}`]: ['http://id.example.com'],
    [`entry 2 ${ORIGIN}`]: ['https://a.b,https://a.b/x'],
  },
  AUTHN_FORWARD_ORIGIN: ON_OR_OFF,
  STEP_UP: ON_OR_OFF,
  SSO_REDIRECTS: {
    [`entry 1 ${BASE}`]: NO_BASES,
    [`entry 1 ${LOOPBACK_ONLY}`]: NOT_LOOPBACK,
  },
  OKTA_SIGN_OUT: ON_OR_OFF,
  RECOVERY: { [option('on', 'known-devices', 'off')]: ['On', 'yes', 'known'] },
  LOGIN_DOMAINS: { [`entry 1 ${DOMAIN}`]: NO_DOMAINS },
  AUTHN_LOCKOUT_ATTEMPTS: {
    [WHOLE]: ['ten', '-1', '1.5'],
    'Too small: expected number to be >=2': ['1', '0'],
    'Too big: expected number to be <=100': ['101'],
  },
  HIDDEN_FACTORS: {
    'entry 2 Invalid option: expected one of "password"|"question"|"sms"|': ['sms,Push', 'sms,questions'],
  },
  SESSION_IDLE_MINUTES: {
    [WHOLE]: ['-1', '1.5', '1e2', '0x10', '30m', '1234567890'],
    'Too small: expected number to be >=1': ['0'],
    'Too big: expected number to be <=1440': ['1441'],
    'must not be more than SESSION_ABSOLUTE_HOURS': withOthers({ SESSION_ABSOLUTE_HOURS: '1' }, ['61']),
  },
  SESSION_ABSOLUTE_HOURS: { 'Too big: expected number to be <=168': ['169'] },
  DEVICE_BOUND_SESSIONS: {
    ...ON_OR_OFF,
    'requires an https PUBLIC_URL: browsers bind no session over http': withOthers(
      { PUBLIC_URL: 'http://localhost:8080' },
      ['on'],
    ),
  },
  SESSION_SAME_SITE: { [option('lax', 'strict')]: ['none', 'Lax', 'loose'] },
  SIGN_OUT_CLEARS: {
    'entry 1 Invalid option: expected one of "cache"|"storage"': ['cookies', '*', 'Storage'],
  },
  EVENT_HOOK_SECRET: {
    'entry 2 must have 16 characters or more': [`${'x'.repeat(16)},${'y'.repeat(15)}`],
    [`entry 1 ${VISIBLE}`]: ['long enough but with spaces'],
    'has no entry': [','],
    [PLACEHOLDER]: ['replace-with-a-long-random-secret'],
  },
  SESSION_RECHECK_MINUTES: {
    'must be off or a whole number': ['-1', 'on', 'Off', '1.5', '10m'],
    'Too small: expected number to be >=1': ['0'],
    'Too big: expected number to be <=1440': ['1441'],
  },
  PAM_BASE_URL: {
    [BASE]: NO_BASES,
    [LOOPBACK_ONLY]: NOT_LOOPBACK,
    [PLACEHOLDER]: ['https://your-org.example.net/pam'],
    'must not be PUBLIC_URL: it is the address of the broker, not of PAM': words(
      'https://portal.example.com https://PORTAL.example.com:443/',
    ),
  },
  PAM_TEAM: {
    'must be a team name: letters, digits, and . _ ~ - after the first one': [
      ...words('. .. -a _a a/b ä a%20 ../other'),
      'a b',
      'a'.repeat(256),
    ],
  },
  PAM_KEY_ID: { [VISIBLE]: ['two words'] },
  PAM_KEY_SECRET: {
    [VISIBLE]: ['two words'],
    [PLACEHOLDER]: ['replace-with-your-key-secret'],
  },
  PAM_KEY_EXPIRES_AT: {
    'must be an RFC 3339 time, such as 2027-01-31T00:00:00Z': [
      'soon',
      '2027-01-31',
      '2027-01-31T00:00:00',
      '2027-02-29T00:00:00Z',
      '2027-1-31T00:00:00Z',
      '2027-00-10T00:00:00Z',
      '2027-13-10T00:00:00Z',
      '2027-01-00T00:00:00Z',
      '2027-04-31T00:00:00Z',
      '2027-01-31T24:00:00Z',
      '2027-01-31T00:60:00Z',
      '2027-01-31T00:00:60Z',
      '2027-01-31T00:00:00+24:00',
      '2027-01-31T00:00:00+02',
      '2027-01-31T00:00:00+02:60',
      '27-01-31T00:00:00Z',
      '2027-01-31X00:00:00Z',
      'x2027-01-31T00:00:00Z',
      '2027-01-31T00:00:00Zx',
    ],
  },
  PAM_TOKEN_PATH: {
    'must be an absolute path, such as /v1/teams/{team_name}/service_token': [
      'v1/token',
      '/',
      '/a b',
      '/ä',
      '/a%2',
      '/a%zz',
      '/a|b',
      'x/a',
      '/v1/token?x=1',
      '/v1/token#x',
      '//evil.example/token',
      '/a\\b',
      '/v1/{team}/token',
      '/{',
      '/}',
      '/{team_name}{',
    ],
  },
  PAM_USER_NAME: { [option('login', 'login-local-part')]: ['email'] },
  PAM_USER_DOMAINS: {
    'two domains have the same prefix: their users would have the same PAM user': withOthers(LOCAL_PART, [
      'a.b,c.d',
      'a.b=,c.d=',
      'a.b=x-,c.d=X-',
    ]),
    'has the same domain twice': withOthers(LOCAL_PART, ['a.b=,A.B=x-']),
    'entry 1 a prefix must be of letters, digits and . _ ~ @ + -': withOthers(LOCAL_PART, [
      ...words('a.b=a/b a.b==x a.b=ä'),
      'a.b=a b',
      `a.b=${'x'.repeat(65)}`,
    ]),
    [`entry 1 ${DOMAIN}`]: withOthers(LOCAL_PART, ['a b', '=x-']),
    [DOMAINS_ALONE]: withOthers(LOCAL_PART, ['']),
    [`${DOMAINS_ALONE}, and only then`]: ['example.com'],
  },
  APP_TOKENS: {
    [`entry 2 ${NO_APP_TOKEN}`]: [
      ...['', 'x'.repeat(31), `${'x'.repeat(20)} ${'x'.repeat(20)}`, 'ä'.repeat(32)].map(
        (token) => `portal:${APP_TOKEN},reports:${token}`,
      ),
      `portal:${APP_TOKEN},reports`,
    ],
    [`entry 1 ${NO_APP_TOKEN}`]: ['', '1a', '-a', 'Portal', 'a b', 'a.b', 'ä', 'a'.repeat(33)].map(
      (name) => `${name}:${APP_TOKEN}`,
    ),
    'has the same token under two names': [`portal:${APP_TOKEN},x:${APP_TOKEN}x,reports:${APP_TOKEN}`],
    [PLACEHOLDER]: [`portal:replace-with-${APP_TOKEN}`],
    'has no entry': [',', ',\n,'],
  },
  PAM_DIRECTORY: {
    'must be none, all, or a list of role:<role> and group:<uuid>': [
      ...words(', everyone role: role:ä role:0a role:a-b xrole:a all,role:a None'),
      'role:a b',
      `role:a${'b'.repeat(64)}`,
      'group:',
      'group:not-a-uuid',
      `xgroup:${uuid}`,
      `group:${uuid}0`,
    ],
  },
  REDIS_CA_FILE: {
    'requires a REDIS_URL over TLS, such as rediss://': withOthers({ REDIS_URL: 'redis+cluster://c1:6379' }, [
      CERTIFICATES[0] ?? '',
    ]),
  },
  REDIS_KEY_PREFIX: {
    'must be up to 64 letters, digits and _ . : -, with a colon at the end': [
      ...words('gatehouse gate* a*: a?: [a]: {a}: ä: a/:'),
      'a b:',
      'a:\nb:',
      `${'a'.repeat(64)}:`,
    ],
  },
  UPSTREAM_CA_FILE: {
    'has no PEM certificate, or one that cannot be read': [
      'text',
      CERTIFICATES[0]?.replace('BEGIN', 'BEGINNING') ?? '',
      `${CERTIFICATES[0]}\n${CERTIFICATES[1]?.replace(/\n[^-]{20}/, '\n')}`,
    ],
  },
  HTTPS_PROXY: {
    'must be an http or https URL without path': [
      ...words('proxy:3128 socks5://proxy xhttp://proxy http://proxy/x http://proxy/?x'),
      ...words('http://proxy/#x http://*.b'),
    ],
    'must have a percent-encoded user name and password: write % as %25': words(
      'http://user:100%@proxy:3128 http://u%:p@proxy http://u:%zz@proxy http://u:%ff@proxy',
    ),
  },
  NO_PROXY: { [`entry 2 ${VISIBLE}`]: ['a,b c', 'a,ä'] },
  CONFIG_FILE: { 'is not JSON': ['{'] },
  OTEL_EXPORTER_OTLP_ENDPOINT: {
    [BASE]: [...NO_BASES, 'collector:4318', 'grpc://a.b'],
  },
  OTEL_EXPORTER_OTLP_HEADERS: {
    'entry 1 must be a header as name=value, percent-encoded': words(
      'a =b a= a=%0d%0ac:d a=%c3%a4 a=%7f a=%zz a=ä',
    ),
    'entry 2 must be a header as name=value, percent-encoded': ['a=b,c', 'a=b,c d=e'],
    [PLACEHOLDER]: ['authorization=Bearer%20replace-with-your-token'],
  },
  OTEL_TRACES_SAMPLER: {
    'Invalid option: expected one of "always_on"|"always_off"|"traceidratio"|': ['ALWAYS_ON'],
  },
  OTEL_TRACES_SAMPLER_ARG: {
    'Too big: expected number to be <=1': ['1.1'],
    'Too small: expected number to be >=0': ['-0.1'],
    'Invalid input: expected number, received NaN': ['10%', 'x'],
  },
  LOG_LEVEL: { [option('error', 'warn', 'info', 'debug')]: ['trace', 'INFO'] },
  GIT_REVISION: { [VISIBLE]: ['a b'] },
}

const CASES = Object.entries(REFUSED).flatMap(([name, refusals]) =>
  Object.entries(refusals).map(([reason, refused]) => {
    const { more, values } = 'more' in refused ? refused : { more: {}, values: refused }
    const others: More = { ...(NEEDS_PAM.test(name) ? PAM : {}), ...more }
    return { name, reason, values, others }
  }),
)

// shows: V2.2.1, V11.2.3, V12.2.1
test.each(CASES)('$name: $reason', ({ name, reason, values, others }) => {
  for (const value of values) {
    const problems = problemsOf({ ...others, [name]: value }, FILES)
    expect([value, problems]).toEqual([value, [expect.stringContaining(`${name}: ${reason}`)]])
  }
})

test.each([
  ['https://b.github.io', 'https://a.github.io'],
  ['https://b.co.uk', 'https://a.co.uk'],
  ['https://10.0.0.2', 'https://10.0.0.1'],
  ['http://127.0.0.1:3000', 'http://localhost:8080'],
  ['http://app.localhost:3000', 'http://portal.localhost:8080'],
  ['http://app.localhost:3000', 'http://localhost:8080'],
])('ALLOWED_ORIGINS: %s is not on the same site as %s', (ALLOWED_ORIGINS, PUBLIC_URL) => {
  expect(problemsOf({ ALLOWED_ORIGINS, PUBLIC_URL })).toEqual([
    expect.stringContaining('ALLOWED_ORIGINS: entry 1 is not on the same site'),
  ])
})

test('ALLOWED_ORIGINS: for development, a host below that of PUBLIC_URL is on its site', () => {
  const PUBLIC_URL = 'http://portal.localhost:8080'
  expect(problemsOf({ ALLOWED_ORIGINS: 'http://app.portal.localhost:3000', PUBLIC_URL })).toEqual([])
})

test('every problem is reported at once, also those between variables', () => {
  const problems = problemsOf({
    PUBLIC_URL: '',
    PORT: '9090',
    AUTHN_API_TOKEN: '',
    LOG_LEVEL: 'loud',
    PAM_TEAM: 'a b',
    TRUST_PROX: 'x',
    SESSION_IDLE_MINUTES: '61',
    SESSION_ABSOLUTE_HOURS: '1',
    HIDDEN_FACTORS: 'x,sms,y',
  })
  expect(problems.map((problem) => problem.split(' ', 3).join(' ')).sort()).toEqual([
    'AUTHN_API_TOKEN: is required',
    'HIDDEN_FACTORS: entry 1',
    'HIDDEN_FACTORS: entry 3',
    'LOG_LEVEL: Invalid option:',
    'OPS_PORT: must be',
    'PAM_TEAM: is set,',
    'PAM_TEAM: must be',
    'PUBLIC_URL: is required',
    'SESSION_IDLE_MINUTES: must not',
    'TRUST_PROX: is unknown;',
  ])
})

test('no problem contains the invalid value', () => {
  const mark = 'MARKEDvalue'
  /** Each variable once with the same others. */
  const situations = new Map(
    CASES.map(({ name, others }) => [JSON.stringify([name, others]), { name, others }]),
  )
  for (const { name, others } of situations.values()) {
    for (const value of [
      mark,
      `https://${mark}@${mark}`,
      `${mark}://u:${mark}@h`,
      `https://a.b/%${mark}`,
      `\u0000${mark}`,
      `%${mark}%,\n${mark}`,
      `a.b=${mark}/`,
      `role:${mark}`,
      `10.0.0.0/${mark}`,
    ]) {
      const text = JSON.stringify(problemsOf({ ...others, [name]: value }, FILES))
      expect(text.toLowerCase()).not.toContain(mark.toLowerCase())
    }
  }
})
