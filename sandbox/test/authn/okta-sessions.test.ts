import { describe, expect, test } from '@jest/globals'
import { type Client, startSandbox, useSandbox } from './sandbox-client.ts'

/**
 * The session of a browser at the org: rows A1, A2 and A3 of what is known about Okta
 * (docs/connect-your-okta-org.md#7-single-sign-on).
 */

const client = useSandbox()
const PORTAL = 'http://localhost:3000/home'
const APP = '/home/travel/0oasandboxtravel001/aln1'

async function newToken(login: string, at: Client = client): Promise<string> {
  const { body } = await at.signIn(login)
  return String(body.sessionToken)
}

/** The browser's cookie after the answer. */
const cookieAfter = (answer: Response, before = '') => {
  const [set] = answer.headers.getSetCookie()
  return set === undefined ? before : set.split(';')[0]?.replace(/=$/, '')
}

function redeem(token: string, cookie = '', { at = client, redirectUrl = PORTAL } = {}) {
  const query = new URLSearchParams({ token, redirectUrl })
  return at.get(`/login/sessionCookieRedirect?${query}`, { cookie })
}

async function signedIn(login: string, at: Client = client): Promise<string> {
  return cookieAfter(await redeem(await newToken(login, at), '', { at })) ?? ''
}

/** Whom an app sees in this browser. */
async function userOfApp(cookie: string, at: Client = client): Promise<string | undefined> {
  const page = await (await at.get(APP, { cookie })).text()
  return /signed in as ([\w.]+)@/.exec(page)?.[1]
}

test('an app opens as the user of the browser’s session; without one, Okta asks to sign in', async () => {
  expect(await userOfApp(await signedIn('amelia.stone'))).toBe('amelia.stone')
  const page = await client.get(APP)
  expect(await page.text()).toContain('Sign in at Okta')
  expect((await client.get('/home/travel/0oaOther/aln1')).status).toBe(404)
})

describe('a session token, in a browser with a session of another user', () => {
  test('is ignored: the browser is redirected, and stays signed in as the first user (A1)', async () => {
    const cookie = await signedIn('amelia.stone')
    const answer = await redeem(await newToken('walter.warn'), cookie)
    expect([answer.status, answer.headers.get('location')]).toEqual([302, PORTAL])
    expect(answer.headers.getSetCookie()).toEqual([])
    expect(await userOfApp(cookie)).toBe('amelia.stone')
  })

  test('replaces it with the early-access flag (A1)', async () => {
    client.sandbox.settings.sessionTokenReplacesSession = true
    const cookie = await signedIn('amelia.stone')
    expect((await redeem('made-up', cookie)).status).toBe(401)
    const replaced = cookieAfter(await redeem(await newToken('oscar.office'), cookie)) ?? ''
    expect(await userOfApp(replaced)).toBe('oscar.office')
  })

  test('is redeemed after a sign-out at the org (A2)', async () => {
    const cookie = await signedIn('amelia.stone')
    const out = await client.get(`/login/signout?fromURI=${encodeURIComponent(PORTAL)}`, { cookie })
    const after = cookieAfter(await redeem(await newToken('oscar.office'), cookieAfter(out, cookie)))
    expect(await userOfApp(after ?? '')).toBe('oscar.office')
  })
})

describe('GET /login/signout (A2)', () => {
  test('ends the session and redirects to a trusted origin', async () => {
    const cookie = await signedIn('amelia.stone')
    const answer = await client.get(`/login/signout?fromURI=${encodeURIComponent(PORTAL)}`, { cookie })
    expect([answer.status, answer.headers.get('location')]).toEqual([302, PORTAL])
    expect(cookieAfter(answer)).toBe('sid')
    expect(await userOfApp(cookie)).toBeUndefined()
  })

  test('redirects without a session too', async () => {
    const answer = await client.get(`/login/signout?fromURI=${encodeURIComponent(PORTAL)}`)
    expect(answer.headers.get('location')).toBe(PORTAL)
  })

  test.each([
    ['another origin', '?fromURI=https%3A%2F%2Fevil.example%2F'],
    ['a relative URL', '?fromURI=%2F%2Fevil.example'],
    ['two targets', `?fromURI=${encodeURIComponent(PORTAL)}&fromURI=${encodeURIComponent(PORTAL)}`],
    ['no target', ''],
  ])('with %s, ends the session and shows Okta’s own page', async (_, query) => {
    const cookie = await signedIn('amelia.stone')
    const answer = await client.get(`/login/signout${query}`, { cookie })
    expect([answer.status, answer.headers.get('location')]).toEqual([200, null])
    expect(await userOfApp(cookie)).toBeUndefined()
  })

  test('redirects only to Trusted Origins of the type Redirect, if they are listed apart', async () => {
    const own = await startSandbox((config) => {
      config.redirectOrigins = ['https://portal.example.test']
    })
    const locationFor = async (target: string) => {
      const answer = await own.get(`/login/signout?fromURI=${encodeURIComponent(target)}`)
      return answer.headers.get('location')
    }
    const targets = [PORTAL, 'https://portal.example.test/x', `${own.url}/app`]
    const locations = await Promise.all(targets.map(locationFor)).finally(own.close)
    expect(locations).toEqual([null, ...targets.slice(1)])
  })
})

describe('DELETE /api/v1/sessions/me by the browser (A2)', () => {
  const end = (method: string, headers: Record<string, string>) =>
    fetch(`${client.url}/api/v1/sessions/me`, { method, headers })

  test('ends the session: 204, then 404', async () => {
    const cookie = await signedIn('amelia.stone')
    const origin = 'http://localhost:3000'
    const ended = await end('DELETE', { cookie, origin })
    expect([ended.status, ended.headers.get('access-control-allow-origin')]).toEqual([204, origin])
    expect(ended.headers.get('access-control-allow-credentials')).toBe('true')
    expect(await userOfApp(cookie)).toBeUndefined()
    expect((await end('DELETE', { cookie, origin })).status).toBe(404)
  })

  test('is refused by the browser for a page of another origin: its preflight allows nothing', async () => {
    const preflight = { 'access-control-request-method': 'DELETE' }
    const own = await end('OPTIONS', { origin: 'http://localhost:3000', ...preflight })
    expect(own.headers.get('access-control-allow-methods')).toBe('DELETE')
    const other = await end('OPTIONS', { origin: 'https://evil.example', ...preflight })
    expect(other.headers.get('access-control-allow-origin')).toBeNull()
  })
})

test('a session token never leads to a target outside trusted origins, but signs the user in', async () => {
  const answer = await redeem(await newToken('amelia.stone'), '', { redirectUrl: 'https://evil.example/' })
  expect([answer.status, answer.headers.get('location')]).toEqual([200, null])
  expect(await userOfApp(cookieAfter(answer) ?? '')).toBe('amelia.stone')
})

test('a session token from before an upgrade to Identity Engine signs nobody in after it (A3)', async () => {
  client.sandbox.settings.pipeline = 'v1'
  const before = await newToken('amelia.stone')
  client.sandbox.settings.pipeline = 'idx'
  const answer = await redeem(before)
  expect([answer.headers.get('location'), answer.headers.getSetCookie()]).toEqual([null, []])
  const after = await redeem(await newToken('amelia.stone'))
  expect(await userOfApp(cookieAfter(after) ?? '')).toBe('amelia.stone')
})
