import { generateKeyPairSync, sign } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { Pool } from 'undici'
import { type PreparedRequest, send } from './load.ts'

/**
 * Prepares the measured requests through the server's HTTP interface: users who opened the page,
 * must verify a second factor, wait for a push, or are signed in.
 */

export type PathName = keyof typeof GETS | 'P' | 'V' | 'K' | 'B' | 'C'

/**
 * Paths whose requests can be sent only once: they end the transaction, the next poll would be too
 * soon, or the session would reach the limit of its renewals.
 */
export const ONCE: ReadonlySet<PathName> = new Set(['V', 'K', 'C'])

/**
 * The broker delays a poll that comes sooner than this after the previous one. Here every poll
 * is due and goes upstream, so that the delay is not measured.
 */
const POLL_EVERY_MS = 1000

export type Prepare = (origin: string, path: PathName, count: number) => Promise<PreparedRequest[]>

/** The measured requests of a path, one per visitor; each visitor is a different user. */
export const prepare: Prepare = async (origin, path, count) => {
  const pool = new Pool(origin, { connections: 32 })
  const prepared: PreparedRequest[] = []
  let startedCount = 0
  const worker = async () => {
    while (startedCount < count) {
      startedCount += 1
      prepared.push(await prepareOne(pool, path))
    }
  }
  try {
    await Promise.all(Array.from({ length: 32 }, worker))
  } finally {
    await pool.destroy()
  }
  if (path === 'K') await pause(POLL_EVERY_MS + 100)
  return prepared
}

/** The requests of the same signed-in visitors for another path. */
export function withPath(path: keyof typeof GETS, prepared: readonly PreparedRequest[]): PreparedRequest[] {
  return prepared.map((request) => ({ ...request, path: GETS[path] }))
}

/** The measured requests of a server that signs users in with id tokens. */
export const prepareWithIdTokens: Prepare = async (origin, _path, count) => {
  const prepared: PreparedRequest[] = []
  for (let n = 0; n < count; n++) {
    const jar = new Map<string, string>()
    const login = await fetch(`${origin}/login`, { redirect: 'manual' })
    keepCookies(jar, login.headers.getSetCookie())
    const authorize = login.headers.get('location') ?? ''
    const state = new URL(authorize).searchParams.get('state') ?? ''
    const { id_token = '' }: Record<string, string> = JSON.parse(await (await fetch(authorize)).text())
    const answer = await fetch(`${origin}/callback`, {
      method: 'POST',
      redirect: 'manual',
      headers: { cookie: cookieOf(jar) },
      body: new URLSearchParams({ state, id_token }),
    })
    keepCookies(jar, answer.headers.getSetCookie())
    prepared.push({ method: 'GET', path: GETS.S, headers: { cookie: cookieOf(jar) }, expected: 200 })
  }
  return prepared
}

const GETS = {
  S: '/api/v1/sessions/me',
  G: '/api/v1/pam/groups?limit=100',
  F: '/forward-auth',
  R: '/forward-auth?role=end_user',
  J: '/forward-auth?headers=jwt&aud=bench',
} as const

export const isGet = (path: PathName): path is keyof typeof GETS => path in GETS

let visitorCount = 0

async function prepareOne(pool: Pool, path: PathName): Promise<PreparedRequest> {
  const visitor = visitorCount++
  const jar = new Map<string, string>()
  const address = `10.${(visitor >> 16) & 255}.${(visitor >> 8) & 255}.${visitor & 255}`
  const headers = () => ({
    'x-forwarded-for': address,
    'sec-fetch-site': 'same-origin',
    'user-agent': 'Mozilla/5.0 (bench) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0 Safari/537.36',
    'accept-language': 'en',
    accept: 'application/json',
    cookie: cookieOf(jar),
  })
  const post = (target: string, body: unknown): PreparedRequest => ({
    method: 'POST',
    path: target,
    headers: { ...headers(), 'content-type': 'application/json' },
    body: JSON.stringify(body),
    expected: 200,
  })
  const exchange = async (request: PreparedRequest) => {
    const { text, headers: received } = await send(pool, request)
    keepCookies(jar, received['set-cookie'])
    const json: Record<string, unknown> = JSON.parse(text)
    return { json, received }
  }

  await exchange({ method: 'GET', path: GETS.S, headers: headers(), expected: 404 })
  const signIn = post('/api/v1/authn', {
    username: `user-${visitor}@example.test`,
    password: 'plainly-fake-password',
  })
  if (path === 'P') return signIn
  const { stateToken } = (await exchange(signIn)).json
  const poll = post('/api/v1/authn/factors/bench-push/verify', { stateToken })
  if (path === 'K') {
    await exchange(poll)
    return poll
  }
  const verify = post('/api/v1/authn/factors/bench-totp/verify', { stateToken, passCode: '123456' })
  if (path === 'V') return verify
  const { received } = await exchange(verify)
  if (isGet(path)) return { method: 'GET', path: GETS[path], headers: headers(), expected: 200 }
  const prove = (target: string, more: Record<string, string>): PreparedRequest => ({
    method: 'POST',
    path: target,
    headers: { ...headers(), ...more },
    expected: 200,
  })
  const proof = proofOver(received['secure-session-registration'], { jwk: JWK })
  const bound = await exchange(prove('/bound-session', { 'secure-session-response': proof }))
  if (path === 'B') return { method: 'GET', path: GETS.S, headers: headers(), expected: 200 }
  return prove('/bound-session/refresh', {
    'sec-secure-session-id': String(bound.json.session_identifier),
    'secure-session-response': proofOver(bound.received['secure-session-challenge']),
  })
}

const BROWSER_KEY = generateKeyPairSync('ec', { namedCurve: 'P-256' })
const JWK = BROWSER_KEY.publicKey.export({ format: 'jwk' })

/** The proof of a browser's key over the challenge in this header. */
function proofOver(header: unknown, more: object = {}): string {
  const jti = /"([\w.-]{20,})"/.exec(String(header))?.[1]
  const text = [{ alg: 'ES256', typ: 'dbsc+jwt', ...more }, { jti }]
    .map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'))
    .join('.')
  const key = { key: BROWSER_KEY.privateKey, dsaEncoding: 'ieee-p1363' } as const
  return `"${text}.${sign('sha256', Buffer.from(text), key).toString('base64url')}"`
}

export function cookieOf(jar: ReadonlyMap<string, string>): string {
  return [...jar].map(([name, value]) => `${name}=${value}`).join('; ')
}

export function keepCookies(jar: Map<string, string>, set: string | string[] | undefined): void {
  for (const line of [set ?? []].flat()) {
    const pair = line.slice(0, line.search(/;|$/))
    const [name = ''] = pair.split('=')
    const value = pair.slice(name.length + 1)
    if (value === '') jar.delete(name)
    else jar.set(name, value)
  }
}
