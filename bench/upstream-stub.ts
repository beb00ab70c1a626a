import { createServer, type IncomingMessage } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'

/**
 * A fast stub of both upstream APIs with responses of realistic size. The sandbox would be too slow to measure the servers
 * in front of it.
 *
 * Every response has rate limit headers, as in Okta, with most of the limit left: the servers process them, but do not
 * hold requests. Over the IPC channel, the stub reports the number of calls.
 *
 * Environment: `STUB_GROUPS` (100), the groups in the directory; `STUB_FACTORS` (2), the factors of a user;
 * `STUB_DELAY_MS` (0), the delay before every response.
 */

const groupCount = Number(process.env.STUB_GROUPS ?? 100)
const factorCount = Number(process.env.STUB_FACTORS ?? 2)
const delayMs = Number(process.env.STUB_DELAY_MS ?? 0)
const GROUPS = Buffer.from(
  JSON.stringify({
    list: Array.from({ length: groupCount }, (_, n) => ({
      id: `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`,
      name: `bench-group-${n}`,
      roles: ['end_user', ...(n % 7 === 0 ? ['resource_admin'] : [])],
      deleted_at: null,
    })),
  }),
)

const LIMIT = 60_000
let calls = 0
process.on('message', (message) => {
  if (message === 'calls') process.send?.({ calls })
})

const server = createServer(async (req, res) => {
  calls += 1
  const body = await bodyOf(req)
  if (delayMs > 0) await pause(delayMs)
  const answer = answerTo(req.url ?? '', body)
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

function portOf(): number {
  const address = server.address()
  return typeof address === 'object' && address !== null ? address.port : 0
}

function answerTo(url: string, body: Record<string, unknown>): Buffer {
  if (url.endsWith('/service_token')) return asBytes(serviceToken())
  if (url.startsWith('/v1/teams/')) return GROUPS
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
  profile: {
    credentialId: 'bench',
    deviceType: 'SmartPhone_Android',
    name: 'Phone',
    platform: 'ANDROID',
    version: '14',
  },
}

const MESSAGES = Array.from({ length: Math.max(0, factorCount - 2) }, (_, n) => ({
  id: `bench-sms-${n}`,
  factorType: 'sms',
  provider: 'OKTA',
  vendorName: 'OKTA',
  profile: { phoneNumber: '+1 XXX-XXX-0100' },
}))

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
        ...MESSAGES.map((factor) => ({
          ...factor,
          _links: { verify: link(`/api/v1/authn/factors/${factor.id}/verify`) },
        })),
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

function asBytes(answer: unknown): Buffer {
  return Buffer.from(JSON.stringify(answer))
}

async function bodyOf(req: IncomingMessage): Promise<Record<string, unknown>> {
  const chunks: Buffer[] = []
  for await (const chunk of req) chunks.push(chunk)
  return chunks.length === 0 ? {} : JSON.parse(Buffer.concat(chunks).toString())
}
