import { rootCertificates } from 'node:tls'
import { expect, test } from '@jest/globals'
import { KEY, PAM, problemsOf } from './valid-environment.ts'

type Case = [name: string, value: string, reason: string | RegExp, more?: Record<string, string>]

const RULES = 'must be none, all, or a list'
const LOCAL_PART = { ...PAM, PAM_USER_NAME: 'login-local-part' }
const ZERO_KEY = Buffer.alloc(32).toString('base64')

const CASES: Case[] = [
  ['PUBLIC_URL', 'portal.example.com', 'must be an absolute URL'],
  ['PUBLIC_URL', 'https:portal.example.com', 'must be an absolute URL'],
  ['PUBLIC_URL', 'https://portal example.com', 'must be an absolute URL'],
  ['PUBLIC_URL', 'https:\\\\portal.example.com', 'must be an absolute URL'],
  ['PUBLIC_URL', 'https://portal.example.com:99999', 'must be an absolute URL'],
  ['PUBLIC_URL', 'ftp://portal.example.com', 'must begin with https://'],
  ['PUBLIC_URL', 'http://portal.example.com', 'plain http only for localhost'],
  ['PUBLIC_URL', 'http://localhost.example.com', 'plain http only for localhost'],
  ['PUBLIC_URL', 'http://127.0.0.2', 'plain http only for localhost'],
  ['PUBLIC_URL', 'https://portal.example.com/app', 'must be an origin only'],
  ['PUBLIC_URL', 'https://portal.example.com/?a=b', 'must be an origin only'],
  ['PUBLIC_URL', 'https://portal.example.com?', 'must be an origin only'],
  ['PUBLIC_URL', 'https://portal.example.com#a', 'must be an origin only'],
  ['PUBLIC_URL', 'https://user@portal.example.com', 'no user name'],
  ['PUBLIC_URL', 'https://@portal.example.com', 'no user name'],
  ['PUBLIC_URL', 'https://portal.example.com.', 'plain host name'],
  ['PUBLIC_URL', 'https://*.example.com', 'wildcard'],

  ['PORT', '65536', 'must be a port from 0 to 65535'],
  ['PORT', '80.5', 'must be a port'],
  ['OPS_PORT', 'tcp://10.0.0.1:9090', 'enableServiceLinks: false'],
  ['OPS_PORT', '8080', 'must be a different port from PORT'],
  ['HOST', 'not a host', 'must be an IP address or a host name'],
  ['OPS_HOST', 'http://0.0.0.0', 'must be an IP address or a host name'],
  ['OPS_TOKEN', 'too-short', '16 characters or more'],
  ['OPS_TOKEN', 'long enough but with spaces', 'visible ASCII'],

  ['ALLOWED_ORIGINS', '*', 'wildcard'],
  ['ALLOWED_ORIGINS', 'null', 'must be an absolute URL'],
  ['ALLOWED_ORIGINS', 'https://app.example.com/path', 'must be an origin only'],
  ['ALLOWED_ORIGINS', 'https://app.example.org', /not on the same site.*browsers would not send the cookies/],
  ['ALLOWED_ORIGINS', 'http://app.example.com', /another scheme.*browsers would not send the cookies/],
  ['ALLOWED_ORIGINS', 'https://app.example.com,https://app.example.org', 'entry 2 is not on the same site'],
  ['ALLOWED_ORIGINS', 'https://b.github.io', 'not on the same site', { PUBLIC_URL: 'https://a.github.io' }],
  ['ALLOWED_ORIGINS', 'https://b.co.uk', 'not on the same site', { PUBLIC_URL: 'https://a.co.uk' }],
  ['ALLOWED_ORIGINS', 'https://10.0.0.2', 'not on the same site', { PUBLIC_URL: 'https://10.0.0.1' }],
  [
    'ALLOWED_ORIGINS',
    'http://127.0.0.1:3000',
    'not on the same site',
    { PUBLIC_URL: 'http://localhost:8080' },
  ],
  ['ALLOWED_ORIGINS', 'https://localhost:3000', 'another scheme', { PUBLIC_URL: 'http://localhost:8080' }],
  ['ALLOWED_ORIGINS', ',', 'has no entry'],

  ['SIGN_IN_URL', '/login', 'must be an absolute URL'],
  ['SIGN_IN_URL', 'https://login.example.org/', 'must be on PUBLIC_URL or on one of ALLOWED_ORIGINS'],
  ['SIGN_IN_URL', 'http://portal.example.com/', 'must be on PUBLIC_URL'],
  ['SIGN_IN_URL', 'https://portal.example.com/?stateToken=a', 'stateToken'],
  ['SIGN_IN_URL', 'https://u:p@portal.example.com/', 'no user name'],

  ['TRUST_PROXY', 'true', 'any client can forge its address'],
  ['TRUST_PROXY', '1', 'must not be a number of hops'],
  ['TRUST_PROXY', '10.0.0.0/8,::/0', 'entry 2 must not cover every address'],
  ['TRUST_PROXY', '192.0.0.0/3,10.0.0.1,128.0.0.0/2,64.0.0.0/2,0.0.0.0/2', 'must not cover every address'],
  ['TRUST_PROXY', '::/1,8000::/1', 'even in several entries'],
  ['TRUST_PROXY', '10.0.0.0/8,2000::/4,3000::/4', 'must not cover every address'],
  ['TRUST_PROXY', 'fe80::1%eth0', 'must be an IP address or a CIDR'],
  ['TRUST_PROXY', '::ffff:0:0/96', 'must be written as IPv4'],

  ['AUTHN_BASE_URL', 'http://org.example.net', 'plain http only on loopback'],
  ['AUTHN_BASE_URL', 'https://org.example.net/api/v1', 'must be an origin only'],
  ['AUTHN_BASE_URL', 'https://portal.example.com', 'must not be PUBLIC_URL'],
  ['AUTHN_BASE_URL', 'https://your-org.example.net', 'still the placeholder'],
  ['AUTHN_API_TOKEN', 'replace-with-your-api-token', 'is still the placeholder'],
  ['AUTHN_API_TOKEN', 'new-token,replace-with-your-api-token', 'is still the placeholder'],
  ['OPS_TOKEN', 'replace-with-a-long-random-token', 'is still the placeholder'],
  ['AUTHN_API_TOKEN', 'SSWS abc', 'without SSWS before it'],
  ['AUTHN_API_TOKEN', 'with space', 'visible ASCII'],
  ['AUTHN_API_TOKEN', 'a,b,c', 'the current one and a standby'],
  ['AUTHN_LINK_ORIGINS', 'https://id.example.com/x', 'must be an origin only'],
  ['AUTHN_LINK_ORIGINS', 'http://id.example.com', 'plain http only on loopback'],
  ['AUTHN_FORWARD_ORIGIN', 'true', 'must be on or off'],
  ['STEP_UP', 'true', 'must be on or off'],
  ['SSO_REDIRECTS', 'http://app.example.com/', 'plain http only on loopback'],
  ['SSO_REDIRECTS', 'https://app.example.com/?x=1', 'no query and no fragment'],
  ['SSO_REDIRECTS', 'https://app.example.com/#x', 'no query and no fragment'],
  ['SSO_REDIRECTS', 'https://u@app.example.com/', 'no user name'],
  ['SSO_REDIRECTS', 'https://app.example.com/a/../b', 'no dot segments'],
  ['SSO_REDIRECTS', 'https://app.example.com/a/%2E%2e/b', 'no dot segments'],
  ['SSO_REDIRECTS', 'https://app.example.com/a%2fb', 'encoded slashes'],
  ['SSO_REDIRECTS', 'https://*.example.com/', 'wildcard'],
  ['LOGIN_DOMAINS', '@example.com', 'without the @'],
  ['LOGIN_DOMAINS', 'exa mple.com', 'must be a domain'],
  ['LOGIN_DOMAINS', '-example.com', 'must be a domain'],
  ['HIDDEN_FACTORS', 'questions', 'must be password or question or'],
  ['HIDDEN_FACTORS', 'sms,Push', 'entry 2 must be password or question or'],

  ['PAM_BASE_URL', 'http://team.pam.example', 'plain http only on loopback', PAM],
  ['PAM_BASE_URL', 'https://gateway.example/pam?x=1', 'no query and no fragment', PAM],
  ['PAM_BASE_URL', 'https://gateway.example/pam#x', 'no query and no fragment', PAM],
  ['PAM_BASE_URL', 'https://gateway.example/pam/../other', 'no dot segments', PAM],
  ['PAM_BASE_URL', 'https://gateway.example/pam%2Fv9', 'encoded slashes', PAM],
  ['PAM_BASE_URL', 'https://gateway.example//pam', 'no dot segments', PAM],
  ['PAM_BASE_URL', 'https://gateway.example/%zz', 'percent-encoded UTF-8', PAM],
  ['PAM_BASE_URL', 'https://gateway.example/%ff', 'percent-encoded UTF-8', PAM],
  ['PAM_BASE_URL', 'https://user:pw@gateway.example/pam', 'no user name', PAM],
  ['PAM_BASE_URL', 'https://your-team.pam.example.net/pam', 'still the placeholder', PAM],
  ['PAM_BASE_URL', 'https://your-team.pam.example.net', 'still the placeholder', PAM],
  ['PAM_KEY_SECRET', 'replace-with-your-key-secret', 'is still the placeholder', PAM],
  ['PAM_TEAM', 'a/b', 'must be a team name', PAM],
  ['PAM_KEY_SECRET', 'one,two', 'as many values as PAM_KEY_ID', PAM],
  ['PAM_KEY_ID', 'one,two,three', 'the current one and a standby', PAM],
  ['PAM_KEY_EXPIRES_AT', '2027-01-31T00:00:00', 'RFC 3339', PAM],
  ['PAM_TOKEN_PATH', 'v1/token', 'must be an absolute path', PAM],
  ['PAM_TOKEN_PATH', '/v1/{team}/token', 'no placeholder but {team_name}', PAM],
  ['PAM_TOKEN_PATH', '//evil.example/token', 'no dot segments', PAM],
  ['PAM_TOKEN_PATH', '/v1/token?x=1', 'no query', PAM],
  ['PAM_USER_NAME', 'email', 'must be login or login-local-part', PAM],
  ['PAM_USER_DOMAINS', 'a b', 'must be a domain', LOCAL_PART],
  ['PAM_USER_DOMAINS', 'corp.example,partner.example', 'need a prefix each', LOCAL_PART],
  ['PAM_USER_DOMAINS', 'corp.example,partner.example=partner-', 'need a prefix each', LOCAL_PART],
  ['PAM_USER_DOMAINS', 'corp.example=,partner.example=', 'the same prefix', LOCAL_PART],
  ['PAM_USER_DOMAINS', 'corp.example=x-,partner.example=X-', 'the same prefix', LOCAL_PART],
  ['PAM_USER_DOMAINS', 'corp.example=,Corp.Example=x-', 'the same domain twice', LOCAL_PART],
  ['PAM_USER_DOMAINS', 'corp.example=a/b', 'a prefix must be', LOCAL_PART],
  ['PAM_USER_DOMAINS', 'corp.example==x', 'a prefix must be', LOCAL_PART],
  ['PAM_USER_DOMAINS', 'example.com', 'requires PAM_USER_NAME=login-local-part', PAM],
  ['PAM_DIRECTORY', 'role:pam_admin,group:not-a-uuid', RULES, PAM],
  ['PAM_DIRECTORY', 'all,role:pam_admin', RULES, PAM],

  ['REDIS_URL', 'http://redis:6379', 'scheme: must be one of redis, rediss,'],
  ['REDIS_URL', 'redis://', 'host: is missing'],
  ['REDIS_URL', 'redis+sentinel://s1:26379,s2:26379/0', 'query: name is missing'],
  ['REDIS_URL', 'memory:', 'must not be memory: in production', { NODE_ENV: 'production' }],
  ['REDIS_URL', 'memory://x', 'scheme: must be one of redis'],
  ['REDIS_URL', 'redis://:p@ss@redis:6379/0', '@ as %40'],
  ['REDIS_URL', 'redis://gatehouse:p/ss@redis:6379/0', '/ as %2F'],
  [
    'REDIS_URL',
    'redis://:replace-with-your-password@redis.example.internal:6379/0',
    'is still the placeholder',
  ],
  ['HTTPS_PROXY', 'proxy:3128', 'must be an absolute URL'],
  ['HTTPS_PROXY', 'socks5://proxy:1080', 'must be an http or https URL'],
  ['HTTPS_PROXY', 'http://proxy:3128/path', 'no path'],
  ['NO_PROXY', 'a b', 'must be a host name'],
  ['SECRET_KEYS', 'c2hvcnQ=', 'exactly 32 bytes'],
  ['SECRET_KEYS', `${KEY}AA`, 'exactly 32 bytes'],
  ['SECRET_KEYS', `${KEY},${KEY}`, 'the same key twice'],
  ['SECRET_KEYS', `${KEY},${KEY.replace('=', '')}`, 'the same key twice'],
  ['SECRET_KEYS', ZERO_KEY, 'must be random keys'],
  ['SECRET_KEYS', ',', 'has no key'],

  ['SESSION_IDLE_MINUTES', '0', 'from 1 to 1440'],
  ['SESSION_IDLE_MINUTES', '1441', 'from 1 to 1440'],
  ['SESSION_IDLE_MINUTES', '30m', 'must be a whole number'],
  [
    'SESSION_IDLE_MINUTES',
    '90',
    'must not be more than SESSION_ABSOLUTE_HOURS',
    { SESSION_ABSOLUTE_HOURS: '1' },
  ],
  ['SESSION_ABSOLUTE_HOURS', '169', 'from 1 to 168'],
  ['SESSION_SAME_SITE', 'none', 'every site would carry the session cookie'],
  ['SESSION_SAME_SITE', 'loose', 'must be lax or strict'],
  ['LOG_LEVEL', 'trace', 'must be error or warn or info or debug'],
]

test.each(CASES)('%s=%s is refused: %s', (name, value, reason, more = {}) => {
  const problems = problemsOf({ ...more, [name]: value })

  expect(problems).toHaveLength(1)
  expect(problems[0]).toMatch(new RegExp(`^${name}: `))
  expect(problems[0]).toMatch(reason)
})

test.each(['PUBLIC_URL', 'AUTHN_BASE_URL', 'AUTHN_API_TOKEN', 'REDIS_URL', 'SECRET_KEYS'])(
  '%s is required, and an empty value is treated as not set',
  (name) => {
    for (const value of [undefined, '', '  ']) {
      expect(problemsOf({ [name]: value })).toEqual([expect.stringContaining(`${name}: is required`)])
    }
  },
)

test.each(['PAM_TEAM', 'PAM_KEY_ID', 'PAM_KEY_SECRET'])('%s is required with PAM_BASE_URL', (name) => {
  expect(problemsOf({ ...PAM, [name]: '' })).toEqual([expect.stringContaining(`${name}: is required`)])
})

test('PAM_USER_DOMAINS is required with PAM_USER_NAME=login-local-part', () => {
  expect(problemsOf({ ...PAM, PAM_USER_NAME: 'login-local-part' })).toEqual([
    'PAM_USER_DOMAINS: is required with PAM_USER_NAME=login-local-part',
  ])
})

test('a PAM variable without PAM_BASE_URL is refused, also if it is read from a file', () => {
  expect(problemsOf({ PAM_DIRECTORY: 'all', PAM_TEAM: 'acme', PAM_KEY_ID_FILE: '/nowhere' })).toEqual([
    'PAM_TEAM: is set, but PAM_BASE_URL is not',
    'PAM_KEY_ID_FILE: is set, but PAM_BASE_URL is not',
    'PAM_DIRECTORY: is set, but PAM_BASE_URL is not',
  ])
})

test.each([
  ['redis://redis:6379', 1],
  ['redis+sentinel://s1:26379/0?name=main', 1],
  ['redis+cluster://c1:6379', 1],
  ['memory:', 1],
  ['rediss://redis:6379', 0],
  ['rediss+sentinel://s1:26379/0?name=main', 0],
  ['REDISS+cluster://c1:6379', 0],
])('REDIS_CA_FILE is accepted only for connections with TLS: %s', (url, count) => {
  const ca = rootCertificates[0] ?? ''
  const problems = problemsOf({ REDIS_URL: url, REDIS_CA_FILE: '/ca.pem' }, { readFile: () => ca })
  expect(problems).toEqual(
    Array(count).fill('REDIS_CA_FILE: requires a REDIS_URL over TLS, such as rediss://'),
  )
})

test('a TRUST_PROXY that covers many addresses, but not all, is accepted', () => {
  for (const value of ['10.0.0.0/8,172.16.0.0/12,192.168.0.0/16', '0.0.0.0/1', '2001:db8::/32,fd00::/8']) {
    expect(problemsOf({ TRUST_PROXY: value })).toEqual([])
  }
})

test('every problem is reported at once', () => {
  const problems = problemsOf({
    PUBLIC_URL: '',
    PORT: 'x',
    AUTHN_API_TOKEN: '',
    LOG_LEVEL: 'loud',
    PAM_TEAM: 'a',
  })

  expect(problems.map((problem) => problem.split(':', 1)[0]).sort()).toEqual([
    'AUTHN_API_TOKEN',
    'LOG_LEVEL',
    'PAM_TEAM',
    'PORT',
    'PUBLIC_URL',
  ])
})

test('no problem message contains the invalid value', () => {
  const mark = 'MARKEDvalue'
  for (const [name, , , more = {}] of CASES) {
    for (const value of [
      mark,
      `https://${mark}@${mark}`,
      `${mark}://u:${mark}@h`,
      `\u0000${mark}`,
      `%${mark}%,\n${mark}`,
    ]) {
      const text = JSON.stringify(problemsOf({ ...more, [name]: value }))
      expect(text.toLowerCase()).not.toContain(mark.toLowerCase())
    }
  }
})

test('an error of parseRedisUrl is reported for REDIS_URL', () => {
  const parseRedisUrl = () => {
    throw new Error('port: must be a number')
  }
  expect(problemsOf({}, { parseRedisUrl })).toEqual(['REDIS_URL: port: must be a number'])
})
