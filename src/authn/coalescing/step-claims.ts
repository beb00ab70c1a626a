import type { Seal } from '../../crypto/seal.ts'
import type { Claim, Settlement, Store } from '../../store/store.ts'
import { decodeOutcome, encodeOutcome, type StepOutcome } from '../transaction/step-outcome.ts'
import { transactionPlace } from '../transaction/transaction-store.ts'

/**
 * What the replicas tell each other of steps under way. All of one transaction lies in one Redis Cluster slot:
 *
 *     gatehouse:lock:{<name>}                      whose step is being taken: its token
 *     gatehouse:lock:{<name>}:<token>              how that step ended, sealed, for those who wait for it
 *     gatehouse:lock:{<name>}:poll:<fingerprint>   how the last poll ended, and where that is to be found: its word
 */
export interface StepClaims {
  /** Claims where the record lies; where there is none, under the last name that was tried. A failed claim leaves no lock. */
  claim(claimed: Claimed, token: string): Promise<StepClaim>
  /** Lets go of what was claimed, as if nothing had been. */
  release(claim: StepClaim): Promise<void>
  /** Whether what is written in the same turn before `settle` is there once it has settled. */
  keepsOrder(): boolean
  /** Ends the claim in one round trip; false: it came too late, and the record is as others left it. */
  settle(claim: StepClaim, settled: Settled): Promise<boolean>
  /** Takes back what `settle` shared. */
  unshare(claim: StepClaim): Promise<void>
  /** The outcome that lies there. `pending`: it does not stand yet, or never will; undefined: none that can be read. */
  outcomeAt(resultKey: string): Promise<StepOutcome | 'pending' | undefined>
  /** Where the outcome will lie of a step that another one holds. */
  resultOf(name: string, token: string): string
  /** The word of the last equal poll. */
  wordOf(name: string, fingerprint: string): Promise<string | undefined>
}

export interface Claimed {
  /** Where the transaction may lie (see `TransactionStore.names`), newest key first. */
  readonly names: readonly [string, ...string[]]
  /** Equal steps have equal fingerprints: device, handle, path, query and body in it. */
  readonly fingerprint: string
  /** It may be a poll: it shows nothing, and asks how things stand. */
  readonly polls?: boolean
}

/**
 * `value` is the record as it stands. `word` says how the last equal poll ended; while it begins with `waits`, a poll claims
 * nothing.
 */
export interface StepClaim extends Claim {
  readonly name: string
  readonly token: string
  /** Where the record lies. */
  readonly place: string
}

export interface Settled {
  readonly outcome: StepOutcome
  readonly record: Settlement['record']
  /** Of a poll only: how it ended, for the next one. */
  readonly poll?: { readonly fingerprint: string; readonly waits: boolean } | undefined
}

export interface StepClaimsParts {
  readonly store: Pick<Store, 'keepsOrder' | 'claim' | 'settle' | 'get' | 'delete' | 'deleteIf'>
  readonly seal: Seal
  /** Whether what an outcome speaks of is there: a session may be written a moment later than its outcome. */
  readonly stands: (outcome: StepOutcome) => Promise<boolean>
  readonly lockTtlMs: number
  readonly sharedAnswerMs: number
  readonly pollEveryMs: number
}

const WAITS = 'waits '

export function createStepClaims(parts: StepClaimsParts): StepClaims {
  const { store, seal, stands, lockTtlMs, sharedAnswerMs, pollEveryMs } = parts

  const lockKey = (name: string) => `gatehouse:lock:{${name}}`
  const resultOf = (name: string, token: string) => `${lockKey(name)}:${token}`
  const wordKey = (name: string, fingerprint: string) => `${lockKey(name)}:poll:${fingerprint}`

  const claimAt = async (name: string, { fingerprint, polls }: Claimed, token: string) => {
    try {
      return await store.claim({
        lockKey: lockKey(name),
        recordKey: transactionPlace(name),
        token,
        lockTtlMs,
        ...(polls === true ? { word: { key: wordKey(name, fingerprint), bar: WAITS } } : {}),
      })
    } catch (error) {
      // a store that stood still claims all the same once it goes on: this is carried out right behind it
      store.deleteIf(lockKey(name), token).catch(() => {}) // then the lock ends by itself
      throw error
    }
  }

  /** `waits` for as long as the next poll is held; `ended` for as long as its outcome can be read. */
  const wordFor = (name: string, key: string, { fingerprint, waits }: NonNullable<Settled['poll']>) => ({
    key: wordKey(name, fingerprint),
    value: `${waits ? WAITS : 'ended '}${key}`,
    ttlMs: waits ? pollEveryMs : sharedAnswerMs,
  })

  return {
    resultOf,
    keepsOrder: () => store.keepsOrder,

    async claim(claimed, token) {
      let earlier: string | undefined
      for (const name of claimed.names) {
        const claim = await claimAt(name, claimed, token)
        const isHere = !claim.claimed || claim.value !== undefined || name === claimed.names.at(-1)
        const word = claim.word ?? earlier
        if (isHere) return { ...claim, word, name, token, place: transactionPlace(name) }
        earlier = word
        await store.deleteIf(lockKey(name), token)
      }
      throw new Error('a flight has at least one name')
    },

    async release({ name, token }) {
      await store.deleteIf(lockKey(name), token)
    },

    settle({ name, token, place, value: expected }, { outcome, record, poll }) {
      const key = resultOf(name, token)
      return store.settle({
        lockKey: lockKey(name),
        recordKey: place,
        token,
        expected,
        record,
        result: { key, value: seal.seal(encodeOutcome(outcome), key), ttlMs: sharedAnswerMs },
        ...(poll === undefined || pollEveryMs === 0 ? {} : { word: wordFor(name, key, poll) }),
      })
    },

    async unshare({ name, token }) {
      await store.delete(resultOf(name, token))
    },

    async outcomeAt(key) {
      const sealed = await store.get(key)
      const text = sealed === undefined ? undefined : seal.open(sealed, key)
      const outcome = text === undefined ? undefined : decodeOutcome(text)
      return outcome === undefined || (await stands(outcome)) ? outcome : 'pending'
    },

    wordOf: (name, fingerprint) => store.get(wordKey(name, fingerprint)),
  }
}

/** The person is waited for still: the next poll is held. */
export function saysWait(word: string | undefined): word is string {
  return word?.startsWith(WAITS) === true
}

/** Where the outcome lies that the word speaks of. */
export function resultIn(word: string | undefined): string | undefined {
  return word?.slice(word.indexOf(' ') + 1)
}
