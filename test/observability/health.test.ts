import { afterEach, expect, test } from '@jest/globals'
import { storeUnavailable } from '../../src/errors.ts'
import { DependencyFailure } from '../../src/observability/dependency-failure.ts'
import { createHealth, type HealthOptions } from '../../src/observability/health.ts'
import { until } from '../support/until.ts'
import { collectLog } from './collect-log.ts'

const stops: (() => void)[] = []
afterEach(() => {
  for (const stop of stops.splice(0)) stop()
})

function open(checkStore: () => Promise<void>, upstreams: HealthOptions['upstreams'] = {}) {
  const { log, lines } = collectLog('info', { now: () => 0 })
  const health = createHealth({ checkStore, checkEveryMs: 5, upstreams, log })
  stops.push(health.stop)
  return { ...health, lines }
}

const refused = (code: string) => storeUnavailable(new DependencyFailure('refused', { code }))
const good = async () => undefined

test('a replica is ready once the store is proved, and stays ready when the store fails later', async () => {
  let down = true
  const health = open(async () => {
    if (down) throw refused('OOM')
  })
  await until(() => health.readiness().checks.store === 'failing')
  expect(health.readiness()).toEqual({ ready: false, draining: false, checks: { store: 'failing' } })
  down = false
  await health.started
  expect(health.readiness()).toEqual({ ready: true, draining: false, checks: { store: 'ok' } })
  down = true
  await until(() => health.readiness().checks.store === 'failing')
  expect(health.readiness().ready).toBe(true)
})

test('before the first check ends, the store is unknown and the replica not ready', () => {
  const health = open(() => new Promise(() => {}))
  expect(health.readiness()).toEqual({ ready: false, draining: false, checks: { store: 'unknown' } })
})

test('an error that is no failure of the store ends the start', async () => {
  const health = open(() => Promise.reject(new Error('wrong keys')))
  await expect(health.started).rejects.toThrow('wrong keys')
})

test('upstreams are shown, and do not affect readiness', async () => {
  const health = open(good, { authn_token: () => 'failing', pam: () => 'unknown' })
  await health.started
  const checks = { store: 'ok', authn_token: 'failing', pam: 'unknown' }
  expect(health.readiness()).toEqual({ ready: true, draining: false, checks })
})

test('a replica whose clock cannot be used is not ready', async () => {
  let isUsable = false
  const { log } = collectLog()
  const clock = { state: () => 'failing' as const, isUsable: () => isUsable }
  const health = createHealth({ checkStore: good, clock, log })
  stops.push(health.stop)
  await health.started
  const checks = { store: 'ok', clock: 'failing' }
  expect(health.readiness()).toEqual({ ready: false, draining: false, checks })
  isUsable = true
  expect(health.readiness()).toEqual({ ready: true, draining: false, checks })
})

test('a draining replica is not ready', async () => {
  const health = open(good)
  await health.started
  health.drain()
  expect(health.readiness()).toEqual({ ready: false, draining: true, checks: { store: 'ok' } })
})

test('each change of the store is logged once: failing, failing for another reason, passing', async () => {
  const errors = [undefined, 'first', 'first', 'second', undefined, undefined, 'first']
  const health = open(async () => {
    if (errors.length === 0) return new Promise<void>(() => {})
    const code = errors.shift()
    if (code !== undefined) throw refused(code)
  })
  await until(() => health.lines().length === 4)
  const time = '1970-01-01T00:00:00.000Z'
  const failed = { time, level: 'warn', event: 'store_check_failed', dependency: 'store', outcome: 'refused' }
  expect(health.lines()).toEqual([
    { ...failed, code: 'first' },
    { ...failed, code: 'second' },
    { time, level: 'info', event: 'store_check_passed' },
    { ...failed, code: 'first' },
  ])
})
