import { createSeal, labelledKeys, type MasterKeys } from '../crypto/keys.ts'
import { KEYS, keyOf } from './keys.ts'
import type { Store } from './store.ts'

/**
 * An index with one value for each of the SECRET_KEYS in use; the field is the id of the key, as in
 * every sealed value.
 */
export const registryKey = (store: Pick<Store, 'keyPrefix'>) => keyOf(store, KEYS.keyRegistry)
const LABEL = 'keys'

export interface KeyRegistryOptions {
  readonly store: Pick<Store, 'keyPrefix' | 'indexAll' | 'indexPut' | 'indexRemove'>
  readonly masterKeys: MasterKeys
  /** As long as a session can live: a removed key is forgotten when no session needs it. */
  readonly ttlMs: number
  readonly now: () => number
}

/**
 * Detects SECRET_KEYS that would sign all users out: names of records are HMACs, so a wrong key
 * finds nothing, without any error. Returns a function that renews the values of its own keys.
 * False, once at the first call: there are values, and no key opens one.
 */
export function createKeyRegistry({ store, masterKeys, ttlMs, now }: KeyRegistryOptions) {
  const ids = labelledKeys(masterKeys, LABEL).map(({ id }) => id.toString('hex'))
  const own = masterKeys.map((key, n) => ({ id: ids[n] ?? '', seal: createSeal([key], LABEL) }))
  const registry = registryKey(store)
  let isAccepted = false

  return async (): Promise<boolean> => {
    const values = await store.indexAll(registry)
    const { opened, unopened, expired } = judgeKeys(values, registry, masterKeys, now())
    if (!isAccepted && opened.length === 0 && unopened.length > 0) return false
    isAccepted = true
    const expiresAt = String(now() + ttlMs)
    await Promise.all([
      ...own.map(({ id, seal }) =>
        store.indexPut(registry, id, `${expiresAt} ${seal.seal(expiresAt, registry)}`, ttlMs),
      ),
      ...expired.filter((id) => !ids.includes(id)).map((id) => store.indexRemove(registry, id)),
    ])
    return true
  }
}

/**
 * The ids of the keys in the registry: those that `masterKeys` open, the others, and those that no
 * replica renews.
 */
export function judgeKeys(
  values: Readonly<Record<string, string>>,
  registry: string,
  masterKeys: MasterKeys,
  nowMs: number,
) {
  const seal = createSeal(masterKeys, LABEL)
  const verdicts = Object.entries(values).map(([id, value]) => {
    const [expiresAt, sealed = ''] = value.split(' ')
    if (!(Number(expiresAt) > nowMs)) return { id, verdict: 'expired' }
    return { id, verdict: seal.open(sealed, registry) === undefined ? 'unopened' : 'opened' }
  })
  const idsOf = (verdict: string) =>
    verdicts.filter((judged) => judged.verdict === verdict).map(({ id }) => id)
  return { opened: idsOf('opened'), unopened: idsOf('unopened'), expired: idsOf('expired') }
}

/** The problem, after `SECRET_KEYS`, and its fix. */
export const unknownKeys = (registry: string): [problem: string, fix: string] => [
  `opens none of the values in ${registry}, so no replica that uses this Redis shares a key`,
  `All users would be signed out. Put the lost key back, or add a new key after it (old,new). To begin anew on purpose: stop all replicas, redis-cli DEL ${registry}, start again.`,
]
