import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from '@jest/globals'
import type { Browser } from '../support/browser.ts'
import { AMELIA, type Harness, PASSWORD, startHarness, TOMAS } from '../support/harness.ts'
import { freePort } from '../support/redis-process.ts'
import { type RedisServer, startRedis } from '../support/redis-server.ts'
import { replaceFile } from '../support/replace-file.ts'
import { handleOf, verifyHref } from '../support/transaction-view.ts'
import { until } from '../support/until.ts'

/** REDIS_URL_FILE gets another password or address, as docs/configuration.md says, while users sign in. */

const ME = '/api/v1/sessions/me'
let folder: string
let file: string
let harness: Harness
let other: RedisServer | undefined

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'gatehouse-redis-url-'))
  file = join(folder, 'redis-url')
  const port = await freePort()
  await writeFile(file, urlOf(port, 'the-old-one'))
  harness = await startHarness({
    env: { REDIS_URL: '', REDIS_URL_FILE: file },
    redis: { port, password: 'the-old-one' },
    tunables: (tunables) => ({ ...tunables, secrets: { checkFilesEveryMs: 20 } }),
  })
})
afterEach(async () => {
  const text = harness.gatehouse.logText()
  await harness.stop()
  await other?.stop()
  other = undefined
  await rm(folder, { recursive: true })
  expect(text).not.toMatch(/the-(old|new|wrong)-one|redis:\/\//)
})

const urlOf = (port: number, password: string) => `redis://:${password}@127.0.0.1:${port}\n`
const signIn = (browser: Browser, username: string) =>
  browser.post('/api/v1/authn', { username, password: PASSWORD })
const lines = (event: string) => harness.gatehouse.logLines().filter((line) => line.event === event)
const logged = (event: string, count = 1) =>
  until(() => lines(event).length >= count, { what: `${event}, ${count} times` })
const readiness = async () => (await fetch(`${harness.gatehouse.opsUrl}/readyz`)).status
const failures = async () =>
  Number(/^gatehouse_store_failures_total (\d+)$/m.exec(await harness.gatehouse.metrics())?.[1])

test('a new password, after which all connections are closed: sessions and sign-ins continue', async () => {
  const [inside, waiting] = [await harness.visit(), await harness.visit()]
  await signIn(inside, AMELIA)
  const mfaRequired = await signIn(waiting, TOMAS)
  const outside = harness.redis.client()

  await outside.call('CONFIG', 'SET', 'requirepass', 'the-new-one')
  await replaceFile(file, urlOf(harness.redis.port, 'the-new-one'))
  await logged('store_url_changed')
  await outside.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes')

  expect((await inside.get(ME)).json.login).toBe(AMELIA)
  const done = await waiting.post(verifyHref(mfaRequired, 'token:software:totp'), {
    stateToken: handleOf(mfaRequired),
    passCode: harness.sandbox.totpCode(TOMAS),
  })
  expect(done.json.status).toBe('SUCCESS')
  expect(await readiness()).toBe(200)
  expect(await failures()).toBe(0)
  expect(lines('secret_reloaded')).toMatchObject([{ name: 'REDIS_URL_FILE' }])
})

test('another server: users sign in there, and the old server may stop', async () => {
  other = await startRedis({ password: 'the-new-one' })
  const browser = await harness.visit()
  await signIn(browser, AMELIA)
  await replaceFile(file, other.url)
  await logged('store_url_changed')
  await harness.redis.kill()
  expect(await readiness()).toBe(200)
  expect((await browser.get(ME)).status).toBe(404) // nothing was copied
  expect((await signIn(browser, AMELIA)).json.status).toBe('SUCCESS')
  expect(await other.client().keys('gatehouse:sess:*')).toHaveLength(1)
  expect([lines('store_disconnected'), lines('store_reconnecting')]).toEqual([[], []])
  expect(await failures()).toBe(0)
})

test('a wrong password: the old connection stays in use, the log has the reason, and a corrected file is applied', async () => {
  const browser = await harness.visit()
  await signIn(browser, AMELIA)
  await replaceFile(file, urlOf(harness.redis.port, 'the-wrong-one'))
  await logged('store_url_unusable')
  expect(lines('store_url_unusable')).toMatchObject([{ level: 'warn', reason: 'WRONGPASS' }])
  expect((await browser.get(ME)).json.login).toBe(AMELIA)
  expect(await readiness()).toBe(200)

  await harness.redis.client().call('CONFIG', 'SET', 'requirepass', 'the-new-one')
  await replaceFile(file, urlOf(harness.redis.port, 'the-new-one'))
  await logged('store_url_changed')
  expect((await browser.get(ME)).json.login).toBe(AMELIA)
  expect(await readiness()).toBe(200)
  expect(await failures()).toBe(0)
})
