import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { OPERATIONS } from '../../src/authn/operations.ts'
import { createSigner } from '../../src/crypto/sign.ts'
import { createSessionCookie } from '../../src/session/session-cookie.ts'
import { type Answer, askPort } from '../http/serve.ts'
import { type Gatehouse, type GatehouseOptions, startGatehouse } from './gatehouse.ts'
import { generousLimits } from './generous-limits.ts'
import { type Cookies, ORIGINS } from './route-classes.ts'
import { stepBody } from './step-body.ts'

/**
 * A broker as in production (https, two keys, a second origin, every option on) before an upstream that says yes to
 * everything and offers every step there is: what is refused, the broker refuses.
 */
export interface MatrixHouse {
  readonly gatehouse: Gatehouse
  readonly upstreamUrl: string
  readonly port: number
  /** What reached the upstream APIs since the last look, as `METHOD /path`. */
  callsSinceLastLook(): string[]
  ask(asked: Asked): Promise<Answer>
  /** What the sign-in API says from now on, whatever it is asked; undefined: yes again. */
  answerWith(answer: RawAnswer | undefined): void
  /** A fresh browser of a fresh person, with an open session and a transaction under way. */
  newcomer(): Promise<Newcomer>
  stop(): Promise<void>
}

export interface RawAnswer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | Buffer
}

export interface Asked {
  readonly method: string
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: object | undefined
}

/** One browser with everything that it might be allowed to ask for. */
export interface Newcomer {
  readonly userId: string
  /** Of the open session. */
  readonly publicId: string
  readonly handle: string
  /** Stands for the session token. */
  readonly handOver: string
  /** The path of the enrolment picture, as it was offered. */
  readonly picture: string
  /** The `Cookie` header; undefined: none. */
  cookies(kind: Exclude<Cookies, 'foreign'>): string | undefined
}

export const DEVICE_COOKIE = '__Host-gatehouse-device'
export const SESSION_COOKIE = '__Host-gatehouse'
export const GROUP_ID = '00000000-0000-4000-8000-000000000001'

const [CURRENT, OLDER, REMOVED] = [7, 8, 9].map((byte) => Buffer.alloc(32, `plainly-fake-${byte}`))
const IDLE_MS = 30 * 60_000

/** `/users/:uid/factors/:id/verify` → `/users/00u-person1/factors/fac123/verify` */
export function pathOf(template: string, userId = '00u-nobody'): string {
  const ids: Readonly<Record<string, string>> = { uid: userId, id: 'fac123', type: 'SMS' }
  return template.replace(/:(\w+)/g, (_, name: string) => ids[name] ?? name)
}

export async function startMatrixHouse({
  env = {},
  tunables: change = (same) => same,
}: Partial<Pick<GatehouseOptions, 'env' | 'tunables'>> = {}): Promise<MatrixHouse> {
  const upstream = await startYes()
  let shiftMs = 0
  const gatehouse = await startGatehouse({
    env: {
      PUBLIC_URL: ORIGINS.own,
      ALLOWED_ORIGINS: ORIGINS.allowed,
      AUTHN_BASE_URL: upstream.url,
      PAM_BASE_URL: upstream.url,
      PAM_TEAM: 'example-team',
      PAM_KEY_ID: 'plainly-fake-key-id',
      PAM_KEY_SECRET: 'plainly-fake-key-secret',
      PAM_DIRECTORY: 'all',
      STEP_UP: 'on',
      SSO_REDIRECTS: 'https://app.example.com/',
      SECRET_KEYS: [CURRENT, OLDER].map((key) => key?.toString('base64')).join(),
      ...env,
    },
    tunables: (tunables) =>
      change(generousLimits({ ...tunables, recovery: { ...tunables.recovery, recoveryAnswerMs: 1 } })),
    now: () => Date.now() + shiftMs,
  })
  const port = Number(new URL(gatehouse.url).port)
  let people = 0

  const ask: MatrixHouse['ask'] = ({ method, path, headers, body }) => {
    if (body === undefined) return askPort(port, { method, path, headers })
    const { type, text } = stepBody(path, body)
    return askPort(port, { method, path, headers: { ...headers, 'content-type': type }, body: text })
  }

  const signIn = async (username: string, cookie?: string) => {
    const answer = await ask({
      method: 'POST',
      path: '/api/v1/authn',
      headers: { 'sec-fetch-site': 'same-origin', ...(cookie === undefined ? {} : { cookie }) },
      body: { username, password: 'plainly-fake' },
    })
    if (answer.status !== 200) throw new Error(`signing in was answered ${answer.status}: ${answer.text}`)
    return { json: answer.json as Record<string, unknown>, cookies: cookiesIn(answer) } // a 200 is an object
  }

  return {
    gatehouse,
    upstreamUrl: upstream.url,
    port,
    callsSinceLastLook: () => upstream.calls.splice(0),
    ask,
    answerWith: upstream.answerWith,

    async newcomer() {
      people += 1
      const login = `person${people}@example.test`
      shiftMs = -IDLE_MS - 60_000
      const early = await signIn(login)
      shiftMs = 0
      const device = early.cookies[DEVICE_COOKIE] ?? ''
      const deviceOnly = `${DEVICE_COOKIE}=${device}`
      const late = await signIn(login, deviceOnly)
      const begun = await signIn(`steps-${login}`, deviceOnly)
      const session = late.cookies[SESSION_COOKIE] ?? ''
      const me = await ask({
        method: 'GET',
        path: '/api/v1/sessions/me',
        headers: { cookie: `${deviceOnly}; ${SESSION_COOKIE}=${session}` },
      })
      const { id, userId } = me.json as { id: string; userId: string } // a session
      const pair = (deviceCookie: string, sessionCookie: string) =>
        `${DEVICE_COOKIE}=${deviceCookie}; ${SESSION_COOKIE}=${sessionCookie}`
      return {
        userId,
        publicId: id,
        handle: String(begun.json.stateToken),
        handOver: String(late.json.sessionToken),
        picture: /\/api\/v1\/users\/[^"]*\/qr\/[^"]+/.exec(JSON.stringify(begun.json))?.[0] ?? '',
        cookies(kind) {
          switch (kind) {
            case 'none':
              return undefined
            case 'own':
              return pair(device, session)
            case 'expired':
              return pair(device, early.cookies[SESSION_COOKIE] ?? '')
            case 'forged':
              return pair(...withOtherSignatures(device, session))
            case 'retired key':
              return pair(...signedBy(REMOVED, device, session))
            case 'older key':
              return pair(...signedBy(OLDER, device, session))
          }
        },
      }
    },

    async stop() {
      await gatehouse.stop()
      await upstream.stop()
    },
  }
}

/** Name → value of every cookie that an answer sets. */
export function cookiesIn({ headers }: Answer): Readonly<Record<string, string>> {
  return Object.fromEntries(
    (headers['set-cookie'] ?? []).map((line) => {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? []
      return [name, decodeURIComponent(value)]
    }),
  )
}

function signedBy(key: Buffer | undefined, device: string, session: string): [string, string] {
  const masterKeys = () => [key ?? Buffer.alloc(32)]
  const claim = device.split('.').slice(0, 2).join('.')
  const [id = ''] = session.replace(/^s:/, '').split('.')
  const opening = createSessionCookie({ masterKeys, secure: true, sameSite: 'lax' }).opening(id)
  return [
    `${claim}.${createSigner(masterKeys, 'device-cookie').sign(claim)}`,
    /=([^;]*)/.exec(opening)?.[1] ?? '',
  ]
}

function withOtherSignatures(device: string, session: string): [string, string] {
  const turned = (text: string) =>
    text.replace(/\.(.)([^.]*)$/, (_, first, rest) => `.${first === 'A' ? 'B' : 'A'}${rest}`)
  return [turned(device), encodeURIComponent(turned(session))]
}

// the upstream

const PICTURE = Buffer.from('89504e470d0a1a0a', 'hex')

async function startYes() {
  const calls: string[] = []
  let always: RawAnswer | undefined
  const server: Server = createServer(async (req, res) => {
    const chunks: Buffer[] = []
    for await (const chunk of req) chunks.push(chunk)
    const [path = ''] = (req.url ?? '').split('?')
    const text = Buffer.concat(chunks).toString()
    calls.push(`${req.method} ${path}`)
    if (always !== undefined && !path.startsWith('/v1/'))
      return void res.writeHead(always.status, always.headers).end(always.body)
    if (path.includes('/qr/')) return void res.setHeader('content-type', 'image/png').end(PICTURE)
    const isForm = req.headers['content-type']?.includes('form') === true
    const body: unknown = isForm ? Object.fromEntries(new URLSearchParams(text)) : JSON.parse(text || '{}')
    res.setHeader('content-type', 'application/json')
    res.end(JSON.stringify(answerTo(path, body as Record<string, string>))) // the broker's own call
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}` // listening on TCP
  let transactions = 0

  function answerTo(path: string, { username, stateToken }: Record<string, string>): unknown {
    if (path.startsWith('/v1/teams/')) return pamAnswer(path)
    if (path.endsWith('/factors/questions')) return [{ question: 'favorite_toy', questionText: 'Which toy?' }]
    if (username !== undefined && path === '/api/v1/authn')
      return username.startsWith('steps-') ? begunAs(username) : signedIn(username)
    if (path.includes('/recovery/')) return { status: 'RECOVERY_CHALLENGE', factorType: 'EMAIL' }
    return { status: 'MFA_REQUIRED', stateToken }
  }

  function begunAs(username: string) {
    transactions += 1
    const user = userOf(username.replace('steps-', ''))
    const stateToken = `00plainly-fake-state-token-${String(transactions).padStart(8, '0')}`
    const links = [
      ...OPERATIONS.map(({ path }) => ({ href: url + pathOf(path, user.id), hints: { allow: ['POST'] } })),
      ...[
        '/api/v1/users/:uid/factors/questions',
        '/api/v1/users/:uid/factors/:id/qr/plainly-fake-picture',
      ].map((path) => ({ href: url + pathOf(path, user.id), hints: { allow: ['GET'] } })),
      ...['/login/step-up/redirect', '/login/token/redirect', '/sso/idps/:id'].map((path) => ({
        href: `${url}${pathOf(path, user.id)}?stateToken=${stateToken}`,
        hints: { allow: ['GET'] },
      })),
    ]
    return {
      status: 'MFA_REQUIRED',
      stateToken,
      _embedded: { user },
      _links: { resend: links },
    }
  }

  return {
    url,
    calls,
    answerWith(answer: RawAnswer | undefined) {
      always = answer
    },
    async stop() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

function signedIn(login: string) {
  return {
    status: 'SUCCESS',
    sessionToken: `20plainly-fake-session-token-of-${login}`,
    _embedded: { user: userOf(login) },
  }
}

const userOf = (login: string) => ({ id: `00u-${login.split('@')[0]}`, profile: { login } })

function pamAnswer(path: string) {
  if (path.endsWith('/service_token')) {
    return {
      bearer_token: 'plainly-fake-bearer-token',
      expires_at: new Date(Date.now() + 3_600_000).toISOString(),
      team_name: 'example-team',
    }
  }
  return { list: [{ id: GROUP_ID, name: 'everybody', roles: ['end_user'], deleted_at: null }] }
}
