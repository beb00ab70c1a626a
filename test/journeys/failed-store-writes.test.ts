import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals'
import type { Redis } from 'ioredis'
import { type Browser, openBrowser, type PageAnswer } from '../support/browser.ts'
import type { Gatehouse } from '../support/gatehouse.ts'
import { PASSWORD, useHarness, WALTER } from '../support/harness.ts'
import { type RedisCluster, startRedisCluster } from '../support/redis-cluster.ts'
import { handleOf, hrefAt } from '../support/transaction-view.ts'
import { until } from '../support/until.ts'

/**
 * In a Redis Cluster, keys are on several nodes. The test denies the broker a command for a while
 * (ACL).
 */
const harness = useHarness()
let cluster: RedisCluster
let broker: Gatehouse
let redis: Redis
beforeAll(async () => {
  cluster = await startRedisCluster(1)
  for (const master of cluster.masters) redis = master.client()
  await redis.call('ACL', 'SETUSER', 'broker', 'reset', 'on', '>plainly-fake', '+@all', '~*', '&*')
  broker = await harness.replica({ REDIS_URL: cluster.url.replace('//', '//broker:plainly-fake@') })
})
afterAll(() => cluster.stop())
beforeEach(() => redis.flushall())

const keysAt = (start: string) => redis.keys(`gatehouse:${start}*`)
async function visit(): Promise<Browser> {
  const browser = openBrowser(broker.url)
  await browser.get('/api/v1/sessions/me')
  return browser
}

function expectUnavailable({ status, json, setCookies }: PageAnswer) {
  expect([status, json.errorCode]).toEqual([503, 'E0000009'])
  expect(setCookies.filter((cookie) => cookie.startsWith('gatehouse='))).toEqual([])
}

const signIn = (browser: Browser, username: string, fields: object = {}) =>
  browser.post('/api/v1/authn', { username, password: PASSWORD, ...fields })

test('a failed revocation is retried: old sessions end; what the user did since stays', async () => {
  const [oldBrowser, newBrowser] = [await visit(), await visit()]
  expect((await signIn(oldBrowser, WALTER)).json.status).toBe('SUCCESS')
  const warned = await signIn(newBrowser, WALTER, { options: { warnBeforePasswordExpired: true } })
  await redis.call('ACL', 'SETUSER', 'broker', '-hgetall')
  const newPassword = 'Another-Password-2'
  const fields = { stateToken: handleOf(warned), oldPassword: PASSWORD, newPassword, revokeSessions: true }
  const changePasswordPath = new URL(hrefAt(warned, '_links.next')).pathname
  expectUnavailable(await newBrowser.post(changePasswordPath, fields))
  // the transaction has ended at Okta
  expect((await newBrowser.post(changePasswordPath, fields)).json.errorCode).toBe('E0000011')
  expect((await oldBrowser.get('/api/v1/sessions/me')).status).toBe(200)
  const signedIn = await newBrowser.post('/api/v1/authn', { username: WALTER, password: newPassword })
  expect(signedIn.json.status).toBe('SUCCESS')
  const tab = await visit()
  tab.allowAnyTransaction()
  const body = { ...signedIn.json, status: 'MFA_REQUIRED', stateToken: '00plainly-fake-state-token-00000001' }
  harness.sandbox.faults.authn.set({ kind: 'status', status: 200, times: 1, body })
  const begunSince = await tab.post('/api/v1/authn', { username: WALTER, password: newPassword })
  expect(begunSince.json.status).toBe('MFA_REQUIRED')
  const since = [...(await keysAt('known:{')), ...(await keysAt('txn:{'))]
  expect(since).toHaveLength(5) // two browsers by login and user id, one transaction
  await redis.call('ACL', 'SETUSER', 'broker', '+hgetall')
  await until(async () => (await oldBrowser.get('/api/v1/sessions/me')).status === 404, {
    what: 'the end of the old session',
  })
  expect((await newBrowser.get('/api/v1/sessions/me')).status).toBe(200)
  const revoked = () => broker.logLines().filter(({ event }) => event === 'sessions_revoked')
  await until(() => revoked().some(({ count }) => count === 1), { what: 'the end of the revocation' })
  expect([...(await keysAt('known:{')), ...(await keysAt('txn:{'))]).toEqual(since)
  expect(broker.logText()).toContain('"event":"session_revocation_failed"')
})
