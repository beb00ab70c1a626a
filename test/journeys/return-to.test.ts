import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { createBrowserKey } from '../session/browser-key.ts'
import type { Answer } from '../support/ask-port.ts'
import type { Browser } from '../support/browser.ts'
import type { Gatehouse } from '../support/gatehouse.ts'
import { AMELIA, type Harness, PASSWORD, startHarness } from '../support/harness.ts'
import { type NavigateOptions, navigate } from '../support/navigate.ts'
import { SOME_REDIRECT_ATTACKS } from '../support/redirect-attacks.ts'
import { openSiteBrowser, type SiteBrowser } from '../support/site-browser.ts'

/** The broker's clock. */
let nowMs = Date.now()
let harness: Harness
let stranger: Browser
let user: Browser
beforeAll(async () => {
  harness = await startHarness({
    now: () => nowMs,
    env: { RETURN_TO: 'https://app.example.com/home' },
    // one user signs in in many browsers, at the same time by this clock
    tunables: (shipped) => ({ ...shipped, session: { ...shipped.session, maxPerUser: 1000 } }),
  })
  stranger = await harness.visit()
  user = await harness.visit()
  await user.post('/api/v1/authn', { username: AMELIA, password: PASSWORD })
})
afterAll(() => harness.stop())

const go = async (browser: Browser, query: string, options?: NavigateOptions) => {
  const answer = await navigate(browser, `${harness.gatehouse.url}/signin${query}`, options)
  return [answer.status, answer.location]
}
const encoded = (url: string) => `?returnTo=${encodeURIComponent(url)}`
const signInPage = (url: string) => `${harness.gatehouse.url}/${encoded(url)}`

describe('an allowed target', () => {
  const targets = () => [
    `${harness.gatehouse.url}/app/report?year=2026&view=a%20b#totals`,
    `${harness.gatehouse.url}/files/a%2Fb/50%25`,
    'https://app.example.com/home/deep?x=1',
  ]

  test('without a session, the browser goes to the sign-in page with it', async () => {
    for (const url of targets()) {
      const [status, location = ''] = await go(stranger, encoded(url))
      expect([status, new URL(String(location)).searchParams.get('returnTo')]).toEqual([303, url])
      expect(String(location).startsWith(`${harness.gatehouse.url}/?returnTo=`)).toBe(true)
    }
  })

  test('with a session, the browser goes there at once', async () => {
    for (const url of targets()) expect(await go(user, encoded(url))).toEqual([303, url])
  })

  test('that is not encoded continues to the end of the query', async () => {
    const url = 'https://app.example.com/home?a=1&returnTo=https://evil.example&b=2'
    expect(await go(user, `?returnTo=${url}`)).toEqual([303, url])
    expect(await go(user, `?returnTo=https://evil.example/${encoded(url).replace('?', '&')}`)).toEqual([
      400,
      undefined,
    ])
  })

  test('a path is one of the portal’s own host, encoded or to the end of the query', async () => {
    const path = '/reports?x=1&returnTo=//evil.example/'
    const url = harness.gatehouse.url + path
    for (const query of [encoded(path), `?returnTo=${path}`]) {
      expect(await go(user, query)).toEqual([303, url])
      expect(await go(stranger, query)).toEqual([303, signInPage(url)])
    }
  })

  test('one that is too long, or has a backslash or an odd escape, falls back to the allowed one', async () => {
    const [home, portal] = ['https://app.example.com/home', `${harness.gatehouse.url}/`]
    const odd = [`?x=${'x'.repeat(3000)}`, '/a\\b', '/..%2fadmin', '/%c0%ae']
    for (const end of odd) expect(await go(user, encoded(home + end))).toEqual([303, home])
    expect(await go(user, encoded(`/reports${odd[0]}`))).toEqual([303, portal])
    expect(await go(stranger, encoded(home + odd[0]))).toEqual([303, signInPage(home)])
  })

  test('a service worker of the portal may pass the navigation on; pages of others cannot fetch it', async () => {
    const url = 'https://app.example.com/home/other'
    const from = (site: string, more = {}) => ({
      headers: { 'sec-fetch-site': site, 'sec-fetch-dest': 'empty', ...more },
    })
    for (const mode of ['navigate', 'same-origin', 'cors']) {
      const url = `https://app.example.com/home?${mode}`
      const passedOn = from('same-origin', { 'sec-fetch-mode': mode })
      expect(await go(user, encoded(url), passedOn)).toEqual([303, url])
      // of the site that the navigation began on; a script cannot send this mode
      const answer = mode === 'navigate' ? [303, url] : [403, undefined]
      for (const site of ['same-site', 'cross-site', 'none'])
        expect(await go(user, encoded(url), from(site, { 'sec-fetch-mode': mode }))).toEqual(answer)
    }
    const prefetch = from('same-origin', { 'sec-purpose': 'prefetch' })
    expect(await go(user, encoded(url), prefetch)).toEqual([403, undefined])
    const frame = { headers: { 'sec-fetch-site': 'same-origin', 'sec-fetch-dest': 'iframe' } }
    expect(await go(user, encoded(url), frame)).toEqual([403, undefined])
  })
})

describe('a rule of /forward-auth', () => {
  const HOME = 'https://app.example.com/home'
  const back = `&returnTo=${encodeURIComponent(HOME)}`
  const again = (reason: string) => `${signInPage(HOME)}&prompt=login${reason}`
  beforeAll(() => {
    nowMs += 120_000 // since the sign-in
  })

  test.each([
    ['maxAuthAge=120', undefined],
    ['maxAuthAge=119', '&reason=age'],
    ['amr=pwd&maxAuthAge=121', undefined],
    ['amr=hwk&maxAuthAge=121', '&reason=amr&amr=hwk'],
    ['amr=pwd&amr=mfa&amr=a%26b', '&reason=amr&amr=mfa&amr=a%26b'],
    ['prompt=login', undefined],
  ])(
    '%s: a user with a password of two minutes ago goes back, or to the page with the reason (%s)',
    async (rules, reason) => {
      const to = reason === undefined ? HOME : again(reason)
      expect(await go(user, `?${rules}${back}`)).toEqual([303, to])
      expect(await go(user, `?${rules}&returnTo=${HOME}`)).toEqual([303, to]) // not encoded
      expect(await go(stranger, `?${rules}${back}`)).toEqual([303, signInPage(HOME)])
      if (rules === 'prompt=login') return
      const { status, headers } = await user.get(`/forward-auth?${rules}`)
      const denied = headers.get('x-auth-request-denied') ?? undefined
      expect([status, denied]).toEqual(
        reason === undefined ? [200, undefined] : [401, /reason=(\w+)/.exec(reason)?.[1]],
      )
    },
  )

  test.each([
    // what no rule of this URL decides
    ['reason=role', '&reason=role'],
    ['reason=group&maxAuthAge=121', '&reason=group'],
    ['reason=bound', '&reason=bound'],
    ['reason=amr', '&reason=amr'],
    ['reason=age&amr=pwd', '&reason=age'],
    // met by now
    ['reason=amr&amr=pwd', undefined],
    ['reason=age&maxAuthAge=121', undefined],
    ['reason=role&maxAuthAge=119', '&reason=age'],
    // from the sign-in page
    ['reason=role&prompt=login', undefined],
    ['reason=amr&amr=hwk&prompt=login', '&reason=amr&amr=hwk'],
    // of somebody else
    ['reason=', undefined],
    ['reason=Role', undefined],
    ['reason=%3Cscript%3E', undefined],
    ['reason=role&reason=role', undefined],
    ['reason=toString', undefined],
  ])('%s: the page is told (%s) or the user goes back', async (query, reason) => {
    const target = `${HOME}?of=${encodeURIComponent(query)}` // another one each time: no loop
    const to = reason === undefined ? target : `${signInPage(target)}&prompt=login${reason}`
    expect(await go(user, `?${query}&${encoded(target).slice(1)}`)).toEqual([303, to])
    expect(await go(user, `?${query}&returnTo=${target}`)).toEqual([303, to])
    expect(await go(stranger, `?${query}&returnTo=${target}`)).toEqual([303, signInPage(target)])
  })

  test.each([
    'role=end_user',
    'headers=amr',
    'maxauthage=1',
    '__proto__=x',
    'amr=',
    'prompt=none',
    'returnTo=',
  ])('%s: 400, so that a mistyped rule leads to no loop', async (rules) => {
    for (const browser of [user, stranger])
      for (const query of [`?${rules}${back}`, `?${rules}&returnTo=${HOME}`, `?${back.slice(1)}&${rules}`])
        expect([query, ...(await go(browser, query))]).toEqual([query, 400, undefined])
  })
})

test('the sign-in page may open /signin with its own query, that of SIGN_IN_URL included', async () => {
  const signInUrl = `${harness.gatehouse.url}/login?theme=dark&view=`
  const replica = await harness.replica({ SIGN_IN_URL: signInUrl })
  const target = `${harness.gatehouse.url}/app/`
  const visit = async (browser: Browser, query: string) =>
    (await navigate(browser, `${replica.url}/signin${query}`)).location ?? ''
  const page = new URL(await visit(user, `?amr=hwk&${encoded(target).slice(1)}`))
  const told = { returnTo: target, prompt: 'login', reason: 'amr', amr: 'hwk' }
  expect(page.href).toBe(`${signInUrl}&${new URLSearchParams(told)}`)
  expect(await visit(user, page.search)).toBe(page.href) // not without the method
  expect(await visit(user, page.search.replace('&amr=hwk', '').replace('amr', 'role'))).toBe(target)
  expect(await visit(user, `${page.search}&view=2&size=1`)).toBe('')
})

describe('refused', () => {
  // shows: V3.7.2
  test('no hostile target leads to another address than the allowed one and the portal', async () => {
    const home = 'https://app.example.com/home'
    const outcome = ([status, location]: readonly unknown[]) =>
      status === 400 && location === undefined ? 'refused' : String(location)
    const ofPortal = `${harness.gatehouse.url}/`
    for (const trick of SOME_REDIRECT_ATTACKS) {
      const [asStranger, asUser] = [await go(stranger, encoded(trick)), await go(user, encoded(trick))]
      const isPath = /^\/[^/]/.test(trick)
      const target = outcome(asUser)
      const isHarmless = target === 'refused' || target === home || (isPath && target.startsWith(ofPortal))
      expect([trick, target, isHarmless]).toEqual([trick, target, true])
      expect(outcome(asStranger)).toBe(target === 'refused' ? target : signInPage(target))
    }
  })

  test('no target, an empty one and several', async () => {
    const home = encodeURIComponent('https://app.example.com/home')
    for (const query of ['', '?', '?returnTo=', `?returnTo=${home}&returnTo=${home}`, `?returnto=${home}`])
      expect(await go(user, query)).toEqual([400, undefined])
  })
})

describe('an application on another host of the site', () => {
  const [PORTAL, WIKI, CHAT] = ['portal', 'wiki', 'chat'].map((name) => `https://${name}.example.com`)
  const PAGE = `${WIKI}/page?x=1&y=a%20b`
  const APP_COOKIE = '__Host-gatehouse-app'
  const STATE_COOKIE = '__Host-gatehouse-app-state'
  let replicas: Gatehouse[]
  beforeAll(async () => {
    const env = {
      PUBLIC_URL: `${PORTAL}`,
      TRUST_PROXY: '127.0.0.1',
      RETURN_TO: `${WIKI}/,${CHAT}/rooms,https://elsewhere.example.net/`,
    }
    replicas = [await harness.replica(env), await harness.replica(env)]
  })

  async function signedIn(browser = openSiteBrowser(replicas)): Promise<SiteBrowser> {
    await browser.fetch(`${PORTAL}/api/v1/sessions/me`)
    const body = { username: AMELIA, password: PASSWORD }
    expect((await browser.fetch(`${PORTAL}/api/v1/authn`, { method: 'POST', body })).status).toBe(200)
    return browser
  }
  const startUrl = (target: string) =>
    `${new URL(target).origin}/forward-auth/start?returnTo=${encodeURIComponent(target)}`
  const redirectOf = async (browser: SiteBrowser, href: string, headers = {}) => {
    const { status, headers: given } = await browser.open(href, { headers })
    return [status, given.location]
  }
  /** The callback of the application's host, with a code. */
  async function codeFor(browser: SiteBrowser, target = PAGE): Promise<string> {
    const [, signIn] = await redirectOf(browser, startUrl(target))
    const [, callback] = await redirectOf(browser, String(signIn))
    expect(callback).toMatch(/\/forward-auth\/callback\?code=[\w-]{43}$/)
    return String(callback)
  }
  /** A browser that is signed in at the portal and at the wiki. */
  async function atWiki(): Promise<SiteBrowser> {
    const browser = await signedIn()
    expect(await redirectOf(browser, await codeFor(browser))).toEqual([303, PAGE])
    return browser
  }
  const statusAt = async (browser: SiteBrowser, host: string | undefined, headers = {}) =>
    (await browser.ask(`${host}/forward-auth`, { headers })).status
  const cookieAt = async (browser: SiteBrowser, host: string | undefined, name: string) =>
    (await browser.jar.getCookies(`${host}`)).find(({ key }) => key === name)?.value
  /** The cookies of the session and the device, with `DEVICE_BOUND_SESSIONS=on`. */
  const copyCookies = async (from: SiteBrowser, to: SiteBrowser) => {
    for (const name of ['__Host-Http-gatehouse', '__Host-Http-gatehouse-device'])
      await to.jar.setCookie(`${name}=${await cookieAt(from, PORTAL, name)}; Path=/; Secure`, `${PORTAL}`)
  }
  const refusalOf = async (browser: SiteBrowser, href: string, headers = {}) => {
    const answer = await browser.open(href, { headers: { accept: 'application/json', ...headers } })
    const { errorCode, errorCauses } = Object(answer.json)
    expect(answer.headers.location).toBeUndefined()
    expect(answer.headers['set-cookie'] ?? []).toEqual([])
    return [answer.status, errorCode, errorCauses?.[0]?.errorSummary]
  }
  const countOf = async (result: string) => {
    const pages = await Promise.all(replicas.map((replica) => replica.metrics()))
    const counts = pages.map(
      (page) => new RegExp(`hand_overs_total\\{result="${result}"\\} (\\d+)`).exec(page)?.[1],
    )
    return counts.reduce((sum, count) => sum + Number(count ?? 0), 0)
  }

  test('a user signs in once: applications on both hosts know them, until the sign-out, at all replicas', async () => {
    const browser = openSiteBrowser(replicas)
    expect(await statusAt(browser, WIKI)).toBe(401)
    const start = await browser.open(startUrl(PAGE))
    expect(start.headers['set-cookie']).toEqual([
      expect.stringMatching(
        /^__Host-gatehouse-app-state=[\w-]{43}; Max-Age=300; Path=\/; HttpOnly; Secure; SameSite=Lax$/,
      ),
    ])
    const signIn = new URL(String(start.headers.location))
    expect([start.status, signIn.origin + signIn.pathname]).toEqual([303, `${PORTAL}/signin`])
    expect(signIn.searchParams.get('returnTo')).toBe(PAGE)
    const [, page] = await redirectOf(browser, signIn.href)
    const { origin, search, searchParams } = new URL(String(page))
    expect([origin, searchParams.get('returnTo')]).toEqual([PORTAL, PAGE])
    await signedIn(browser)
    const withCode = await browser.open(`${PORTAL}/signin${search}`)
    const answer = await browser.open(String(withCode.headers.location))
    expect([answer.status, answer.headers.location]).toEqual([303, PAGE])
    expect(answer.headers['set-cookie']).toEqual([
      expect.stringMatching(/^__Host-gatehouse-app=[\w-]+; Path=\/; HttpOnly; Secure; SameSite=Lax$/),
    ])
    for (const { headers } of [start, withCode, answer])
      expect([headers['referrer-policy'], headers['cache-control']]).toEqual(['no-referrer', 'no-store'])

    const { status, headers } = await browser.ask(`${WIKI}/forward-auth`)
    expect([status, headers['x-auth-request-preferred-username']]).toEqual([200, encodeURIComponent(AMELIA)])
    expect(await statusAt(browser, CHAT)).toBe(401)
    expect(await redirectOf(browser, await codeFor(browser, `${CHAT}/rooms/1`))).toEqual([
      303,
      `${CHAT}/rooms/1`,
    ])
    for (const host of [WIKI, CHAT, WIKI, CHAT, PORTAL]) expect(await statusAt(browser, host)).toBe(200)
    await browser.fetch(`${PORTAL}/api/v1/sessions/me`, { method: 'DELETE' })
    for (const host of [WIKI, CHAT, WIKI, CHAT, PORTAL]) expect(await statusAt(browser, host)).toBe(401)
  })

  test('tabs that open at the same time do not disturb each other', async () => {
    const browser = await signedIn()
    const targets = [1, 2, 3].map((tab) => `${WIKI}/${tab}`)
    const callbacks: string[] = []
    for (const target of targets) callbacks.push(await codeFor(browser, target))
    for (const [at, callback] of callbacks.entries())
      expect(await redirectOf(browser, callback)).toEqual([303, targets[at]])
  })

  test('a rule that a sign-in meets is passed on: the user signs in again before the code', async () => {
    const browser = await signedIn()
    const [, signIn] = await redirectOf(browser, startUrl(PAGE).replace('?', '?amr=hwk&maxAuthAge=60&'))
    const [, page] = await redirectOf(browser, String(signIn))
    const { searchParams } = new URL(String(page))
    expect(['prompt', 'reason', 'amr'].map((name) => searchParams.get(name))).toEqual(['login', 'amr', 'hwk'])
    expect(await redirectOf(browser, startUrl(PAGE).replace('?', '?role=admin&'))).toEqual([400, undefined])
  })

  test('the page of the portal is told why the application refuses the user, and no code is issued', async () => {
    const browser = await signedIn()
    const pageFor = async (query: string) => {
      const [, signIn] = await redirectOf(browser, startUrl(PAGE).replace('?', `?${query}&`))
      const [status, page] = await redirectOf(browser, String(signIn))
      const { origin, searchParams } = new URL(String(page))
      return [status, origin, ...['returnTo', 'prompt', 'reason'].map((name) => searchParams.get(name))]
    }
    expect(await pageFor('reason=role')).toEqual([303, PORTAL, PAGE, 'login', 'role'])
    expect(await pageFor('reason=amr')).toEqual([303, PORTAL, PAGE, 'login', 'amr'])
    // the user goes on to the application
    for (const query of ['reason=', 'reason=x', 'amr=pwd&reason=amr'])
      expect(await pageFor(query)).toEqual([303, WIKI, null, null, null])
  })

  test('its cookie is good for /forward-auth of its host and for nothing else', async () => {
    const browser = await atWiki()
    const value = await cookieAt(browser, WIKI, APP_COOKIE)
    const thief = openSiteBrowser(replicas)
    for (const host of [WIKI, CHAT, PORTAL])
      await thief.jar.setCookie(`${APP_COOKIE}=${value}; Path=/; Secure`, `${host}`)
    expect(await statusAt(thief, WIKI)).toBe(200) // whoever has it, through the proxy of its host
    expect(await statusAt(thief, WIKI, { 'x-forwarded-host': 'WIKI.example.com:443' })).toBe(200)
    for (const host of [CHAT, PORTAL]) expect(await statusAt(thief, host)).toBe(401)
    for (const forwarded of [undefined, '', 'evil.example', 'wiki.example.com.', 'portal.example.com'])
      expect([forwarded, await statusAt(thief, WIKI, { 'x-forwarded-host': forwarded })]).toEqual([
        forwarded,
        401,
      ])
    for (const several of ['wiki.example.com, wiki.example.com', ['wiki.example.com', 'chat.example.com']])
      expect(await statusAt(thief, WIKI, { 'x-forwarded-host': several })).toBe(400)
    for (const host of [PORTAL, WIKI]) {
      const get = async (path: string) => (await thief.fetch(host + path)).status
      expect([await get('/api/v1/sessions/me'), await get('/api/v1/sessions')]).toEqual([404, 401])
      expect([await get('/api/v1/pam/me'), await get('/api/v1/users/me')]).toEqual([401, 401])
      const asSession = { cookie: `__Host-gatehouse=${value}; __Host-gatehouse-device=${value}` }
      expect(await statusAt(thief, host, asSession)).toBe(401)
      const [, page] = await redirectOf(thief, `${PORTAL}/signin?returnTo=${PORTAL}/`)
      expect(page).toBe(`${PORTAL}/?returnTo=${encodeURIComponent(`${PORTAL}/`)}`)
    }
    const damaged = { cookie: `${APP_COOKIE}=${value?.slice(0, -2)}xx` }
    expect(await statusAt(openSiteBrowser(replicas), WIKI, damaged)).toBe(401)
  })

  test('from a peer that is no trusted proxy, X-Forwarded-Host does not count', async () => {
    const untrusting = await harness.replica({
      PUBLIC_URL: `${PORTAL}`,
      TRUST_PROXY: '192.0.2.1',
      RETURN_TO: `${WIKI}/`,
    })
    const value = await cookieAt(await atWiki(), WIKI, APP_COOKIE)
    const direct = openSiteBrowser([untrusting])
    expect(await statusAt(direct, WIKI, { cookie: `${APP_COOKIE}=${value}` })).toBe(401)
    for (const path of ['start?returnTo=/', 'callback?code=x'])
      expect(await refusalOf(direct, `${WIKI}/forward-auth/${path}`)).toEqual([
        400,
        'E0000001',
        expect.stringContaining('only from a proxy in TRUST_PROXY'),
      ])
  })

  test('a host that is not in RETURN_TO, on another site, named twice or not at all starts nothing', async () => {
    const browser = await signedIn()
    for (const [forwarded, cause] of [
      ['evil.example.com', 'is no host of RETURN_TO'],
      ['elsewhere.example.net', 'is no host of RETURN_TO'],
      ['portal.example.com', 'is no host of RETURN_TO'],
      ['wiki.example.com:8443', 'is no host of RETURN_TO'],
      [undefined, 'must send the host'],
      ['wiki.example.com,evil.example.com', 'has several values'],
    ] as const) {
      const refusal = await refusalOf(browser, startUrl(PAGE), { 'x-forwarded-host': forwarded })
      expect(refusal).toEqual([400, 'E0000001', expect.stringContaining(cause)])
    }
  })

  // shows: V3.7.2
  test('a target on another host is refused, and an odd one falls back to the host', async () => {
    const browser = await signedIn()
    const targetOf = async (host: string | undefined, returnTo: string) => {
      const [status, location] = await redirectOf(browser, `${host}/forward-auth/start?returnTo=${returnTo}`)
      return status === 303 ? new URL(String(location)).searchParams.get('returnTo') : status
    }
    for (const hostile of [
      `${CHAT}/rooms`,
      `${PORTAL}/`,
      'https://evil.example/',
      '//evil.example/',
      'x',
      '',
    ])
      expect([hostile, await targetOf(WIKI, encodeURIComponent(hostile))]).toEqual([hostile, 400])
    expect(await targetOf(CHAT, encodeURIComponent(`${CHAT}/admin`))).toBe(400)
    expect(await targetOf(WIKI, '/page?a=1&returnTo=//evil.example/')).toBe(
      `${WIKI}/page?a=1&returnTo=//evil.example/`,
    )
    expect(await targetOf(WIKI, encodeURIComponent(`/page\\${'x'.repeat(3000)}`))).toBe(`${WIKI}/`)
    expect(await targetOf(CHAT, encodeURIComponent(`${CHAT}/rooms/..%2fadmin`))).toBe(`${CHAT}/rooms`)
    const trick = `handover=${'a'.repeat(43)}&returnTo=https://elsewhere.example.net/`
    expect(await redirectOf(browser, `${PORTAL}/signin?${trick}`)).toEqual([
      303,
      'https://elsewhere.example.net/', // another site: a plain target, without a code
    ])
  })

  test('login CSRF: a code in another browser is used up and opens nothing there', async () => {
    const [attacker, victim] = [await signedIn(), openSiteBrowser(replicas)]
    for (const isWithState of [false, true]) {
      if (isWithState) await victim.open(startUrl(PAGE))
      const callback = await codeFor(attacker)
      const { status, headers } = await victim.open(callback)
      expect([status, headers.location, headers['set-cookie']]).toEqual([303, PAGE, undefined])
      expect(await refusalOf(attacker, callback)).toEqual([
        401,
        'E0000011',
        expect.stringMatching(/^code: .*used/),
      ])
      expect(await statusAt(victim, WIKI)).toBe(401)
    }
    const lines = replicas.flatMap((replica) => replica.logLines())
    const audited = lines.filter(({ event }) => event === 'hand_over_refused')
    expect(audited.slice(-2)).toMatchObject([{ host: 'wiki.example.com' }, { host: 'wiki.example.com' }])
    expect(audited.map(({ reason }) => reason)).toEqual(
      expect.arrayContaining(['state_missing', 'state_wrong']),
    )
    for (const result of ['state_missing', 'state_wrong', 'code_unknown'])
      expect(await countOf(result)).toBeGreaterThan(0)
  })

  test('a sign-in of more than five minutes: the browser begins again, and is then signed in', async () => {
    const browser = await signedIn()
    const callback = await codeFor(browser)
    const isState = ({ key }: { key: string }) => key === STATE_COOKIE
    const [state] = (await browser.jar.getCookies(`${WIKI}`)).filter(isState)
    const expired = `${STATE_COOKIE}=; Path=/; Secure; Max-Age=0`
    await browser.jar.setCookie(expired, `${WIKI}`)
    expect(state?.maxAge).toBe(300)
    expect(await redirectOf(browser, callback)).toEqual([303, PAGE])
    expect(await statusAt(browser, WIKI)).toBe(401)
    expect(await redirectOf(browser, await codeFor(browser))).toEqual([303, PAGE])
    expect(await statusAt(browser, WIKI)).toBe(200)
  })

  test('a stolen code is worth nothing without the browser’s state, also with another sign-in there', async () => {
    const [victim, thief] = [await signedIn(), await signedIn()]
    const callback = await codeFor(victim)
    await thief.open(startUrl(PAGE))
    const { headers } = await thief.open(callback)
    expect(headers).not.toHaveProperty('set-cookie')
    expect(await statusAt(thief, WIKI)).toBe(401)
  })

  test('a code works once, for its host only, and for a minute', async () => {
    const browser = await signedIn()
    const used = await codeFor(browser)
    expect((await redirectOf(browser, used))[0]).toBe(303)
    expect(await refusalOf(browser, used)).toEqual([401, 'E0000011', expect.stringMatching(/^code: .*used/)])
    const forChat = await codeFor(browser, `${CHAT}/rooms`)
    const state = await cookieAt(browser, CHAT, STATE_COOKIE)
    const atOtherHost = forChat.replace(`${CHAT}`, `${WIKI}`)
    expect(await refusalOf(browser, atOtherHost, { cookie: `${STATE_COOKIE}=${state}` })).toEqual([
      401,
      'E0000011',
      'code: is for another host',
    ])
    expect((await refusalOf(browser, forChat))[2]).toMatch(/^code: .*used/)
    for (const code of ['', 'x', 'a'.repeat(43), `${'a'.repeat(43)}&code=b`])
      expect((await refusalOf(browser, `${WIKI}/forward-auth/callback?code=${code}`)).slice(0, 2)).toEqual([
        401,
        'E0000011',
      ])
    const redis = harness.redis.client()
    const before = await redis.keys('gatehouse:handover:*')
    await codeFor(browser)
    const [added = ''] = (await redis.keys('gatehouse:handover:*')).filter((key) => !before.includes(key))
    const ttlMs = await redis.pttl(added)
    expect([ttlMs > 0, ttlMs <= 60_000]).toEqual([true, true])
  })

  test('a code of a session that has ended meanwhile opens nothing', async () => {
    const browser = await signedIn()
    const callback = await codeFor(browser)
    await browser.fetch(`${PORTAL}/api/v1/sessions/me`, { method: 'DELETE' })
    const { status, headers } = await browser.open(callback)
    expect([status, headers.location, headers['set-cookie']]).toEqual([303, PAGE, undefined])
    expect(await countOf('session_ended')).toBe(1)
  })

  test('only a navigation is answered; a service worker may pass it on', async () => {
    const browser = await signedIn()
    const callback = await codeFor(browser)
    const fetched = { 'sec-fetch-mode': 'cors', 'sec-fetch-dest': 'empty', 'sec-fetch-site': 'same-origin' }
    const refused: Record<string, string>[] = [
      { 'sec-fetch-dest': 'iframe' },
      { 'sec-fetch-dest': 'image', 'sec-fetch-mode': 'no-cors' },
      { ...fetched, 'sec-fetch-site': 'same-site' },
      { 'sec-purpose': 'prefetch' },
    ]
    for (const headers of refused)
      for (const href of [startUrl(PAGE), callback])
        expect(await redirectOf(browser, href, headers)).toEqual([403, undefined])
    for (const method of ['HEAD', 'POST'])
      for (const href of [startUrl(PAGE), callback])
        expect(
          (await browser.open(href, { method, headers: { 'sec-fetch-site': 'same-origin' } })).status,
        ).toBe(405)
    // a fetch of the wiki's own page changes nothing at the start, and would use up the code
    expect((await redirectOf(browser, startUrl(PAGE), fetched))[0]).toBe(303)
    expect(await redirectOf(browser, callback, fetched)).toEqual([403, undefined])
    const passedOn = { 'sec-fetch-dest': 'empty' }
    expect((await redirectOf(browser, startUrl(PAGE), passedOn))[0]).toBe(303)
    expect(await redirectOf(browser, callback, passedOn)).toEqual([303, PAGE])
  })

  describe('whose proxy does not accept the sign-in', () => {
    const loopsOf = async (browser: SiteBrowser, steps: (browser: SiteBrowser) => Promise<Answer>) => {
      const answers: Answer[] = []
      do answers.push(await steps(browser))
      while (answers.at(-1)?.status === 303 && answers.length < 10)
      return { times: answers.length - 1, last: answers.at(-1) }
    }
    /** The proxy loses the cookie of the callback, and sends the browser to the start. */
    const handOver =
      (target = PAGE) =>
      async (browser: SiteBrowser) => {
        const start = await browser.open(startUrl(target))
        const signIn = await browser.open(String(start.headers.location))
        return signIn.status === 303 ? browser.open(String(signIn.headers.location)) : signIn
      }
    const signIn = (target: string) => (browser: SiteBrowser) =>
      browser.open(`${PORTAL}/signin?returnTo=${encodeURIComponent(target)}`)
    const causeIn = (answer: Answer | undefined) => /<li>(.*)<\/li>/.exec(answer?.text ?? '')?.[1]

    test('the third hand-over in a row is a page that says what to set; the next visit tries again', async () => {
      const browser = await signedIn()
      const { times, last } = await loopsOf(browser, handOver())
      expect([times, last?.status, last?.headers.location]).toEqual([2, 403, undefined])
      expect(last?.headers['content-type']).toBe('text/html; charset=utf-8')
      expect(last?.text).toContain('The application does not accept your sign-in')
      expect(causeIn(last)).toMatch(/X-Forwarded-Host: wiki\.example\.com; .*The amr and maxAuthAge/i)
      expect((await loopsOf(browser, handOver())).times).toBe(2)
      const pages = await Promise.all(replicas.map((replica) => replica.metrics()))
      expect(pages.join()).toMatch(/requests_refused_total\{reason="redirect_loop"\} [12]/)
      const lines = replicas.flatMap((replica) => replica.logLines())
      expect(lines.find(({ event }) => event === 'redirect_loop')).toMatchObject({
        origin: WIKI,
        reason: 'hand_over',
      })
    })

    test('nor can a browser that loses every cookie of the application’s host loop', async () => {
      const browser = await signedIn()
      const { times, last } = await loopsOf(browser, async () => {
        for (const name of [APP_COOKIE, STATE_COOKIE])
          await browser.jar.setCookie(`${name}=; Path=/; Secure; Max-Age=0`, `${WIKI}`)
        const start = await browser.open(startUrl(PAGE), { headers: { cookie: undefined } })
        await browser.jar.setCookie(`${STATE_COOKIE}=; Path=/; Secure; Max-Age=0`, `${WIKI}`)
        const signIn = await browser.open(String(start.headers.location))
        return signIn.status === 303 ? browser.open(String(signIn.headers.location)) : signIn
      })
      expect([times, last?.status, causeIn(last)]).toEqual([2, 403, expect.stringContaining('Set-Cookie')])
    })

    test('without a hand-over, after five: /signin is the wrong address for it', async () => {
      const { times, last } = await loopsOf(await signedIn(), signIn(PAGE))
      expect([times, last?.status]).toEqual([5, 403])
      expect(causeIn(last)).toMatch(/wiki\.example\.com sends the browser back.*to \/forward-auth\/start/)
    })

    test('on the portal’s own host: the rule is missing in the URL', async () => {
      const { times, last } = await loopsOf(await signedIn(), signIn(`${PORTAL}/app/`))
      expect([times, last?.status]).toEqual([5, 403])
      expect(causeIn(last)).toMatch(/maxAuthAge of its rule must also be in the URL of \/signin/)
    })

    test('tabs with different pages, later visits and visits without a session are no loop', async () => {
      const [browser, stranger] = [await signedIn(), openSiteBrowser(replicas)]
      for (const round of [1, 2, 3, 4]) {
        for (const tab of [1, 2]) expect((await handOver(`${WIKI}/${tab}`)(browser)).status).toBe(303)
        expect([round, (await signIn(PAGE)(stranger)).status]).toEqual([round, 303])
        expect((await handOver()(await signedIn())).status).toBe(303)
      }
      const before = nowMs
      for (const times of [1, 2, 1, 2]) {
        if (times === 1) nowMs += 20_000
        expect((await handOver()(browser)).status).toBe(303)
      }
      nowMs = before
    })

    test('only the browser’s own cookie counts: a sibling cannot plant one that blocks the sign-in', async () => {
      const [attacker, victim] = [await signedIn(), await signedIn()]
      for (const _ of [1, 2, 3, 4, 5]) await signIn(PAGE)(attacker)
      const [planted] = (await attacker.jar.getCookies(`${PORTAL}/signin`)).filter(({ key }) =>
        key.endsWith('gatehouse-returns'),
      )
      expect(planted).toMatchObject({ key: '__Secure-gatehouse-returns', path: '/signin', httpOnly: true })
      await victim.jar.setCookie(
        `${planted?.cookieString()}; Domain=example.com; Path=/signin; Secure`,
        `${WIKI}/signin`,
      )
      expect(await victim.jar.getCookieString(`${PORTAL}/signin`)).toContain('gatehouse-returns=5.')
      expect((await signIn(PAGE)(victim)).status).toBe(303)
      expect((await signIn(PAGE)(attacker)).status).toBe(403)
    })
  })

  test('its use keeps the session alive', async () => {
    const browser = await atWiki()
    const endOf = async () => {
      const { json } = await browser.fetch(`${PORTAL}/api/v1/sessions/me`)
      return Date.parse(Object(json).idleExpiresAt)
    }
    const before = [nowMs, await endOf()] as const
    nowMs += 61_000
    expect(await statusAt(browser, WIKI)).toBe(200)
    expect(await endOf()).toBe(before[1] + 61_000)
    nowMs = before[0]
  })

  test('X-Gatehouse-Session is compared with the session of the application’s cookie', async () => {
    const browser = await atWiki()
    const { json } = await browser.fetch(`${PORTAL}/api/v1/sessions/me`)
    expect(await statusAt(browser, WIKI, { 'x-gatehouse-session': Object(json).id })).toBe(200)
    expect(await statusAt(browser, WIKI, { 'x-gatehouse-session': 'another' })).toBe(409)
  })

  test('a bound session is handed over only by the browser with its key, and stays bound', async () => {
    const binding = await harness.replica({
      PUBLIC_URL: `${PORTAL}`,
      TRUST_PROXY: '127.0.0.1',
      RETURN_TO: `${WIKI}/`,
      DEVICE_BOUND_SESSIONS: 'on',
    })
    const browser = openSiteBrowser([binding])
    await browser.fetch(`${PORTAL}/api/v1/sessions/me`)
    const body = { username: AMELIA, password: PASSWORD }
    const { headers } = await browser.fetch(`${PORTAL}/api/v1/authn`, { method: 'POST', body })
    const boundRequired = async (at = browser) => (await at.ask(`${WIKI}/forward-auth?bound=required`)).status
    // before the registration, a thief with the two cookies gets one of the application's host
    const early = openSiteBrowser([binding])
    await copyCookies(browser, early)
    await redirectOf(early, await codeFor(early))
    await redirectOf(browser, await codeFor(browser))
    expect([await boundRequired(), await boundRequired(early)]).toEqual([403, 403])
    const key = createBrowserKey()
    const [, challenge = ''] =
      /challenge="([^"]+)"/.exec(String(headers['secure-session-registration'])) ?? []
    const proof = key.prove(challenge, { header: { jwk: key.jwk } })
    const registered = { 'secure-session-response': proof, 'sec-fetch-mode': 'no-cors' }
    await browser.fetch(`${PORTAL}/bound-session`, { method: 'POST', headers: registered })
    // so does a thief with copies from before the first use of the bound cookie
    const late = openSiteBrowser([binding])
    await copyCookies(browser, late)
    await redirectOf(late, await codeFor(late))
    expect([await statusAt(late, WIKI), await boundRequired(late)]).toEqual([200, 401])
    const { json } = await browser.fetch(`${PORTAL}/api/v1/sessions/me`)
    expect(json).toMatchObject({ deviceBound: true })
    // the first cookie shows no key, so the proxy begins the hand-over anew
    expect([await statusAt(browser, WIKI), await boundRequired()]).toEqual([200, 401])
    await redirectOf(browser, await codeFor(browser))
    expect([await statusAt(browser, WIKI), await boundRequired()]).toEqual([200, 200])
    expect([await boundRequired(early), await boundRequired(late)]).toEqual([401, 401])

    const thief = openSiteBrowser([binding])
    await copyCookies(browser, thief)
    const pamStatus = async (at: SiteBrowser) => (await at.fetch(`${PORTAL}/api/v1/pam/groups`)).status
    expect([await pamStatus(browser), await pamStatus(thief)]).toEqual([200, 401])
    const [, signIn] = await redirectOf(thief, startUrl(PAGE))
    expect((await redirectOf(thief, String(signIn)))[1]).toMatch(
      /^https:\/\/portal\.example\.com\/\?returnTo=/,
    )
  })
})
