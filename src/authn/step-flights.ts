import { setTimeout as pause } from 'node:timers/promises'
import pLimit, { type LimitFunction } from 'p-limit'
import { v4 as uuid } from 'uuid'
import type { Seal } from '../crypto/seal.ts'
import { BrokerError, stepInProgress } from '../errors.ts'
import type { Metrics } from '../observability/metrics.ts'
import type { Claim, Settlement, Store } from '../store/store.ts'
import { decodeOutcome, encodeOutcome, errorOf, refusalOf, type StepOutcome } from './step-outcome.ts'
import { transactionPlace } from './transaction-store.ts'

/**
 * One step at a time in a transaction, over all replicas; equal steps in flight at once are one upstream call, and
 * all of them get its outcome. A later equal step is a new attempt. A holder that was too slow never overwrites
 * what came after it.
 *
 * A poll that was told to wait is asked again at most once in `pollEveryMs`: one that comes sooner is held for the rest of
 * that time, and then it is a new attempt like any other. So nobody gets an older answer, and a browser that
 * polls without a pause uses up nobody's rate limit.
 */
export interface StepFlights {
  run(flight: Flight, work: StepWork): Promise<StepOutcome>
}

export interface Flight {
  /** Where the transaction may lie (see `TransactionStore.names`), newest key first. */
  readonly names: readonly [string, ...string[]]
  /** Equal steps have equal fingerprints: device, handle, path, query and body in it. */
  readonly fingerprint: string
  /** It may be a poll: it shows nothing, and asks how things stand. */
  readonly polls?: boolean
}

/** Does the step. `place` and `raw` are the record as claimed; what it returns is written in one go. */
export type StepWork = (place: string, raw: string | undefined) => Promise<StepDone>

export interface StepDone {
  readonly outcome: StepOutcome
  readonly record: Settlement['record']
  /** Somebody is still waited for: the next equal step is a poll. */
  readonly waits?: boolean
  /** What is to be done only once the record is written. */
  readonly settled?: () => Promise<void>
  /** Takes back what the step did beside the record, when the record turned out to be a newer one by now. */
  readonly undo?: () => Promise<void>
}

export interface StepFlightsParts {
  readonly store: Store
  readonly seal: Seal
  readonly metrics: Metrics
  readonly lockTtlMs: number
  readonly waitMs: number
  readonly sharedAnswerMs: number
  readonly pollEveryMs: number
  readonly monotonic?: () => number
}

/** How often another replica's step is looked at: soon at first, then less and less. */
const FIRST_POLL_MS = 25
const LAST_POLL_MS = 250
/** Steps of one transaction that may wait in this process; more are answered at once. */
const MAX_WAITING = 5
/** Equal steps that may wait for one outcome in this process: else one browser could take up every place there is. */
const MAX_SHARING = 20

export function createStepFlights(parts: StepFlightsParts): StepFlights {
  const {
    store,
    seal,
    metrics,
    lockTtlMs,
    waitMs,
    sharedAnswerMs,
    pollEveryMs,
    monotonic = () => performance.now(),
  } = parts
  const inFlight = new Map<string, Flying>()
  const lines = new Map<string, LimitFunction>()

  const lockKey = (name: string) => `gatehouse:lock:{${name}}`
  const resultKey = (name: string, token: string) => `gatehouse:lock:{${name}}:${token}`
  /** How the last poll ended, and where its outcome lies: `waits`, for as long as the next one is held, or `ended`. */
  const pollKey = ({ names, fingerprint }: Flight) => `gatehouse:lock:{${names[0]}}:poll:${fingerprint}`

  const sharedOutcome = async (key: string): Promise<StepOutcome | undefined> => {
    const sealed = await store.get(key)
    const text = sealed === undefined ? undefined : seal.open(sealed, key)
    return text === undefined ? undefined : decodeOutcome(text)
  }

  /** Claims where the record lies; where there is none, under the last name that was tried. */
  const claim = async (names: Flight['names'], token: string): Promise<Claim & { name: string }> => {
    for (const name of names) {
      const made = await store.claim({
        lockKey: lockKey(name),
        recordKey: transactionPlace(name),
        token,
        lockTtlMs,
      })
      if (!made.claimed || made.value !== undefined || name === names.at(-1)) return { ...made, name }
      await store.deleteIf(lockKey(name), token)
    }
    throw new Error('a flight has at least one name')
  }

  const perform = async (
    { name, value: raw }: Claim & { name: string },
    token: string,
    flight: Flight,
    work: StepWork,
  ) => {
    let done: StepDone
    try {
      done = await work(transactionPlace(name), raw)
    } catch (error) {
      if (!(error instanceof BrokerError)) {
        await store.deleteIf(lockKey(name), token)
        throw error
      }
      done = { outcome: refusalOf(error), record: 'keep' }
      await settle(name, token, raw, done)
      throw error // with its cause, for our own log
    }
    const [settled] = await Promise.all([
      settle(name, token, raw, done),
      flight.polls ? leaveWord(flight, resultKey(name, token), done.waits === true) : undefined,
    ])
    if (settled) {
      await done.settled?.()
      return done.outcome
    }
    await store.delete(resultKey(name, token)) // what is undone is not shared either
    await done.undo?.()
    throw stepInProgress()
  }

  /** For those who hold a poll on other replicas. */
  const leaveWord = async (flight: Flight, key: string, waits: boolean) => {
    if (pollEveryMs === 0) return
    await store.set(
      pollKey(flight),
      `${waits ? 'waits' : 'ended'} ${key}`,
      waits ? pollEveryMs : sharedAnswerMs,
    )
  }

  const settle = (name: string, token: string, raw: string | undefined, { record, outcome }: StepDone) => {
    const key = resultKey(name, token)
    return store.settle({
      lockKey: lockKey(name),
      recordKey: transactionPlace(name),
      token,
      expected: raw,
      record,
      result: { key, value: seal.seal(encodeOutcome(outcome), key), ttlMs: sharedAnswerMs },
    })
  }

  /** Takes the step, or waits for the equal one that is being taken, or for another one to end. */
  const take = async (
    flight: Flight,
    work: StepWork,
    deadline: number,
    lastWord: string | undefined,
  ): Promise<StepOutcome> => {
    const { names, fingerprint } = flight
    const token = `${fingerprint}.${uuid()}`
    let pollMs = FIRST_POLL_MS
    let equal: string | undefined
    for (;;) {
      const [made, polled] = await Promise.all([
        claim(names, token),
        flight.polls ? store.get(pollKey(flight)) : undefined,
      ])
      const { claimed, holder, name } = made
      // an equal poll ended while this one was on its way: as good as in flight together
      if (polled !== lastWord) equal ??= keyIn(polled)
      const shared = equal === undefined ? undefined : await sharedOutcome(equal)
      if (shared !== undefined) {
        if (claimed) await store.deleteIf(lockKey(name), token)
        metrics.sharedAnswers.inc({ scope: 'replicas' })
        return shared
      }
      if (claimed) return perform(made, token, flight, work)
      if (holder.startsWith(`${fingerprint}.`)) equal = resultKey(name, holder)
      if (monotonic() > deadline) throw stepInProgress()
      await pause(pollMs * (1 + Math.random()))
      pollMs = Math.min(pollMs * 1.5, LAST_POLL_MS)
    }
  }

  /**
   * Holds a poll for as long as it comes too soon; outside the line, so that it is in nobody's way. The outcome of an
   * equal one that went out in the meantime is this one's too. Otherwise: the word that it leaves unheeded.
   */
  const untilDue = async (
    flight: Flight,
    deadline: number,
  ): Promise<{ shared?: StepOutcome; lastWord?: string | undefined }> => {
    let pauseMs = FIRST_POLL_MS
    const first = await store.get(pollKey(flight))
    if (first === undefined || !first.startsWith('waits ')) return { lastWord: first }
    for (let word: string | undefined = first; word !== undefined; word = await store.get(pollKey(flight))) {
      const shared = word === first ? undefined : await sharedOutcome(keyIn(word) ?? '')
      if (shared !== undefined) {
        metrics.sharedAnswers.inc({ scope: 'replicas' })
        return { shared }
      }
      if (monotonic() > deadline) throw stepInProgress()
      await pause(pauseMs * (1 + Math.random()))
      pauseMs = Math.min(pauseMs * 1.5, LAST_POLL_MS)
    }
    return {}
  }

  /** Steps of one transaction stand in line in this process, so that only the first of them looks at the store. */
  const inLine = async (flight: Flight, work: StepWork): Promise<StepOutcome> => {
    const [name] = flight.names
    const deadline = monotonic() + waitMs
    const { shared, lastWord } = flight.polls ? await untilDue(flight, deadline) : {}
    if (shared !== undefined) return shared
    const line = lines.get(name) ?? pLimit(1)
    if (line.pendingCount >= MAX_WAITING) throw stepInProgress()
    lines.set(name, line)
    return line(() => {
      if (monotonic() > deadline) throw stepInProgress()
      return take(flight, work, deadline, lastWord)
    }).finally(() => {
      if (line.activeCount + line.pendingCount === 0) lines.delete(name)
    })
  }

  return {
    async run(flight, work) {
      const equal = inFlight.get(flight.fingerprint)
      if (equal === undefined) {
        const outcome = inLine(flight, work).finally(() => inFlight.delete(flight.fingerprint))
        inFlight.set(flight.fingerprint, { outcome, sharing: 0 })
        return presented(await outcome)
      }
      if (equal.sharing >= MAX_SHARING) throw stepInProgress()
      equal.sharing += 1
      metrics.sharedAnswers.inc({ scope: 'process' })
      return presented(await equal.outcome)
    },
  }
}

interface Flying {
  readonly outcome: Promise<StepOutcome>
  /** How many wait for it beside the first. */
  sharing: number
}

function presented(outcome: StepOutcome): StepOutcome {
  if (outcome.kind === 'refusal') throw errorOf(outcome)
  return outcome
}

/** The result key in what the last poll left. */
function keyIn(word: string | undefined): string | undefined {
  return word?.slice(word.indexOf(' ') + 1)
}
