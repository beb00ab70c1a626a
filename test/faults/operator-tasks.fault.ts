import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { TEST_KEY } from '../support/gatehouse.ts'
import { AMELIA, PASSWORD } from '../support/harness.ts'
import { cookiesOf } from '../support/portal.ts'
import { PORTAL } from '../support/proxies.ts'
import { startSentinels, type WatchedRedis } from '../support/redis-sentinels.ts'
import { until } from '../support/until.ts'
import { type Load, type ProxiedReplicas, startLoad, startProxiedReplicas } from './proxied-replicas.ts'

/**
 * What docs/operations.md and docs/configuration.md describe, under load, with two replicas behind
 * nginx and Redis watched by Sentinels: users get no error but those that the docs announce, and
 * nobody is signed out.
 */

const REQUESTS_PER_SECOND = 12
const NEW_KEY = Buffer.alloc(32, 'a second plainly fake key').toString('base64')
const MILA = 'mila.nophone@example.test'

const closers: (() => unknown)[] = []
let redis: WatchedRedis
let replicas: ProxiedReplicas
let load: Load

const json = ['Origin', PORTAL, 'Content-Type', 'application/json']
const signIn = (login: string, cookie?: string) => ({
  method: 'POST',
  path: '/api/v1/authn',
  headers: [...json, ...(cookie === undefined ? [] : ['Cookie', cookie])],
  body: JSON.stringify({ username: login, password: PASSWORD }),
})

beforeAll(async () => {
  redis = await startSentinels({ replicas: 2, sentinels: 3 })
  closers.push(() => redis.stop())
  const application = createServer({ keepAliveTimeout: 600_000 }, (_req, res) => res.end('the application'))
  await new Promise<void>((resolve) => {
    application.listen(0, '127.0.0.1', resolve)
  })
  closers.push(() => application.close().closeAllConnections())
  replicas = await startProxiedReplicas({
    proxy: 'nginx',
    redisUrl: redis.url,
    applicationPort: (application.address() as AddressInfo).port, // listening on TCP
  })
  closers.push(() => replicas.stop())
  const { ask } = replicas.proxy
  const device = cookiesOf(await ask({ path: '/api/v1/sessions/me' }))
  const cookie = `${device}; ${cookiesOf(await ask(signIn(AMELIA, device)))}`
  const signedIn = ['Cookie', cookie]
  const sessionCheck = { request: { path: '/api/v1/sessions/me', headers: signedIn }, status: 200 }
  load = startLoad(
    ask,
    // an odd number: nginx asks the replicas in turn, so each kind of request reaches both
    [
      sessionCheck,
      sessionCheck,
      { request: { path: '/app/', headers: signedIn }, status: 200 },
      { request: { path: '/app/', headers: signedIn }, status: 200 },
      { request: signIn(MILA), status: 200 },
    ],
    REQUESTS_PER_SECOND,
  )
  closers.push(() => load.stop())
})

afterAll(async () => {
  for (const close of closers.splice(0).reverse()) await close()
})

async function restartAll(env: Readonly<Record<string, string>>) {
  for (const at of [0, 1] as const) {
    await replicas.stopReplica(at)
    await replicas.startReplica(at, env)
  }
}

/** An hour is more than SESSION_IDLE_MINUTES. */
const HOUR_AHEAD = {
  NODE_OPTIONS: '--import=data:text/javascript,const%20now=Date.now;Date.now=()=>now()+3600000',
}

async function restartWith(env: Readonly<Record<string, string>>) {
  await replicas.stopReplica(1)
  await replicas.startReplica(1, { SECRET_KEYS: `${NEW_KEY},${TEST_KEY}`, ...env })
  const [, restarted] = replicas.running
  if (restarted === undefined) throw new Error('there is no second replica')
  return restarted
}

/** The failures other than 503 until none is left. */
async function failuresUntilNone() {
  const found: string[] = []
  await until(async () => {
    await untilAllAsked()
    const failures = load.failures()
    found.push(...failures)
    return failures.length === 0
  })
  return found.filter((failure) => statusIn(failure) !== '503')
}

const statusIn = (failure: string) => failure.split(' ').at(-1)

/** Each kind of request has been answered by both replicas. */
const untilAllAsked = () => pause((1000 / REQUESTS_PER_SECOND) * 20)

test('replicas are updated one after the other: no error', async () => {
  await restartAll({})
  await untilAllAsked()
  expect(load.failures()).toEqual([])
})

test('SECRET_KEYS are rotated: no error', async () => {
  await restartAll({ SECRET_KEYS: `${TEST_KEY},${NEW_KEY}` })
  await restartAll({ SECRET_KEYS: `${NEW_KEY},${TEST_KEY}` })
  await untilAllAsked()
  expect(load.failures()).toEqual([])
})

test('Redis fails over: 503 until a replica is promoted, and everyone is signed in afterwards', async () => {
  await redis.primary.kill()
  await until(async () => (await redis.primaryPort()) !== redis.primary.port)
  expect(await failuresUntilNone()).toEqual([])
})

test('a clock is an hour ahead: announced, and nobody is signed out once it is right again', async () => {
  const wrong = await restartWith(HOUR_AHEAD)
  await until(() => wrong.output.out.includes('"clock_disagrees"'))
  const seen = new Set<string | undefined>()
  await until(() => {
    for (const failure of load.failures()) seen.add(statusIn(failure))
    return seen.size === 2
  })
  expect(seen).toEqual(new Set(['404', '401']))
  await until(async () => (await fetch(`${wrong.opsUrl}/readyz`)).status === 503)

  await restartWith({})
  load.failures() // of the last requests at the replica with the wrong clock
  await untilAllAsked()
  expect(load.failures()).toEqual([])
})
