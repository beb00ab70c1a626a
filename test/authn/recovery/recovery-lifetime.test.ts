import { afterEach, beforeEach, expect, test } from '@jest/globals'
import { createRecoveryLifetime } from '../../../src/authn/recovery/recovery-lifetime.ts'
import { createMemoryStore } from '../../../src/store/memory-store.ts'
import { collectLog } from '../../observability/collect-log.ts'

const CONFIGURED_MS = 240_000
const DATE = 'Sun, 01 Nov 2026 10:00:00 GMT'

let store: ReturnType<typeof createMemoryStore>
beforeEach(() => {
  store = createMemoryStore()
})
afterEach(() => store.close())

function replica() {
  const { log, lines } = collectLog()
  return { ...createRecoveryLifetime({ store, configuredMs: CONFIGURED_MS, log }), lines }
}

/** An answer of Okta with this lifetime. */
const giving = (seconds: number) => ({
  body: { expiresAt: new Date(Date.parse(DATE) + seconds * 1000).toISOString() },
  date: DATE,
})

test('the configured lifetime is advertised if Okta’s lifetime is not shorter', async () => {
  const { advertisedMs, adjustMs, lines } = replica()
  for (const seconds of [241, 300, 3600]) {
    expect(await adjustMs(await advertisedMs(), giving(seconds))).toBe(CONFIGURED_MS)
  }
  expect(await advertisedMs()).toBe(CONFIGURED_MS)
  expect(lines()).toEqual([])
})

test.each([
  [240, 230_000],
  [120, 110_000],
  [119, 110_000],
  [61, 60_000],
])('Okta’s lifetime is %s s: from then on, all replicas advertise %s ms', async (seconds, wanted) => {
  const one = replica()
  expect(await one.adjustMs(await one.advertisedMs(), giving(seconds))).toBe(wanted)
  const other = replica()
  expect(await one.advertisedMs()).toBe(wanted)
  expect(await other.adjustMs(await other.advertisedMs(), undefined)).toBe(wanted)
  expect(await other.adjustMs(await other.advertisedMs(), giving(3600))).toBe(wanted)
  expect(one.lines()).toMatchObject([{ event: 'recovery_lifetime_lowered', lifetimeMs: wanted }])
  expect(other.lines()).toEqual([])
})

test.each<[string, Parameters<ReturnType<typeof replica>['adjustMs']>[1]]>([
  ['no expiresAt', { body: {}, date: DATE }],
  ['an unreadable one', { body: { expiresAt: 'soon' }, date: DATE }],
  ['no Date', { ...giving(60), date: undefined }],
  ['one that is past', giving(-60)],
  ['a very short one', giving(10)],
])('%s does not change the lifetime', async (_, reply) => {
  const { advertisedMs, adjustMs } = replica()
  expect(await adjustMs(await advertisedMs(), reply)).toBe(CONFIGURED_MS)
  expect(await advertisedMs()).toBe(CONFIGURED_MS)
})

test.each(['', 'x', '-1', '0', '9', '1e999', '999999999'])('a stored %j is ignored', async (stored) => {
  await store.set('gatehouse:recovery:lifetime', stored, 60_000)
  expect(await replica().advertisedMs()).toBe(CONFIGURED_MS)
})

test('a shorter lifetime that Okta does not confirm again is forgotten after 30 days', async () => {
  const DAY_MS = 86_400_000
  let nowMs = 0
  const aging = createMemoryStore({ monotonic: () => nowMs })
  const { log } = collectLog()
  const { advertisedMs, adjustMs } = createRecoveryLifetime({
    store: aging,
    configuredMs: CONFIGURED_MS,
    log,
  })
  await adjustMs(await advertisedMs(), giving(61))
  nowMs = 29 * DAY_MS
  await adjustMs(await advertisedMs(), giving(120)) // also renewed by any other lifetime below the configured one
  nowMs = 58 * DAY_MS
  expect(await adjustMs(await advertisedMs(), giving(300))).toBe(60_000)
  nowMs = 60 * DAY_MS
  expect(await advertisedMs()).toBe(CONFIGURED_MS)
  await aging.close()
})
