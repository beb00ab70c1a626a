import { Pool } from 'undici'
import type { Ask } from './load.ts'

/**
 * What the measured requests need to have happened before: people who opened the page, who stand before their second
 * factor, who wait for their phone, who are signed in. All of it through the server's own HTTP interface.
 */

export type PathName = 'S' | 'F' | 'P' | 'V' | 'K' | 'G'

/** The measured requests of a path, one a visitor. */
export async function prepare(origin: string, path: PathName, count: number, groups = 100): Promise<Ask[]> {
  const pool = new Pool(origin, { connections: 32 })
  const asks: Ask[] = []
  const todo = Array.from({ length: count }, (_, n) => n)
  const worker = async () => {
    for (let n = todo.pop(); n !== undefined; n = todo.pop()) {
      asks.push(await prepareOne(pool, path, n, groups))
    }
  }
  await Promise.all(Array.from({ length: 32 }, worker))
  await pool.close()
  return asks
}

/** The measured requests of a server that signs people in by redirects. */
export async function prepareByRedirects(
  origin: string,
  path: PathName,
  count: number,
): Promise<Ask[] | undefined> {
  if (path !== 'S' && path !== 'F') return undefined
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

const GETS = { S: '/api/v1/sessions/me', F: '/forward-auth', G: '/api/v1/pam/groups?limit=' } as const

let visitorsSoFar = 0

async function prepareOne(pool: Pool, path: PathName, n: number, groups: number): Promise<Ask> {
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
      throw new Error(`${ask.method} ${ask.path} answered ${answer.statusCode}: ${text.slice(0, 300)}`)
    }
    return text === '' ? {} : JSON.parse(text)
  }

  await send({ method: 'GET', path: GETS.S, headers: headers(), expected: 404 })
  const signIn = post('/api/v1/authn', {
    username: `person-${n}@example.test`,
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
  const target = path === 'G' ? GETS.G + Math.min(groups, 100) : GETS[path]
  return { method: 'GET', path: target, headers: headers(), expected: 200 }
}

function cookieOf(jar: ReadonlyMap<string, string>): string {
  return [...jar].map(([name, value]) => `${name}=${value}`).join('; ')
}

function keepCookies(jar: Map<string, string>, set: string | string[] | undefined): void {
  for (const line of [set ?? []].flat()) {
    const pair = line.slice(0, line.search(/;|$/))
    const [name = ''] = pair.split('=')
    const value = pair.slice(name.length + 1)
    if (value === '') jar.delete(name)
    else jar.set(name, value)
  }
}
