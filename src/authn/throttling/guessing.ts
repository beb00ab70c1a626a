import { type BrokerError, rateLimited } from '../../errors.ts'
import type { Logger } from '../../observability/logger.ts'
import type { Metrics } from '../../observability/metrics.ts'
import type { UserKeys } from '../../session/user-keys.ts'
import type { Counted, Counting } from '../../store/counting.ts'
import type { Store } from '../../store/store.ts'
import type { StepAudit } from '../audit.ts'
import type { Client } from '../browser/client.ts'
import type { Beside } from '../coalescing/step-flights.ts'
import type { Exchanged } from '../transaction/exchanged.ts'
import type { Attempt } from './attempts.ts'
import type { Countings, LabelledCounting, PersonalCounting, PersonNames } from './countings.ts'
import { isSpent, mayHaveGoneOut } from './spent.ts'

/**
 * How often somebody may guess (DESIGN §4; docs/security.md says which limits there are and why). An attempt is
 * taken from every limit before anything goes upstream, and given back when it turned out to be none.
 *
 * Cost: one round trip to Redis before the call, whatever the number of limits: what belongs to a person is one
 * script on one slot, what belongs to an address another, and both leave in the same tick (one look more as long as
 * SECRET_KEYS holds more than one key). Where the request itself says who is meant, it is the one in which the step
 * is claimed. Nobody waits for what is given back: it goes out with the step's settlement.
 */
export interface Guessing {
  /**
   * Does the work if every limit allows it, else throws 429 E0000047. With the store out of reach it throws 503,
   * and nothing is done. `undefined` is no attempt at all.
   */
  guard(attempt: Attempt | undefined, client: Client, work: () => Promise<Exchanged>): Promise<Exchanged>
  /** The same in two parts, for who can ask before it is known whether the work is to be done. */
  trial(attempt: Attempt, client: Client): Trial
  /** This browser has fully signed this person in: it is known from now on, and failures in a row begin anew. */
  remember(person: PersonNames, client: Client): Promise<void>
  /** Whether this device has fully signed the user in before; false if neither user id nor login is given. */
  isKnownDevice(user: Pick<Attempt, 'userId' | 'login'>, client: Client): Promise<boolean>
  /** What is counted against a person over all browsers begins anew; with the store out of reach it throws 503. */
  forgive(person: PersonNames): Promise<void>
}

/** One attempt. It counts from `ask` on, but nobody is refused, and nothing told of a refusal, before `guard`. */
export interface Trial extends Beside {
  /** As `Guessing.guard`; asks if nobody has, or if what was asked is dropped by now. */
  guard(work: () => Promise<Exchanged>): Promise<Exchanged>
}

export interface GuessingParts {
  readonly store: Pick<Store, 'count' | 'uncount' | 'endCounts' | 'get' | 'set'>
  readonly countings: Countings
  readonly knownMs: number
  /** Known devices end with all sessions of their user. */
  readonly knownDevices: Pick<UserKeys, 'add'>
  readonly audit: StepAudit
  readonly log: Logger
  readonly metrics: Metrics
  readonly now: () => number
}

type CountingLimit = Pick<Counting, 'notAfterMs'>

/** Half of what a store operation may take. Should its clock be ahead of ours by more, each attempt is asked for twice. */
const COUNT_WITHIN_MS = 1000

/** Longer than it takes to count an attempt. */
const CARRIED_MS = 60_000

/** One place's answer. */
interface Taken extends Counted {
  readonly counting: LabelledCounting
}

export function createGuessing(parts: GuessingParts): Guessing {
  const { store, countings, knownMs, knownDevices, audit, log, metrics, now } = parts

  const giveBack = ({ requestId }: Client, taken: readonly Taken[]): void => {
    for (const { counting, countedIn } of taken) {
      store
        .uncount(counting.place, countedIn)
        .catch((error: unknown) => log.warn('attempt_not_given_back', { requestId }, error))
    }
  }

  /** Both places at once; if one can't be asked, nothing stays counted at the other. */
  const countAll = async (
    counted: readonly LabelledCounting[],
    client: Client,
    limit: CountingLimit,
  ): Promise<Taken[]> => {
    const answers = await Promise.allSettled(counted.map((counting) => take(counting, limit)))
    const taken = answers.flatMap((answer) => (answer.status === 'fulfilled' ? [answer.value] : []))
    const failure = answers.find((answer) => answer.status === 'rejected')
    if (failure === undefined) return taken
    giveBack(client, taken)
    throw failure.reason
  }

  const take = async (counting: LabelledCounting, limit: CountingLimit): Promise<Taken> => ({
    counting,
    ...(await store.count({ ...counting, ...limit })),
  })

  /**
   * While SECRET_KEYS change: a browser that is known by an older key is known by the newest one too. Only for this attempt,
   * as nothing ends the new mark when all sessions of the user end: the index of known devices names the old one.
   */
  const carryMark = async ({ mark, formerMarks }: PersonalCounting): Promise<void> => {
    for (const place of formerMarks) {
      if ((await store.get(place)) === undefined) continue
      await store.set(mark, '1', Math.min(knownMs, CARRIED_MS), 'absent')
      return // the old one stays: another replica may still go by it
    }
  }

  const takeAll = async (attempt: Attempt, client: Client, limit: CountingLimit = {}): Promise<Taken[]> => {
    const personal = countings.personal(attempt, client)
    if (personal !== undefined && personal.formerMarks.length > 0) await carryMark(personal)
    const counted = [personal, countings.local(attempt, client)]
    return countAll(
      counted.filter((counting) => counting !== undefined),
      client,
      limit,
    )
  }

  /** What stays counted until the outcome is known. Nothing stays when a limit refuses. */
  const heldOrRefused = (all: readonly Taken[], attempt: Attempt, client: Client): readonly Taken[] => {
    const isKnown = all.some(({ instead }) => instead)
    const held = isKnown ? all.filter(({ instead }) => instead) : all
    const refusal = refusalIn(held, attempt, client)
    if (refusal !== undefined) {
      giveBack(client, all)
      throw refusal
    }
    giveBack(
      client,
      all.filter((taken) => !held.includes(taken)),
    ) // the address does not matter to who is known
    return held
  }

  const refusalIn = (taken: readonly Taken[], attempt: Attempt, client: Client): BrokerError | undefined => {
    const [longest] = taken.flatMap(hitOf).sort((one, other) => other.leftMs - one.leftMs)
    if (longest === undefined) return undefined
    const { label, most, leftMs } = longest
    const retryAfterSeconds = Math.max(1, Math.ceil(leftMs / 1000))
    const { operation, factorType, login, userId } = attempt
    metrics.limitHits.inc({ limit: label })
    audit.limitHit({ limit: label, operation, factorType, login, userId, retryAfterSeconds }, client)
    return rateLimited({
      limit: most,
      resetAtSeconds: Math.ceil((now() + leftMs) / 1000),
      retryAfterSeconds,
    })
  }

  const trial: Guessing['trial'] = (attempt, client) => {
    let asked: Promise<Taken[]> | undefined
    // whoever asked may be gone long since when a store that stood still counts: nobody would give that back
    const takeSoon = () => takeAll(attempt, client, { notAfterMs: now() + COUNT_WITHIN_MS })
    return {
      ask() {
        asked = takeSoon()
        asked.catch(() => {}) // whoever guards is told
      },

      drop() {
        asked?.then(
          (taken) => giveBack(client, taken),
          () => {}, // what can't be asked has taken nothing
        )
        asked = undefined
      },

      async guard(work) {
        const asking = asked ?? takeSoon()
        asked = undefined // from here on it is given back here
        let all = await asking
        if (all.some(({ late }) => late)) {
          giveBack(client, all)
          all = await takeAll(attempt, client)
        }
        const taken = heldOrRefused(all, attempt, client)
        try {
          const exchanged = await work()
          if (!isSpent(attempt.defence, exchanged)) giveBack(client, taken)
          return exchanged
        } catch (error) {
          if (!mayHaveGoneOut(attempt.defence, error)) giveBack(client, taken)
          throw error
        }
      },
    }
  }

  return {
    trial,

    guard: (attempt, client, work) => (attempt === undefined ? work() : trial(attempt, client).guard(work)),

    async remember(person, client) {
      const keys = countings.ofPerson(person, client)
      try {
        await Promise.all(
          keys.flatMap(({ mark, place, inARow }) => [
            store.endCounts(place, inARow, { key: mark, ttlMs: knownMs }),
            knownDevices.add(person.userId, mark, knownMs),
          ]),
        )
      } catch (error) {
        // the sign-in stands all the same: this browser is a stranger until the next one
        log.warn('device_not_remembered', { requestId: client.requestId }, error)
      }
    },

    async isKnownDevice(user, client) {
      for (const key of countings.knownDeviceKeys(user, client))
        if ((await store.get(key)) !== undefined) return true
      return false
    },

    async forgive(person) {
      const counted = countings.overBrowsers(person)
      await Promise.all(counted.map(({ place, windows }) => store.endCounts(place, windows)))
    },
  }
}

function hitOf({ counting, instead, full }: Taken): { label: string; most: number; leftMs: number }[] {
  if (full === undefined) return []
  const window = (instead ? counting.instead?.windows : counting.windows)?.[full.index]
  return window === undefined ? [] : [{ label: window.label, most: window.most, leftMs: full.leftMs }]
}
