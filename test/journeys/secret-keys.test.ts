import { afterEach, beforeEach, expect, test } from '@jest/globals'
import { generateKey } from '../../src/config/secret-values.ts'
import { type BrokerDirectory, makeBrokerDirectory } from '../support/broker-process.ts'
import { openBrowser } from '../support/browser.ts'
import { PASSWORD, TOMAS, useHarness } from '../support/harness.ts'
import { type RedisServer, startRedis } from '../support/redis-server.ts'
import { handleOf, verifyHref } from '../support/transaction-view.ts'
import { until } from '../support/until.ts'

/** Real processes that share one Redis, with equal, overlapping and different SECRET_KEYS. */

const ME = '/api/v1/sessions/me'
/** As in sysexits.h. */
const EX_CONFIG = 78

const harness = useHarness()
const cleanUps: (() => Promise<unknown>)[] = []
let home: BrokerDirectory
beforeEach(async () => {
  home = await makeBrokerDirectory()
  cleanUps.push(() => home.remove())
})
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp()
})

async function server(): Promise<RedisServer> {
  const redis = await startRedis()
  cleanUps.push(() => redis.stop())
  return redis
}

const environment = (redisUrl: string, keys: readonly string[]) => ({
  ...harness.signInEnv,
  REDIS_URL: redisUrl,
  SECRET_KEYS: keys.join(),
})
const statusOf = async ({ opsUrl }: { opsUrl: string }) => (await fetch(`${opsUrl}/readyz`)).status

async function startReady(redisUrl: string, ...keys: string[]) {
  const broker = await home.start(environment(redisUrl, keys))
  await until(async () => (await statusOf(broker)) === 200, { what: 'a ready broker' })
  return {
    ...broker,
    async stop() {
      broker.child.kill('SIGKILL') // at once: only the start concerns this test
      await broker.exited
    },
  }
}

/** The output of a broker that must not start. */
async function refusedStart(redisUrl: string, ...keys: string[]): Promise<string> {
  const { output, exited } = home.spawn(environment(redisUrl, keys))
  expect([await exited, output.err]).toEqual([EX_CONFIG, expect.stringContaining('SECRET_KEYS')])
  return output.err
}

async function signIn({ url }: { url: string }) {
  const browser = openBrowser(url)
  await browser.get(ME)
  const asked = await browser.post('/api/v1/authn', { username: TOMAS, password: PASSWORD })
  const done = await browser.post(new URL(verifyHref(asked, 'token:software:totp')).pathname, {
    stateToken: handleOf(asked),
    passCode: harness.sandbox.totpCode(TOMAS),
  })
  expect(done.json.status).toBe('SUCCESS')
  for (const { usedSteps } of harness.sandbox.user(TOMAS).factors) usedSteps.clear()
  return browser
}

test('a replica that shares no key does not start, says why, and no user is signed out; without gatehouse:keys it starts', async () => {
  const redis = await server()
  const [key, other] = [generateKey(), generateKey()]
  const broker = await startReady(redis.url, key)
  const browser = await signIn(broker)
  const cookies = await browser.jar.getCookieString(broker.url)

  const client = redis.client()
  const values = await client.hgetall('gatehouse:keys')
  expect(Object.keys(values)).toHaveLength(1)
  expect(JSON.stringify(values)).not.toContain(key.slice(0, 10))
  expect(await client.pttl('gatehouse:keys')).toBeGreaterThan(0)

  const output = await refusedStart(redis.url, other)
  expect(output).toContain('DEL gatehouse:keys') // how to begin anew on purpose
  expect(output).not.toContain(other)

  await broker.stop()
  await refusedStart(redis.url, other) // also when no replica runs
  const back = await startReady(redis.url, key)
  expect((await browser.get(back.url + ME)).json.login).toBe(TOMAS)
  expect(await browser.jar.getCookieString(back.url)).toBe(cookies)

  await back.stop()
  await client.del('gatehouse:keys')
  await startReady(redis.url, other)
})

test('a removed key is forgotten when no replica has renewed its value for the life of a session', async () => {
  const redis = await server()
  const [older, newer] = [generateKey(), generateKey()]
  await (await startReady(redis.url, older)).stop()
  const client = redis.client()
  const [[field = '', value = ''] = []] = Object.entries(await client.hgetall('gatehouse:keys'))
  await client.hset('gatehouse:keys', field, value.replace(/^\d+/, '1000')) // expired in 1970
  await startReady(redis.url, newer)
  await refusedStart(redis.url, older)
  await until(async () => (await client.hlen('gatehouse:keys')) === 1)
})

test('Redis is reached after the start: the public listener opens only when the keys are checked', async () => {
  const redis = await startRedis({ persist: true })
  cleanUps.push(() => redis.stop())
  const key = generateKey()
  await (await startReady(redis.url, key)).stop()
  await redis.kill()
  const [wrong, right] = [generateKey(), key].map((one) => home.spawn(environment(redis.url, [one])))
  if (!wrong || !right) throw new Error('two replicas run')
  const isListening = ({ output }: typeof wrong, name: string) =>
    new RegExp(`"listening","name":"${name}","port":(\\d+)`).exec(output.out)?.[1]
  for (const one of [wrong, right]) {
    await until(() => one.output.out.includes('"store_check_failed"') && isListening(one, 'ops'))
    expect(await statusOf({ opsUrl: `http://127.0.0.1:${isListening(one, 'ops')}` })).toBe(503)
    expect(isListening(one, 'public')).toBeUndefined()
  }
  await redis.restart()
  expect(await wrong.exited).toBe(EX_CONFIG)
  expect(isListening(wrong, 'public')).toBeUndefined()
  await until(() => isListening(right, 'public'))
})
