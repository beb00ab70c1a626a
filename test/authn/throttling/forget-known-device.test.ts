import { afterEach, beforeEach, expect, test } from '@jest/globals'
import { createForgetKnownDevice } from '../../../src/authn/throttling/forget-known-device.ts'
import { createThrottling } from '../../../src/authn/throttling/throttling.ts'
import { defaultTunables } from '../../../src/config/load-config.ts'
import { createSigner } from '../../../src/crypto/keys.ts'
import { createMetrics } from '../../../src/observability/metrics.ts'
import { createLoginNames } from '../../../src/session/login-names.ts'
import { createMemoryStore } from '../../../src/store/memory-store.ts'
import type { Store } from '../../../src/store/store.ts'
import { collectLog } from '../../observability/collect-log.ts'
import { CLIENT } from '../test-client.ts'

const [OLDER, NEWER] = [1, 2].map((byte) => Buffer.alloc(32, byte)) as [Buffer, Buffer]
const ADA = { userId: '00u1ada', logins: ['ada', 'ada@corp.example'] }
const OTHER = { ...CLIENT, device: { id: 'e'.repeat(32), returned: true } }

let store: Store
/** The index of known devices, as `user key`. */
let index: Set<string>
beforeEach(() => {
  store = createMemoryStore()
  index = new Set()
})
afterEach(() => store.close())

function on(keys: Buffer[]) {
  const { log } = collectLog()
  const deps = {
    store,
    names: createSigner(() => keys, 'limit-names'),
    logins: createLoginNames([]),
    knownDevices: {
      add: async (userId: string, key: string) => void index.add(`${userId} ${key}`),
      remove: async (userId: string, key: string) => void index.delete(`${userId} ${key}`),
    },
  }
  const throttling = createThrottling({
    ...deps,
    ...{ limits: defaultTunables().limits, knownMs: 60_000, log, now: Date.now },
    audit: { limitHit: () => {} },
    metrics: createMetrics({ processMetrics: false }),
  })
  return { ...throttling, forget: createForgetKnownDevice(deps) }
}

test('a device is forgotten under each name and key; other devices and users stay known', async () => {
  await on([OLDER]).rememberDevice(ADA, CLIENT)
  const { rememberDevice, forget, isKnownDevice } = on([NEWER, OLDER])
  await rememberDevice(ADA, CLIENT)
  expect(index.size).toBe(6)
  await rememberDevice(ADA, OTHER)
  await rememberDevice({ userId: '00u2', logins: ['bob'] }, CLIENT)
  await forget(ADA, CLIENT.device.id)
  for (const user of [{ userId: '00u1ada' }, { login: 'ada' }, { login: 'ada@corp.example' }]) {
    expect(await isKnownDevice(user, CLIENT)).toBe(false)
    expect(await isKnownDevice(user, OTHER)).toBe(true)
  }
  expect(await isKnownDevice({ login: 'bob' }, CLIENT)).toBe(true)
  expect(index.size).toBe(3 + 2)
})
