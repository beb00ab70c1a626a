import { afterEach, beforeEach, expect, test } from '@jest/globals'
import { createUserDevices } from '../../../src/authn/devices/user-devices.ts'
import { createTransaction } from '../../../src/authn/transaction/transaction.ts'
import { toReply } from '../../../src/authn/upstream/read-answer.ts'
import { createMetrics } from '../../../src/observability/metrics.ts'
import { createMemoryStore } from '../../../src/store/memory-store.ts'
import type { Store } from '../../../src/store/store.ts'
import { collectLog } from '../../observability/collect-log.ts'
import { CLIENT } from '../test-client.ts'

const [OLDER, NEWER] = [1, 2].map((byte) => Buffer.alloc(32, byte)) as [Buffer, Buffer]
const TTL_MS = 1_000_000
const ADA = { userId: '00u1ada', logins: ['ada'] }
const BOB = { userId: '00u2bob', logins: ['bob'] }

let clock = 0
let store: Store
/** The calls that forget a device, in order. */
let forgotten: unknown[]
beforeEach(() => {
  clock = 0
  store = createMemoryStore({ monotonic: () => 0 })
  forgotten = []
})
afterEach(() => store.close())

function devicesOn(keys = [OLDER], changed: Partial<Store> = {}) {
  const { log, lines } = collectLog()
  const devices = createUserDevices({
    store: { ...store, ...changed },
    masterKeys: () => keys,
    ttlMs: TTL_MS,
    tokens: { replace: async (deviceId) => void forgotten.push(['token', deviceId]) },
    forgetKnownDevice: async (user, deviceId) => void forgotten.push([user, deviceId]),
    log,
    metrics: createMetrics({ processMetrics: false }),
    now: () => clock,
  })
  return { ...devices, lines }
}

const on = (id: string) => ({ ...CLIENT, device: { id, returned: true } })
const idsOf = async ({ list }: ReturnType<typeof devicesOn>, { userId } = ADA) =>
  (await list(userId)).map(({ deviceId }) => deviceId)

test('a sign-in whose device cannot be stored still succeeds, and is logged', async () => {
  const indexPut = async () => {
    throw new Error('unreachable')
  }
  const { add, lines } = devicesOn([OLDER], { indexPut })
  await add(ADA, undefined, on('a'))
  expect(lines()).toMatchObject([{ level: 'warn', event: 'known_device_not_stored' }])
})

test('another user’s device is not forgotten by its id', async () => {
  const devices = devicesOn()
  await devices.add(ADA, true, on('a'))
  const [device] = await devices.list(ADA.userId)
  expect(await devices.forget(BOB.userId, device?.id ?? '')).toBe(0)
  expect(await devices.forget(BOB.userId)).toBe(0)
  expect([forgotten, await idsOf(devices)]).toEqual([[], ['a']])
})

test('a device stays in the list if it could not be forgotten completely', async () => {
  const devices = devicesOn()
  await devices.add(ADA, undefined, on('a'))
  const failing = createUserDevices({
    ...{ store, masterKeys: () => [OLDER], ttlMs: TTL_MS, now: () => clock },
    tokens: { replace: async () => {} },
    async forgetKnownDevice() {
      throw new Error('unreachable')
    },
    log: collectLog().log,
    metrics: createMetrics({ processMetrics: false }),
  })
  await expect(failing.forget(ADA.userId)).rejects.toThrow('unreachable')
  expect(await idsOf(devices)).toEqual(['a'])
})

test('forgetting replaces the token, and ends the known device under all names of the user', async () => {
  const devices = devicesOn()
  await devices.add({ ...ADA, logins: ['ada@corp.example'] }, undefined, on('a'))
  await devices.add(ADA, undefined, on('a'))
  await devices.add(BOB, undefined, on('a'))
  expect(await devices.forget(ADA.userId)).toBe(1)
  expect(forgotten).toEqual([
    ['token', 'a'],
    [{ userId: '00u1ada', logins: ['ada', 'ada@corp.example'] }, 'a'],
  ])
  expect([await idsOf(devices), await idsOf(devices, BOB)]).toEqual([[], ['a']])
})

test('the list has at most 50 devices: the one that was not used for the longest time is forgotten', async () => {
  const devices = devicesOn()
  for (let n = 0; n < 50; n += 1) {
    clock += 1
    await devices.add(ADA, undefined, on(`d${n}`))
  }
  await devices.add(ADA, undefined, on('d0')) // used again
  expect(forgotten).toEqual([])
  clock += 1
  await devices.add(ADA, undefined, on('another'))
  expect(forgotten).toContainEqual(['token', 'd1'])
  const ids = await idsOf(devices)
  expect([ids.length, ids[0], ids[1], ids.includes('d1')]).toEqual([50, 'another', 'd0', false])
})

test('a device is listed for as long as its cookie can be valid', async () => {
  const devices = devicesOn()
  await devices.add(ADA, true, on('a'))
  clock = TTL_MS - 1
  await devices.add(ADA, undefined, on('b'))
  expect(await idsOf(devices)).toEqual(['b', 'a'])
  clock = TTL_MS
  expect(await idsOf(devices)).toEqual(['b'])
  const body = { _embedded: { policy: { factorsPolicyInfo: { opf1: { autoPushEnabled: false } } } } }
  const reply = toReply({ status: 200, headers: {}, json: body, bytes: Buffer.alloc(0) })
  const before = createTransaction('a', 'ada', clock)
  const user = { id: ADA.userId, profile: {} }
  expect(await devices.showAutoPush(reply, before, user, on('a'))).toEqual({ reply, stored: false })
})

test('during a key rotation, a device is listed once, and forgotten under all keys', async () => {
  await devicesOn([OLDER]).add(ADA, true, on('a'))
  clock += 1
  const rotating = devicesOn([NEWER, OLDER])
  await rotating.add(ADA, undefined, on('a'))
  expect(await rotating.list(ADA.userId)).toMatchObject([{ deviceId: 'a', createdAtMs: 0, autoPush: true }])
  const [device] = await rotating.list(ADA.userId)
  expect(await rotating.forget(ADA.userId, device?.id ?? '')).toBe(1)
  expect([await idsOf(rotating), await idsOf(devicesOn([OLDER]))]).toEqual([[], []])
})

const WEBKIT = 'AppleWebKit/537.36 (KHTML, like Gecko)'

test.each([
  [`Mozilla/5.0 (X11; Linux x86_64) ${WEBKIT} Chrome/142.0.0.0 Safari/537.36`, 'Chrome on Linux'],
  [
    `Mozilla/5.0 (Windows NT 10.0; Win64; x64) ${WEBKIT} Chrome/142.0.0.0 Safari/537.36 Edg/142.0`,
    'Edge on Windows',
  ],
  [
    `Mozilla/5.0 (Windows NT 10.0; Win64; x64) ${WEBKIT} Chrome/142.0.0.0 Safari/537.36 OPR/120.0`,
    'Opera on Windows',
  ],
  ['Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:144.0) Gecko/20100101 Firefox/144.0', 'Firefox on Windows'],
  [
    'Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/26.0 Safari/605.1.15',
    'Safari on macOS',
  ],
  [
    'Mozilla/5.0 (iPhone; CPU iPhone OS 18_6 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) CriOS/142.0 Mobile/15E148 Safari/604.1',
    'Chrome on iPhone',
  ],
  [
    'Mozilla/5.0 (iPad; CPU OS 18_6 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) FxiOS/144.0 Mobile/15E148 Safari/605.1.15',
    'Firefox on iPad',
  ],
  [
    `Mozilla/5.0 (Linux; Android 15; SM-S931B) ${WEBKIT} SamsungBrowser/28.0 Chrome/130.0.0.0 Mobile Safari/537.36`,
    'Samsung Internet on Android',
  ],
  [
    `Mozilla/5.0 (X11; CrOS x86_64 16181.61.0) ${WEBKIT} Chrome/142.0.0.0 Safari/537.36`,
    'Chrome on ChromeOS',
  ],
  ['curl/8.5.0', 'Browser on an unknown system'],
  ['', 'Browser on an unknown system'],
])('the label of a device with the User-Agent %s', async (userAgent, label) => {
  const devices = devicesOn()
  await devices.add(ADA, undefined, { ...on('a'), userAgent })
  expect(await devices.list(ADA.userId)).toMatchObject([{ label }])
})
