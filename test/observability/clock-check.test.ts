import { expect, test } from '@jest/globals'
import { createClockCheck } from '../../src/observability/clock-check.ts'
import { createMetrics } from '../../src/observability/metrics.ts'
import { collectLog } from './collect-log.ts'

const NOON = Date.parse('2026-01-02T12:00:00Z')
const SECOND = 1000
const HOUR = 3_600_000

interface Clocks {
  own: number
  store: number
  authn?: number | undefined
  pam?: number | undefined
}

function createTested(given: Partial<Clocks>) {
  const clocks: Clocks = { own: NOON, store: NOON, ...given }
  const { log, lines } = collectLog('info', { now: () => 0 })
  const metrics = createMetrics()
  const clock = createClockCheck({
    storeTime: async () => clocks.store,
    upstreamTimes: { authn: () => clocks.authn, pam: () => clocks.pam },
    now: () => clocks.own,
    log,
    metrics,
  })
  const offsets = async () =>
    Object.fromEntries(
      (await metrics.clockOffset.get()).values.map(({ labels, value }) => [labels.source, value]),
    )
  const events = () =>
    lines().map(({ level, event, dependency, offsetMs }) => [level, event, dependency, offsetMs])
  return { clock, clocks, offsets, events }
}

test.each<[what: string, clocks: Partial<Clocks>, state: string, isUsable: boolean]>([
  ['all agree', { authn: NOON, pam: NOON }, 'ok', true],
  ['all agree within 30 s', { store: NOON - 30 * SECOND, authn: NOON + 30 * SECOND }, 'ok', true],
  ['Redis alone is known and disagrees', { store: NOON + HOUR }, 'failing', true],
  ['Redis disagrees, Okta agrees', { store: NOON + HOUR, authn: NOON }, 'failing', true],
  ['Redis and Okta disagree', { store: NOON + HOUR, authn: NOON + HOUR }, 'failing', false],
  ['the clock is ahead of both', { store: NOON - HOUR, authn: NOON - HOUR }, 'failing', false],
  ['Redis and Okta disagree by 5 min', { store: NOON + 300_000, authn: NOON + 300_000 }, 'failing', true],
  ['one of two upstreams agrees', { store: NOON + HOUR, authn: NOON + HOUR, pam: NOON }, 'failing', true],
  ['Redis agrees, Okta disagrees', { authn: NOON - HOUR }, 'failing', true],
])('%s: %j', async (_what, clocks, state, isUsable) => {
  const { clock } = createTested(clocks)
  expect([clock.state(), clock.isUsable()]).toEqual(['unknown', true])
  await clock.check()
  expect([clock.state(), clock.isUsable()]).toEqual([state, isUsable])
})

test('the line is logged once while it lasts, and again the next time', async () => {
  const { clock, clocks, offsets, events } = createTested({ authn: NOON })
  await clock.check()
  clocks.own = NOON + HOUR
  await clock.check()
  await clock.check()
  expect(await offsets()).toEqual({ store: 3600, authn: 3600 })
  clocks.own = NOON
  await clock.check()
  clocks.own = NOON - HOUR
  await clock.check()
  expect(await offsets()).toEqual({ store: -3600, authn: -3600 })
  expect(events()).toEqual([
    ['error', 'clock_disagrees', 'store', HOUR],
    ['info', 'clock_agrees', undefined, undefined],
    ['error', 'clock_disagrees', 'store', -HOUR],
  ])
})

test('the time that the answer of Redis takes does not count', async () => {
  const { clock, clocks, offsets } = createTested({})
  // the process was frozen
  Object.defineProperty(clocks, 'own', { get: times(NOON - HOUR, NOON + HOUR) })
  await clock.check()
  expect([clock.state(), await offsets()]).toEqual(['ok', { store: 0 }])
})

/** Returns each value once, and the last one from then on. */
function times(...values: number[]): () => number {
  return () => (values.length > 1 ? values.shift() : values[0]) ?? 0
}
