import { setTimeout as pause } from 'node:timers/promises'
import { afterEach, expect, test } from '@jest/globals'
import { PORTAL, PROXIES, type ProxyName } from '../support/proxies.ts'
import { startRedis } from '../support/redis-server.ts'
import { type LoadRequest, startLoad, startProxiedReplicas } from './proxied-replicas.ts'

/**
 * A rolling restart as docs/operations.md describes it, and as fast as it allows: a replica stops
 * as soon as the one before is ready. Under load, no request fails behind any of the proxies.
 */

const REQUESTS_PER_SECOND = 15
/** Each restarts both replicas. What happens at the end of a replica is not always the same. */
const ROLLS = 2

const closers: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close()
})

const ORIGIN = ['Origin', PORTAL, 'Content-Type', 'application/json']
const UNKNOWN = JSON.stringify({ stateToken: `00${'x'.repeat(41)}` })
/** None counts against a limit. */
const CALLS: readonly LoadRequest[] = [
  { request: { path: '/api/v1/sessions/me' }, status: 404 },
  { request: { path: '/api/v1/authn', method: 'POST', headers: ORIGIN, body: UNKNOWN }, status: 401 },
]
const NAVIGATION: LoadRequest = { request: { path: '/app/' }, status: 401 }

test.each(Object.keys(PROXIES) as ProxyName[])('%s: replicas restart one after the other', async (name) => {
  const redis = await startRedis()
  closers.push(() => redis.stop())
  const replicas = await startProxiedReplicas({ proxy: name, redisUrl: redis.url })
  closers.push(() => replicas.stop())
  const requests = PROXIES[name].asksWhoIsSignedIn ? [...CALLS, NAVIGATION] : CALLS
  const load = startLoad(replicas.proxy.ask, requests, REQUESTS_PER_SECOND)
  closers.push(() => load.stop())
  await pause(1000)
  for (let roll = 0; roll < ROLLS; roll++)
    for (const at of [0, 1] as const) {
      await replicas.stopReplica(at)
      await replicas.startReplica(at)
    }
  await pause(2000)
  await load.stop()
  expect(load.failures()).toEqual([])
})
