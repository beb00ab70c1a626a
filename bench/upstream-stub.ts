import { generateKeyPairSync, sign } from 'node:crypto'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'

/**
 * A fast stub of both upstream APIs with responses of realistic size. The sandbox would be too slow
 * to measure the servers in front of it.
 *
 * Every response has rate limit headers, as in Okta, with most of the limit left: the servers
 * process them, but do not hold requests.
 */

const GROUPS = Buffer.from(
  JSON.stringify({
    list: Array.from({ length: 100 }, (_, n) => ({
      id: `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`,
      name: `bench-group-${n}`,
      roles: ['end_user', ...(n % 7 === 0 ? ['resource_admin'] : [])],
      deleted_at: null,
    })),
  }),
)

const LIMIT = 60_000
let calls = 0

const server = createServer(async (req, res) => {
  calls += 1
  const answer = answerTo(req.url ?? '', JSON.parse((await text(req)) || '{}'))
  const prefix = req.url?.startsWith('/v1/teams/') ? 'x-ratelimit' : 'x-rate-limit'
  res.writeHead(200, {
    'content-type': 'application/json',
    'content-length': answer.length,
    [`${prefix}-limit`]: LIMIT,
    [`${prefix}-remaining`]: LIMIT - (calls % (LIMIT / 2)),
    [`${prefix}-reset`]: Math.ceil(Date.now() / 60_000) * 60,
  })
  res.end(answer)
})
server.keepAliveTimeout = 120_000
server.listen(0, '127.0.0.1', () => process.send?.({ port: portOf() }))

const portOf = () => (server.address() as AddressInfo).port // listening on TCP

function answerTo(url: string, body: Record<string, unknown>): Buffer {
  if (url.endsWith('/service_token')) return asBytes(serviceToken())
  if (url.startsWith('/v1/teams/')) return GROUPS
  if (url.startsWith('/.well-known/')) return asBytes(openIdProvider())
  if (url === '/jwks') return asBytes({ keys: [{ ...publicKey.export({ format: 'jwk' }), kid: 'bench' }] })
  if (url.startsWith('/authorize')) return asBytes({ id_token: idToken(new URL(url, origin()).searchParams) })
  if (url.startsWith('/api/v1/authn/factors/bench-push/')) return asBytes(waiting(String(body.stateToken)))
  if (url.startsWith('/api/v1/authn/factors/')) return asBytes(success(String(body.stateToken)))
  return asBytes(mfaRequired(tokenOf(String(body.username))))
}

const origin = () => `http://127.0.0.1:${portOf()}`
const link = (path: string) => ({ href: `${origin()}${path}`, hints: { allow: ['POST'] } })
const soon = () => new Date(Date.now() + 300_000).toISOString()

/** The state token contains the login, so that the stub has no state. */
const tokenOf = (login: string) => `00bench-state-${Buffer.from(login).toString('base64url')}`
const loginOf = (token: string) => Buffer.from(token.slice('00bench-state-'.length), 'base64url').toString()

function user(login: string) {
  return {
    id: `00ubench${login.replace(/\D/g, '').padStart(12, '0')}`,
    passwordChanged: '2026-01-01T00:00:00.000Z',
    profile: { login, firstName: 'Bench', lastName: 'User', locale: 'en', timeZone: 'Europe/Stockholm' },
  }
}

const PUSH = {
  id: 'bench-push',
  factorType: 'push',
  provider: 'OKTA',
  vendorName: 'OKTA',
  profile: { credentialId: 'bench', deviceType: 'SmartPhone_Android', name: 'Phone', platform: 'ANDROID' },
}

function mfaRequired(stateToken: string) {
  return {
    stateToken,
    expiresAt: soon(),
    status: 'MFA_REQUIRED',
    _embedded: {
      user: user(loginOf(stateToken)),
      factors: [
        {
          id: 'bench-totp',
          factorType: 'token:software:totp',
          provider: 'GOOGLE',
          vendorName: 'GOOGLE',
          profile: { credentialId: 'bench' },
          _links: { verify: link('/api/v1/authn/factors/bench-totp/verify') },
        },
        { ...PUSH, _links: { verify: link('/api/v1/authn/factors/bench-push/verify') } },
      ],
      policy: {
        allowRememberDevice: true,
        rememberDeviceLifetimeInMinutes: 15,
        rememberDeviceByDefault: false,
        factorsPolicyInfo: { 'bench-push': { autoPushEnabled: false } },
      },
    },
    _links: { cancel: link('/api/v1/authn/cancel') },
  }
}

function waiting(stateToken: string) {
  return {
    stateToken,
    expiresAt: soon(),
    status: 'MFA_CHALLENGE',
    factorResult: 'WAITING',
    _embedded: { user: user(loginOf(stateToken)), factor: PUSH },
    _links: {
      next: { name: 'poll', ...link('/api/v1/authn/factors/bench-push/verify') },
      cancel: link('/api/v1/authn/cancel'),
      prev: link('/api/v1/authn/previous'),
      resend: [{ name: 'push', ...link('/api/v1/authn/factors/bench-push/verify/resend') }],
    },
  }
}

function success(stateToken: string) {
  return {
    expiresAt: soon(),
    status: 'SUCCESS',
    sessionToken: '00bench-session-token-plainly-fake',
    _embedded: { user: user(loginOf(stateToken)) },
  }
}

function serviceToken() {
  return {
    bearer_token: 'plainly-fake-bench-bearer-token',
    expires_at: new Date(Date.now() + 3_600_000).toISOString(),
    team_name: 'bench',
  }
}

const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })

function openIdProvider() {
  return {
    issuer: origin(),
    authorization_endpoint: `${origin()}/authorize`,
    jwks_uri: `${origin()}/jwks`,
    response_types_supported: ['id_token'],
    response_modes_supported: ['form_post'],
    id_token_signing_alg_values_supported: ['RS256'],
  }
}

/** The browser would post it to the application. */
function idToken(query: URLSearchParams): string {
  const seconds = Math.floor(Date.now() / 1000)
  const nonce = query.get('nonce') ?? ''
  const person = { preferred_username: 'bench.user@example.test', name: 'Bench User', locale: 'en' }
  const ids = { iss: origin(), aud: 'bench', sub: `00u${nonce.slice(0, 17)}`, sid: nonce.slice(0, 17) }
  const parts = [
    { alg: 'RS256', kid: 'bench' },
    { ...ids, ...person, nonce, iat: seconds, exp: seconds + 3600 },
  ]
  const head = parts.map((part) => asBytes(part).toString('base64url')).join('.')
  return `${head}.${sign('sha256', Buffer.from(head), privateKey).toString('base64url')}`
}

function asBytes(answer: unknown): Buffer {
  return Buffer.from(JSON.stringify(answer))
}
