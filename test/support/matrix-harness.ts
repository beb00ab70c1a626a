import { createSigner } from '../../src/crypto/keys.ts'
import { createSessionCookie } from '../../src/session/session-cookie.ts'
import { type Answer, askPort } from './ask-port.ts'
import { useFixture } from './fixture.ts'
import { type Gatehouse, type GatehouseOptions, startGatehouse } from './gatehouse.ts'
import { generousLimits } from './generous-limits.ts'
import { type RawAnswer, startPermissiveUpstream } from './permissive-upstream.ts'
import { type Cookies, ORIGINS } from './route-classes.ts'
import { stepBody } from './step-body.ts'

/**
 * A broker configured as in production (https, two keys, a second origin, every option on). Its
 * upstream accepts everything and offers every step, so each refusal comes from the broker.
 */
export interface MatrixHarness {
  readonly gatehouse: Gatehouse
  readonly upstreamUrl: string
  readonly port: number
  /** The requests that the upstream APIs received since the last call, as `METHOD /path`. */
  callsSinceLastLook(): string[]
  ask(asked: Asked): Promise<Answer>
  /**
   * The Authentication API's response to all further requests. undefined: it accepts everything
   * again.
   */
  answerWith(answer: RawAnswer | undefined): void
  /** A new browser of a new user, with an open session and an open transaction. */
  newcomer(): Promise<MatrixVisitor>
  stop(): Promise<void>
}

export interface Asked {
  readonly method: string
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: object | undefined
}

/** A browser with everything that it may request. */
export interface MatrixVisitor {
  readonly userId: string
  /** The public id of the open session. */
  readonly publicId: string
  readonly handle: string
  /** The SSO token. */
  readonly ssoToken: string
  /** The offered path of the enrollment's QR code. */
  readonly picture: string
  /** The `Cookie` header. undefined: no header. */
  cookies(kind: Exclude<Cookies, 'foreign'>): string | undefined
}

export const APP_TOKEN = { name: 'portal', token: 'plainly-fake-token-of-the-portal' }
export const DEVICE_COOKIE = '__Host-gatehouse-device'
export const HOOK_SECRET = 'plainly-fake-hook-secret'
export const SESSION_COOKIE = '__Host-gatehouse'

const [CURRENT, OLDER, REMOVED] = [7, 8, 9].map((byte) => Buffer.alloc(32, `plainly-fake-${byte}`))
const IDLE_MS = 30 * 60_000

type Options = Partial<Omit<GatehouseOptions, 'now'>>

/** One for all tests of a file. */
export const useMatrixHarness = (options: Options = {}) =>
  useFixture({ start: () => startMatrixHarness(options), stop: ({ stop }) => stop() })

async function startMatrixHarness({
  env = {},
  tunables: change = (same) => same,
  ...rest
}: Options): Promise<MatrixHarness> {
  const upstream = await startPermissiveUpstream()
  let shiftMs = 0
  const gatehouse = await startGatehouse({
    ...rest,
    env: {
      PUBLIC_URL: ORIGINS.own,
      ALLOWED_ORIGINS: ORIGINS.allowed,
      AUTHN_BASE_URL: upstream.origin,
      PAM_BASE_URL: upstream.origin,
      PAM_TEAM: 'example-team',
      PAM_KEY_ID: 'plainly-fake-key-id',
      PAM_KEY_SECRET: 'plainly-fake-key-secret',
      PAM_DIRECTORY: 'all',
      APP_TOKENS: `${APP_TOKEN.name}:${APP_TOKEN.token}`,
      STEP_UP: 'on',
      EVENT_HOOK_SECRET: HOOK_SECRET,
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

  const ask: MatrixHarness['ask'] = ({ method, path, headers, body }) => {
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
    // a 200 is an object
    return { json: answer.json as Record<string, unknown>, cookies: cookiesIn(answer) }
  }

  return {
    gatehouse,
    upstreamUrl: upstream.origin,
    port,
    callsSinceLastLook: upstream.callsSinceLastLook,
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
      const get = async (path: string) =>
        (
          await ask({
            method: 'GET',
            path,
            headers: { cookie: `${deviceOnly}; ${SESSION_COOKIE}=${session}` },
          })
        ).json
      // a session
      const { id, userId } = (await get('/api/v1/sessions/me')) as { id: string; userId: string }
      const pair = (deviceCookie: string, sessionCookie: string) =>
        `${DEVICE_COOKIE}=${deviceCookie}; ${SESSION_COOKIE}=${sessionCookie}`
      const byKind = {
        none: undefined,
        own: pair(device, session),
        expired: pair(device, early.cookies[SESSION_COOKIE] ?? ''),
        forged: pair(...withOtherSignatures(device, session)),
        'retired key': pair(...signedBy(REMOVED, device, session)),
        'older key': pair(...signedBy(OLDER, device, session)),
      }
      return {
        userId,
        publicId: id,
        handle: String(begun.json.stateToken),
        ssoToken: String(late.json.sessionToken),
        picture: /\/api\/v1\/users\/[^"]*\/qr\/[^"]+/.exec(JSON.stringify(begun.json))?.[0] ?? '',
        cookies: (kind) => byKind[kind],
      }
    },

    async stop() {
      await gatehouse.stop()
      await upstream.close()
    },
  }
}

/** The cookies that a response sets, by name. */
export function cookiesIn({ headers }: Answer): Readonly<Record<string, string>> {
  return Object.fromEntries(
    (headers['set-cookie'] ?? []).map((line) => {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? []
      return [name, decodeURIComponent(value)]
    }),
  )
}

function signedBy(key: Buffer | undefined, device: string, session: string): [string, string] {
  const masterKeys = [key ?? Buffer.alloc(32)]
  const payload = device.split('.').slice(0, 2).join('.')
  const [id = ''] = session.replace(/^s:/, '').split('.')
  const opening = createSessionCookie({ masterKeys, secure: true, sameSite: 'lax' }).setCookie(id)
  return [
    `${payload}.${createSigner(masterKeys, 'device-cookie').sign(payload)}`,
    /=([^;]*)/.exec(opening)?.[1] ?? '',
  ]
}

function withOtherSignatures(device: string, session: string): [string, string] {
  const turned = (text: string) =>
    text.replace(/\.(.)([^.]*)$/, (_, first, rest) => `.${first === 'A' ? 'B' : 'A'}${rest}`)
  return [turned(device), encodeURIComponent(turned(session))]
}
