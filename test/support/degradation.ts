import type { FaultRule } from 'gatehouse-sandbox/fault-rules'
import type { Browser } from './browser.ts'
import { generousLimits } from './generous-limits.ts'
import { type Harness, PASSWORD, startHarness } from './harness.ts'
import { navigate } from './navigate.ts'
import { delivery, orgEvent } from './org-event.ts'
import type { RouteClassName } from './route-classes.ts'
import { deadPort } from './stub-upstream.ts'
import { handleOf, verifyHref } from './transaction-view.ts'

/**
 * The rows and columns of docs/degradation.md: requests that are prepared while all is well, and
 * faults.
 */

const APP_TOKEN = 'plainly-fake-token-of-the-portal'
const HOOK_SECRET = 'plainly-fake-hook-secret'
const OPS_TOKEN = 'plainly-fake-ops-token-of-an-operator'
const TARGET = 'http://localhost:3000/home'
const APPLICATION = 'http://localhost:3001/'
const ME = '/api/v1/sessions/me'
const ROLE = '/forward-auth?role=security_admin'
/**
 * Shorter than the shipped ones, so that a slow dependency is soon given up; on a busy machine, a
 * good one may take a second.
 */
const TIME_LIMIT_MS = 3000

/** `plain` users need no factor, `code` users one. All have the role of `ROLE`. */
const KINDS = { plain: 'amelia.stone@example.test', code: 'tomas.berg@example.test' } as const
const USERS_OF_KIND = 400
const loginOf = (kind: keyof typeof KINDS, n: number) => `${kind}-${n}@example.test`

export function startDegradationHarness(): Promise<Harness> {
  return startHarness({
    redis: { persist: true },
    env: {
      STEP_UP: 'on',
      SSO_REDIRECTS: TARGET,
      RETURN_TO: APPLICATION,
      APP_TOKENS: `portal:${APP_TOKEN}`,
      EVENT_HOOK_SECRET: HOOK_SECRET,
      OPS_TOKENS: `operator:${OPS_TOKEN}`,
      SESSION_RECHECK_MINUTES: '10',
    },
    tunables: ({ recovery, upstream, pam, ...tunables }) =>
      generousLimits({
        ...tunables,
        recovery: { ...recovery, recoveryAnswerMs: 1 },
        store: { connectTimeoutMs: TIME_LIMIT_MS, commandTimeoutMs: TIME_LIMIT_MS },
        upstream: {
          authn: { ...upstream.authn, totalTimeoutMs: TIME_LIMIT_MS },
          pam: { ...upstream.pam, totalTimeoutMs: TIME_LIMIT_MS },
        },
        // a list that is used again is refreshed
        pam: { ...pam, lists: { ...pam.lists, freshMs: 1 } },
      }),
    constants: {
      sessions: { extendEveryMs: 0 }, // a session that is used is extended
      upstream: { breaker: { consecutiveFailures: 1000 } },
    },
    sandboxConfig(config) {
      const added = Object.entries(KINDS).flatMap(([kind, like]) => {
        const model = config.users.find(({ login }) => login === like)
        if (model === undefined) throw new Error(`the sandbox has no ${like}`)
        return Array.from({ length: USERS_OF_KIND }, (_, n) => ({
          ...model,
          login: loginOf(kind as keyof typeof KINDS, n),
        }))
      })
      const pam = config.pam as { readonly users: object } // the sandbox parses it
      const groups = Object.fromEntries(added.map(({ login }) => [login, ['Security']]))
      return {
        ...config,
        users: [...config.users, ...added],
        pam: { ...pam, users: { ...pam.users, ...groups } },
      }
    },
  })
}

export function rowDeps(harness: Harness): RowDeps {
  const used = { plain: 0, code: 0 }
  return {
    harness,
    newUser(kind = 'plain') {
      if (used[kind] === USERS_OF_KIND) throw new Error('the sandbox has too few users')
      return loginOf(kind, used[kind]++)
    },
  }
}

export interface RowDeps {
  readonly harness: Harness
  /** The login of a user whom nothing else uses. */
  readonly newUser: (kind?: keyof typeof KINDS) => string
}

/** Sends the request, and returns the status of the answer. */
export type Send = () => Promise<number>
type Prepare = (deps: RowDeps) => Promise<Send>

/** By the first cell of a row. */
export const ROWS: Readonly<Record<string, Prepare>> = {
  '`/forward-auth`, open session': inSession((browser) => browser.get('/forward-auth')),
  '`/forward-auth`, no session cookie': inBrowser((browser) => browser.get('/forward-auth')),
  '`/forward-auth?role=…`, groups read within a minute': inSession((browser) => browser.get(ROLE), ROLE),
  '`/forward-auth?role=…`, groups not read yet': inSession((browser) => browser.get(ROLE)),

  '`GET /api/v1/sessions/me`': inSession((browser) => browser.get(ME)),
  '`POST /api/v1/sessions/me/lifecycle/refresh`': inSession((browser) =>
    browser.post(`${ME}/lifecycle/refresh`),
  ),
  '`DELETE /api/v1/sessions/me`': inSession((browser) => browser.delete(ME)),
  '`GET /api/v1/sessions`': inSession((browser) => browser.get('/api/v1/sessions')),
  '`DELETE /api/v1/sessions`': inSession((browser) => browser.delete('/api/v1/sessions')),

  'a password: `POST /api/v1/authn`': async (deps) => {
    const [browser, username] = [await deps.harness.visit(), deps.newUser()]
    return async () => (await signIn(browser, username)).status
  },
  'a password on a known device': async (deps) => {
    const username = deps.newUser()
    const browser = await openSession(deps, username)
    return async () => (await signIn(browser, username)).status
  },
  'a step of a sign-in, such as a code': async (deps) => {
    const [browser, username] = [await deps.harness.visit(), deps.newUser('code')]
    const asked = await signIn(browser, username)
    const path = new URL(verifyHref(asked, 'token:software:totp')).pathname
    const passCode = deps.harness.sandbox.totpCode(username)
    return async () => (await browser.post(path, { stateToken: handleOf(asked), passCode })).status
  },
  'the state of a sign-in': async (deps) => {
    const browser = await deps.harness.visit()
    const stateToken = handleOf(await signIn(browser, deps.newUser('code')))
    return async () => (await browser.post('/api/v1/authn', { stateToken })).status
  },
  'a recovery: `POST /api/v1/authn/recovery/password`': async (deps) => {
    const username = deps.newUser()
    return inBrowser((browser) => recover(browser, username))(deps)
  },
  'a recovery of an unknown name': inBrowser((browser) => recover(browser, 'nobody@example.test')),

  '`GET /signin/step-up`': inBrowser((browser) =>
    navigate(browser, `${browser.origin}/signin/step-up?stateToken=${'a'.repeat(40)}`),
  ),
  '`GET /login/sessionCookieRedirect`': async (deps) => {
    const browser = await deps.harness.visit()
    const token = String((await signIn(browser, deps.newUser())).json.sessionToken)
    const query = new URLSearchParams({ token, redirectUrl: TARGET })
    return async () =>
      (await navigate(browser, `${browser.origin}/login/sessionCookieRedirect?${query}`)).status
  },
  '`GET /signin`, open session': inSession(goToSignIn),
  '`GET /signin`, no session cookie': inBrowser(goToSignIn),
  '`GET /signin`, hand-over to another host': inSession((browser) =>
    navigate(browser, `${browser.origin}/signin?handover=${'a'.repeat(43)}&returnTo=${APPLICATION}`),
  ),

  '`GET /api/v1/pam/me`, groups read within five minutes': inSession(
    (browser) => browser.get('/api/v1/pam/me'),
    '/api/v1/pam/me',
  ),
  '`GET /api/v1/pam/me`, groups not read yet': inSession((browser) => browser.get('/api/v1/pam/me')),
  '`GET /api/v1/pam/groups`, read within 15 minutes': inSession(
    (browser) => browser.get('/api/v1/pam/groups'),
    '/api/v1/pam/groups',
  ),
  '`/app/v1/pam/*`, groups read within five minutes': async (deps) => {
    const send = askAsBackend(deps)
    expectStatus('a lookup', await send(), 200)
    return send
  },
  '`/app/v1/pam/*`, groups not read yet': async (deps) => askAsBackend(deps),

  '`POST /hooks/org-events`': async ({ harness }) =>
    fetching(`${harness.gatehouse.url}/hooks/org-events`, {
      method: 'POST',
      headers: { authorization: HOOK_SECRET, 'content-type': 'application/json' },
      body: JSON.stringify(delivery(orgEvent('00uPlainlyFakeUser'))),
    }),
  '`GET /admin/users/{uid}/sessions`': async (deps) => asOperator(deps, 'GET', 'sessions'),
  '`DELETE /admin/users/{uid}/sessions`': async (deps) => asOperator(deps, 'DELETE', 'sessions'),
  'a session after that call': async (deps) => {
    const browser = await openSession(deps)
    const end = await asOperator(deps, 'DELETE', 'sessions', browser)
    return async () => {
      await end()
      return (await browser.get(ME)).status
    }
  },
  '`DELETE /admin/users/{uid}/limits`': async (deps) => asOperator(deps, 'DELETE', 'limits'),
  '`/livez`, `/readyz`, `/metrics`, the key set': async ({ harness: { gatehouse } }) => {
    const ops = ['livez', 'readyz', 'metrics'].map((path) => `${gatehouse.opsUrl}/${path}`)
    const all = [...ops, `${gatehouse.url}/.well-known/gatehouse-jwks.json`].map((url) => fetching(url))
    return async () => Math.max(...(await Promise.all(all.map((send) => send()))))
  },
}

/** The row that stands for each class of public routes (route-classes.ts). */
export const ROW_OF_CLASS: Readonly<Record<RouteClassName, keyof typeof ROWS>> = {
  'sign-in': 'a password: `POST /api/v1/authn`',
  'recovery start': 'a recovery: `POST /api/v1/authn/recovery/password`',
  step: 'a step of a sign-in, such as a code',
  'offered list': 'a step of a sign-in, such as a code',
  'offered picture': 'a step of a sign-in, such as a code',
  backend: '`/app/v1/pam/*`, groups read within five minutes',
  'public data': '`/livez`, `/readyz`, `/metrics`, the key set',
  'offered redirect': '`GET /login/sessionCookieRedirect`',
  navigation: '`GET /signin/step-up`',
  'navigation without effect': '`GET /signin`, open session',
  'hand-over: start': '`GET /signin`, no session cookie',
  'hand-over: callback': '`GET /login/sessionCookieRedirect`',
  'session: first look': '`GET /api/v1/sessions/me`',
  'session: kept alive': '`POST /api/v1/sessions/me/lifecycle/refresh`',
  'session: sign-out': '`DELETE /api/v1/sessions/me`',
  'bound session: registration': '`POST /api/v1/sessions/me/lifecycle/refresh`',
  'bound session: refresh': '`GET /api/v1/sessions/me`',
  'session: needed': '`GET /api/v1/pam/me`, groups not read yet',
  'session: end this one': '`DELETE /api/v1/sessions`',
  'event hook: verification': '`POST /hooks/org-events`',
  'event hook: delivery': '`POST /hooks/org-events`',
  'proxy check': '`/forward-auth`, open session',
}

type Request = (browser: Browser) => Promise<{ readonly status: number }>

/** In a new browser, which has a device cookie. */
function inBrowser(request: Request): Prepare {
  return async ({ harness }) => {
    const browser = await harness.visit()
    return async () => (await request(browser)).status
  }
}

/** With the session of a new user, who has requested `before`. */
function inSession(request: Request, before?: string): Prepare {
  return async (deps) => {
    const browser = await openSession(deps)
    if (before !== undefined) expectStatus(before, (await browser.get(before)).status, 200)
    return async () => (await request(browser)).status
  }
}

async function openSession(deps: RowDeps, username = deps.newUser()): Promise<Browser> {
  const browser = await deps.harness.visit()
  expectStatus(username, (await signIn(browser, username)).json.status, 'SUCCESS')
  return browser
}

const signIn = (browser: Browser, username: string) =>
  browser.post('/api/v1/authn', { username, password: PASSWORD })
const recover = (browser: Browser, username: string) =>
  browser.post('/api/v1/authn/recovery/password', { username, factorType: 'EMAIL' })

function goToSignIn(browser: Browser) {
  const target = encodeURIComponent(`${browser.origin}/app`)
  return navigate(browser, `${browser.origin}/signin?returnTo=${target}`)
}

function askAsBackend({ harness, newUser }: RowDeps): Send {
  const url = `${harness.gatehouse.url}/app/v1/pam/users/${encodeURIComponent(newUser())}`
  return fetching(url, { headers: { authorization: `Bearer ${APP_TOKEN}` } })
}

async function asOperator(deps: RowDeps, method: string, resource: string, of?: Browser): Promise<Send> {
  const browser = of ?? (await openSession(deps))
  const { userId } = (await browser.get(ME)).json
  const url = `${deps.harness.gatehouse.opsUrl}/admin/users/${userId}/${resource}`
  return fetching(url, { method, headers: { authorization: `Bearer ${OPS_TOKEN}` } })
}

const fetching =
  (url: string, init: RequestInit = {}): Send =>
  async () => {
    const answer = await fetch(url, init)
    await answer.arrayBuffer()
    return answer.status
  }

function expectStatus(what: string, actual: unknown, expected: number | string): void {
  if (actual !== expected) throw new Error(`${what} was answered with ${actual} while all was well`)
}

export interface Fault {
  begin(harness: Harness): Promise<unknown>
  end(harness: Harness): Promise<unknown>
}

const LATER_MS = 300_000

/** By the title of a table, and a column. */
export const FAULTS: Readonly<Record<string, Readonly<Record<string, Fault>>>> = {
  Redis: {
    full: {
      begin: ({ redis }) => redis.client().config('SET', 'maxmemory', '1'),
      end: ({ redis }) => redis.client().config('SET', 'maxmemory', '0'),
    },
    'read-only': {
      begin: async ({ redis }) => redis.client().replicaof('127.0.0.1', await deadPort()),
      end: ({ redis }) => redis.client().replicaof('NO', 'ONE'),
    },
    slow: { begin: async ({ redis }) => redis.pause(), end: async ({ redis }) => redis.resume() },
    away: { begin: ({ redis }) => redis.kill(), end: ({ redis }) => redis.restart() },
  },
  Okta: faultsOf('authn'),
  PAM: faultsOf('pam'),
}

function faultsOf(api: 'authn' | 'pam'): Record<string, Fault> {
  const fault = (rule: FaultRule): Fault => ({
    begin: async ({ sandbox }) => sandbox.faults[api].set(rule),
    end: async ({ sandbox }) => sandbox.faults[api].clear(),
  })
  return {
    429: fault({ kind: 'rate-limited', retrySeconds: 60 }),
    slow: fault({ kind: 'delay', ms: LATER_MS }),
    away: fault({ kind: 'cut' }),
  }
}
