import { readFileSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import { Pool } from 'undici'
import { type Ask, Refused } from './load.ts'

/**
 * What the measured requests need to have happened before: people who opened the page, who stand before their second
 * factor, who wait for their phone, who are signed in. All of it through the server's own HTTP interface.
 */

export type PathName = 'S' | 'F' | 'P' | 'V' | 'K' | 'G'

/** Asks that can be sent once: the transaction ends with it, or the next poll would come too soon. */
export const ONCE: ReadonlySet<PathName> = new Set(['V', 'K'])

/**
 * The broker holds a poll that comes sooner than this after the last one was told to wait (`transaction.pollEveryMs`).
 * Held polls would measure the holding: here every poll is due, and goes upstream.
 */
const POLL_EVERY_MS: number = JSON.parse(
  readFileSync(new URL('../../config/default.json', import.meta.url), 'utf8'),
).transaction.pollEveryMs

export type Prepare = (origin: string, path: PathName, count: number) => Promise<Ask[]>

/** The measured requests of a path, one a visitor, each a person of their own. */
export const prepare: Prepare = async (origin, path, count) => {
  const pool = new Pool(origin, { connections: 32 })
  const asks: Ask[] = []
  let begun = 0
  const worker = async () => {
    while (begun < count) {
      begun += 1
      asks.push(await prepareOne(pool, path))
    }
  }
  try {
    await Promise.all(Array.from({ length: 32 }, worker))
  } finally {
    await pool.destroy()
  }
  if (path === 'K') await pause(POLL_EVERY_MS + 100)
  return asks
}

/** The same signed-in visitors asking for something else. */
export function askingFor(path: 'S' | 'F' | 'G', asks: readonly Ask[]): Ask[] {
  return asks.map((ask) => ({ ...ask, path: GETS[path] }))
}

/** The measured requests of a server that signs people in by redirects. */
export const prepareByRedirects: Prepare = async (origin, path, count) => {
  if (path !== 'S' && path !== 'F') throw new Error(`there is no ${path} here`)
  const asks: Ask[] = []
  for (let n = 0; n < count; n++) {
    const jar = new Map<string, string>()
    let url = `${origin}/login`
    for (let hop = 0; hop < 4; hop++) {
      const isOwn = url.startsWith(origin)
      const answer = await fetch(url, {
        redirect: 'manual',
        headers: isOwn ? { cookie: cookieOf(jar) } : {},
      })
      if (isOwn) keepCookies(jar, answer.headers.getSetCookie())
      const location = answer.headers.get('location')
      if (location === null) break
      url = new URL(location, url).href
    }
    asks.push({ method: 'GET', path: GETS[path], headers: { cookie: cookieOf(jar) }, expected: 200 })
  }
  return asks
}

const GETS = { S: '/api/v1/sessions/me', F: '/forward-auth', G: '/api/v1/pam/groups?limit=100' } as const

/** The device cookie that a browser gets with its first request. */
export async function deviceOf(origin: string): Promise<string> {
  const jar = new Map<string, string>()
  const answer = await fetch(`${origin}${GETS.S}`, { headers: { 'x-forwarded-for': '10.0.0.1' } })
  keepCookies(jar, answer.headers.getSetCookie())
  return cookieOf(jar)
}

let visitorsSoFar = 0

async function prepareOne(pool: Pool, path: PathName): Promise<Ask> {
  const visitor = visitorsSoFar++
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
  const post = (target: string, body: unknown): Ask => ({
    method: 'POST',
    path: target,
    headers: { ...headers(), 'content-type': 'application/json' },
    body: JSON.stringify(body),
    expected: 200,
  })
  const send = async (ask: Ask): Promise<Record<string, unknown>> => {
    const answer = await pool.request({
      method: ask.method,
      path: ask.path,
      headers: ask.headers,
      ...(ask.body === undefined ? {} : { body: ask.body }),
    })
    keepCookies(jar, answer.headers['set-cookie'])
    const text = await answer.body.text()
    if (answer.statusCode !== ask.expected) {
      throw new Refused(`${ask.method} ${ask.path} answered ${answer.statusCode}: ${text.slice(0, 300)}`)
    }
    return text === '' ? {} : JSON.parse(text)
  }

  await send({ method: 'GET', path: GETS.S, headers: headers(), expected: 404 })
  const signIn = post('/api/v1/authn', {
    username: `person-${visitor}@example.test`,
    password: 'plainly-fake-password',
  })
  if (path === 'P') return signIn
  const { stateToken } = await send(signIn)
  const poll = post('/api/v1/authn/factors/bench-push/verify', { stateToken })
  if (path === 'K') {
    await send(poll)
    return poll
  }
  const verify = post('/api/v1/authn/factors/bench-totp/verify', { stateToken, passCode: '123456' })
  if (path === 'V') return verify
  await send(verify)
  return { method: 'GET', path: GETS[path], headers: headers(), expected: 200 }
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
