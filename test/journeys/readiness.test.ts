import { readFileSync } from 'node:fs'
import { afterEach, expect, test } from '@jest/globals'
import { openBrowser } from '../support/browser.ts'
import {
  AMELIA,
  type Harness,
  type HarnessOptions,
  PASSWORD,
  startHarness,
  TOMAS,
} from '../support/harness.ts'
import { handleOf, verifyHref } from '../support/transaction-view.ts'
import { until } from '../support/until.ts'

/**
 * When a replica is ready, what `/readyz` shows, and the log lines that say why Redis cannot be
 * used.
 */

const cleanUps: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp()
})

async function harness(options: HarnessOptions = {}): Promise<Harness> {
  const started = await startHarness(options)
  cleanUps.push(() => started.stop())
  return started
}

async function readyz(opsUrl: string) {
  const answer = await fetch(`${opsUrl}/readyz`)
  const { checks } = (await answer.json()) as { checks: Record<string, string> }
  return { status: answer.status, checks }
}

test('authn_token and pam are unknown on each replica until a call proves them, and never affect the status', async () => {
  const { gatehouse, replica, visit, sandbox } = await harness()
  const other = await replica()
  const unknown = {
    status: 200,
    checks: { store: 'ok', clock: 'ok', authn_token: 'unknown', pam: 'unknown' },
  }
  expect(await readyz(gatehouse.opsUrl)).toEqual(unknown)

  const browser = await visit()
  await browser.post('/api/v1/authn', { username: AMELIA, password: PASSWORD })
  expect((await readyz(gatehouse.opsUrl)).checks).toEqual({ ...unknown.checks, authn_token: 'ok' })
  expect((await browser.get('/api/v1/pam/me')).status).toBe(200)
  expect((await readyz(gatehouse.opsUrl)).checks).toEqual({
    store: 'ok',
    clock: 'ok',
    authn_token: 'ok',
    pam: 'ok',
  })
  expect(await readyz(other.opsUrl)).toEqual(unknown)

  const wrong = await replica({ AUTHN_API_TOKEN: 'a-wrong-token' })
  await openBrowser(wrong.url).post('/api/v1/authn', { username: AMELIA, password: PASSWORD })
  const failing = { ...unknown, checks: { ...unknown.checks, authn_token: 'failing' } }
  expect(await readyz(wrong.opsUrl)).toEqual(failing)
  sandbox.faults.pam.set({ kind: 'status', status: 500, body: { error: 'unknown_error' } })
  expect((await browser.get('/api/v1/pam/groups')).status).toBe(502)
  expect((await readyz(gatehouse.opsUrl)).checks.pam).toBe('failing')
  expect((await readyz(gatehouse.opsUrl)).status).toBe(200)
})

test('without PAM configuration there is no check of it', async () => {
  const { replica } = await harness()
  const noPam = { PAM_BASE_URL: '', PAM_TEAM: '', PAM_KEY_ID: '', PAM_KEY_SECRET: '', PAM_DIRECTORY: '' }
  expect((await readyz((await replica(noPam)).opsUrl)).checks).toEqual({
    store: 'ok',
    clock: 'ok',
    authn_token: 'unknown',
  })
})

const HOUR_MS = 3_600_000

test('a replica whose clock is set wrong says so, and is not ready once Redis and Okta both disagree with it', async () => {
  let aheadMs = 0
  const now = () => Date.now() + aheadMs
  const { gatehouse, visit } = await harness({ now, constants: { health: { checkEveryMs: 20 } } })
  const clocks = async () => {
    const { status, checks } = await readyz(gatehouse.opsUrl)
    return [status, checks.clock]
  }
  const saysSo = () => gatehouse.logLines().filter(({ event }) => event === 'clock_disagrees')
  const browser = await visit()

  aheadMs = HOUR_MS
  await until(async () => (await clocks())[1] === 'failing')
  expect(await clocks()).toEqual([200, 'failing']) // maybe the clock of Redis is wrong
  expect(await gatehouse.metrics()).toMatch(
    /^gatehouse_clock_offset_seconds\{source="store"\} 3(600|599\.9\d*)$/m,
  )

  aheadMs = 0
  await until(async () => (await clocks())[1] === 'ok')
  await browser.post('/api/v1/authn', { username: AMELIA, password: PASSWORD })
  aheadMs = HOUR_MS
  expect((await browser.get('/api/v1/sessions/me')).status).toBe(404) // users look signed out
  await until(async () => (await clocks())[0] === 503)
  expect(await gatehouse.metrics()).toContain('gatehouse_ready 0')
  expect(saysSo()).toHaveLength(2)
  // the first time, only Redis was known
  expect(saysSo()).toMatchObject([
    { level: 'error', dependency: 'store' },
    { level: 'error', dependency: expect.stringMatching(/^(store|authn)$/) },
  ])

  aheadMs = 0
  await until(async () => (await clocks())[0] === 200)
  expect((await browser.get('/api/v1/sessions/me')).status).toBe(200)
})

const REDIS_PASSWORD = 'plainly-fake-redis-password'

// shows: V13.2.2
test('the rights of the Redis user in docs/operations.md are enough for a whole sign-in', async () => {
  const { redis, sandbox, replica } = await harness()
  await redis.client().call('ACL', ...documentedRule(), '+info')
  const broker = await replica({ REDIS_URL: urlFor(redis.port) })
  await until(async () => (await readyz(broker.opsUrl)).status === 200)

  const browser = openBrowser(broker.url)
  await browser.get('/api/v1/sessions/me')
  await browser.post('/api/v1/authn', { username: TOMAS, password: 'wrong' })
  const mfaRequired = await browser.post('/api/v1/authn', { username: TOMAS, password: PASSWORD })
  const done = await browser.post(new URL(verifyHref(mfaRequired, 'token:software:totp')).pathname, {
    stateToken: handleOf(mfaRequired),
    passCode: sandbox.totpCode(TOMAS),
  })
  expect(done.json.status).toBe('SUCCESS')
  for (const path of ['/api/v1/sessions/me', '/api/v1/sessions', '/api/v1/pam/me', '/api/v1/pam/groups'])
    expect([path, (await browser.get(path)).status]).toEqual([path, 200])
  expect((await browser.delete('/api/v1/sessions/me')).status).toBe(204)
  expect((await readyz(broker.opsUrl)).checks).toEqual({
    store: 'ok',
    clock: 'ok',
    authn_token: 'ok',
    pam: 'ok',
  })
  const log = (await redis.client().call('ACL', 'LOG')) as unknown[]
  expect(log).toEqual([]) // no command was refused unnoticed
})

/** The ACL rule in docs/operations.md as arguments, with the password of this test. */
function documentedRule(): string[] {
  const page = readFileSync('docs/operations.md', 'utf8')
  const [, rule = ''] = /^ *ACL (SETUSER gatehouse .+)$/m.exec(page) ?? []
  return rule.replace('>password', `>${REDIS_PASSWORD}`).split(' ')
}

const urlFor = (port: number) => `redis://gatehouse:${REDIS_PASSWORD}@127.0.0.1:${port}`
