import { afterEach, beforeEach, describe, expect, test } from '@jest/globals'
import { createDeviceTokens, type DeviceTokens } from '../../../src/authn/browser/client.ts'
import { createMetrics } from '../../../src/observability/metrics.ts'
import { createMemoryStore } from '../../../src/store/memory-store.ts'
import type { Store } from '../../../src/store/store.ts'
import { collectLog } from '../../observability/collect-log.ts'
import { deferred } from '../../support/deferred.ts'
import { until } from '../../support/until.ts'

const [OLDER, NEWER] = [1, 2].map((byte) => Buffer.alloc(32, byte)) as [Buffer, Buffer]
const ID = 'd'.repeat(32)
const TTL_MS = 1000

let clock = 0
let store: Store
beforeEach(() => {
  clock = 0
  store = createMemoryStore({ monotonic: () => clock })
})
afterEach(() => store.close())

function tokensOn(keys = [OLDER], changed: Partial<Store> = {}): DeviceTokens {
  return createDeviceTokens({
    store: { ...store, ...changed },
    masterKeys: () => keys,
    ttlMs: TTL_MS,
    log: collectLog().log,
    metrics: createMetrics({ processMetrics: false }),
  })
}
/** The token in a new request of the device. */
const tokenOf = (tokens: DeviceTokens, id = ID) => tokens.of({ id, returned: true })

describe('if the store cannot be read', () => {
  const down = async () => {
    throw new Error('unreachable')
  }

  test('there is no token: the one of a forgotten device must not be sent', async () => {
    await expect(tokenOf(tokensOn([OLDER], { get: down }))).rejects.toThrow('unreachable')
  })
})

test('the token of a device is its id, until it is replaced; other devices keep theirs', async () => {
  const tokens = tokensOn()
  expect(await tokenOf(tokens)).toBe(ID)
  await tokens.replace(ID)
  const replaced = await tokenOf(tokens)
  expect(replaced).toMatch(/^[0-9a-f]{32}$/)
  expect(replaced).not.toBe(ID)
  expect(await tokenOf(tokensOn())).toBe(replaced)
  expect(await tokenOf(tokens, 'e'.repeat(32))).toBe('e'.repeat(32))
  await tokens.replace(ID)
  expect(await tokenOf(tokens)).not.toBe(replaced)
})

test('it is read once per request', async () => {
  let reads = 0
  const get: Store['get'] = (key) => {
    reads += 1
    return store.get(key)
  }
  const tokens = tokensOn([OLDER], { get })
  const device = { id: ID, returned: true }
  expect(await Promise.all([tokens.of(device), tokens.of(device)])).toEqual([ID, ID])
  expect(reads).toBe(1)
})

describe('a renewed cookie', () => {
  test('prolongs the life of a replaced token', async () => {
    const tokens = tokensOn()
    await tokens.replace(ID)
    const replaced = await tokenOf(tokens)
    clock = TTL_MS - 1
    const written = deferred()
    const extendIf: Store['extendIf'] = async (...parameters) => {
      await store.extendIf(...parameters)
      written.resolve()
      return true
    }
    tokensOn([OLDER], { extendIf }).renew(ID)
    await written.promise
    clock += TTL_MS - 1
    expect(await tokenOf(tokens)).toBe(replaced)
    clock += 1
    expect(await tokenOf(tokens)).toBe(ID)
  })

  test('keeps a replaced token when an older key is removed', async () => {
    await tokensOn([OLDER]).replace(ID)
    const rotating = tokensOn([NEWER, OLDER])
    const replaced = await tokenOf(rotating)
    expect(replaced).not.toBe(ID)
    rotating.renew(ID)
    await until(async () => (await tokenOf(tokensOn([NEWER]))) === replaced)
  })

  test.each([
    ['', [OLDER]],
    [', during a key rotation', [NEWER, OLDER]],
  ])('does not bring back the token of a device that is forgotten meanwhile%s', async (_when, keys) => {
    await tokensOn([OLDER]).replace(ID)
    const before = await tokenOf(tokensOn(keys))
    const tokens = tokensOn(keys)
    const written = deferred()
    const read = deferred()
    const forgottenAgain = deferred()
    const get: Store['get'] = async (key) => {
      const value = await store.get(key)
      if (value === undefined) return undefined
      read.resolve()
      await forgottenAgain.promise
      return value
    }
    const write =
      <Parameters extends unknown[], Result>(operation: (...parameters: Parameters) => Promise<Result>) =>
      (...parameters: Parameters) =>
        operation(...parameters).finally(() => written.resolve())
    tokensOn(keys, { get, set: write(store.set), extendIf: write(store.extendIf) }).renew(ID)
    await read.promise
    await tokens.replace(ID)
    forgottenAgain.resolve()
    await written.promise
    expect(await tokenOf(tokensOn(keys))).not.toBe(before)
  })

  test('writes nothing for a device that was never forgotten', async () => {
    const written: string[] = []
    const set: Store['set'] = async (key) => {
      written.push(key)
      return true
    }
    const get: Store['get'] = async () => undefined
    const tokens = tokensOn([OLDER], { get, set, extendIf: set })
    tokens.renew(ID)
    await new Promise((resolve) => setImmediate(resolve))
    expect(written).toEqual([])
  })
})
