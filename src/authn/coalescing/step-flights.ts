import { setTimeout as pause } from 'node:timers/promises'
import pLimit, { type LimitFunction } from 'p-limit'
import { v4 as uuid } from 'uuid'
import { stepInProgress } from '../../errors.ts'
import type { Logger } from '../../observability/logger.ts'
import type { Metrics } from '../../observability/metrics.ts'
import { errorOf, type StepOutcome } from '../transaction/step-outcome.ts'
import { createClaimedStep, type StepWork } from './claimed-step.ts'
import { type Claimed, resultIn, type StepClaim, type StepClaims, saysWait } from './step-claims.ts'

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

export interface Flight extends Claimed {
  /** What can be asked of the store before the record is known: it goes out with the claim. */
  readonly beside?: Beside
  /** As long as this step is under way, so many requests of the transaction may be, this one included. */
  readonly atOnce?: number | undefined
}

export interface Beside {
  /** Asks; called in the same tick in which the claim goes out. */
  ask(): void
  /** The claim was lost: what was asked is taken back. */
  drop(): void
}

export interface StepFlightsParts {
  readonly claims: StepClaims
  readonly log: Logger
  readonly metrics: Metrics
  readonly waitMs: number
  readonly monotonic?: () => number
}

/** How often another replica's step is looked at: soon at first, then less and less. */
const FIRST_POLL_MS = 25
const LAST_POLL_MS = 250
/** Steps of one transaction that may wait in this process; more are answered at once. */
const MAX_WAITING = 5
/** Requests of one transaction, equal or not, in this process: else one browser could take up every place there is. */
const MAX_AT_ONCE = 10

/** The word of the last equal poll when this one arrived. */
interface LastWord {
  readonly name: string
  readonly word: string | undefined
}

/** How a turn in the line ended: with the outcome, or with a poll that came too soon. */
type Turn = { readonly outcome: StepOutcome } | { readonly held: LastWord }

export function createStepFlights(parts: StepFlightsParts): StepFlights {
  const { claims, log, metrics, waitMs, monotonic = () => performance.now() } = parts
  const inFlight = new Map<string, Promise<StepOutcome>>()
  const underWay = new Map<string, UnderWay>()
  const lines = new Map<string, LimitFunction>()
  const perform = createClaimedStep({ claims, log })

  /** Takes the step, or waits for the equal one that is being taken, or for another one to end. */
  const take = async (
    flight: Flight,
    work: StepWork,
    deadline: number,
    arrived: LastWord | undefined,
  ): Promise<Turn> => {
    const token = `${flight.fingerprint}.${uuid()}`
    let pollMs = FIRST_POLL_MS
    let equal: string | undefined
    let lastWord = arrived
    for (let isFirst = true; ; isFirst = false) {
      const claim = await claimBeside(flight, token, isFirst)
      const { claimed, holder, name, word } = claim
      lastWord ??= { name, word }
      // an equal poll ended while this one was on its way: as good as in flight together
      if (word !== lastWord.word) equal ??= resultIn(word)
      const shared = equal === undefined ? undefined : await claims.outcomeAt(equal)
      if (claimed && shared === undefined) return { outcome: await perform(claim, flight, work) }
      if (claimed) await claims.release(claim)
      else if (holder?.startsWith(`${flight.fingerprint}.`)) equal = claims.resultOf(name, holder)
      if (isOutcome(shared)) {
        metrics.sharedAnswers.inc({ scope: 'replicas' })
        return { outcome: shared }
      }
      if (saysWait(word)) return { held: { name, word } }
      if (monotonic() > deadline) throw stepInProgress()
      await pause(pollMs * (1 + Math.random()))
      pollMs = Math.min(pollMs * 1.5, LAST_POLL_MS)
    }
  }

  const claimBeside = async (flight: Flight, token: string, isFirst: boolean): Promise<StepClaim> => {
    const claiming = claims.claim(flight, token)
    if (isFirst) flight.beside?.ask()
    let isOurs = false
    try {
      const claim = await claiming
      isOurs = claim.claimed
      return claim
    } finally {
      if (!isOurs) flight.beside?.drop()
    }
  }

  /**
   * Holds a poll for as long as it comes too soon; outside the line, so that it is in nobody's way. The outcome of an
   * equal one that went out in the meantime is this one's too.
   */
  const untilDue = async (
    { fingerprint }: Flight,
    { name, word: first }: LastWord,
    deadline: number,
  ): Promise<StepOutcome | undefined> => {
    let pauseMs = FIRST_POLL_MS
    for (let word = first; word !== undefined; word = await claims.wordOf(name, fingerprint)) {
      const shared = word === first ? undefined : await claims.outcomeAt(resultIn(word) ?? '')
      if (isOutcome(shared)) {
        metrics.sharedAnswers.inc({ scope: 'replicas' })
        return shared
      }
      if (monotonic() > deadline) throw stepInProgress()
      await pause(pauseMs * (1 + Math.random()))
      pauseMs = Math.min(pauseMs * 1.5, LAST_POLL_MS)
    }
    return undefined
  }

  /** Steps of one transaction stand in line in this process, so that only the first of them looks at the store. */
  const inLine = async (name: string, deadline: number, turn: () => Promise<Turn>): Promise<Turn> => {
    const line = lines.get(name) ?? pLimit(1)
    if (line.pendingCount >= MAX_WAITING) throw stepInProgress()
    lines.set(name, line)
    return line(() => {
      if (monotonic() > deadline) throw stepInProgress()
      return turn()
    }).finally(() => {
      if (line.activeCount + line.pendingCount === 0) lines.delete(name)
    })
  }

  const fly = async (flight: Flight, work: StepWork): Promise<StepOutcome> => {
    const [name] = flight.names
    const deadline = monotonic() + waitMs
    // who goes first sees the word with the claim; who must stand in line has to know what it was before
    const mustLook = flight.polls === true && lines.has(name)
    let word = mustLook ? { name, word: await claims.wordOf(name, flight.fingerprint) } : undefined
    for (;;) {
      if (word !== undefined && saysWait(word.word)) {
        const shared = await untilDue(flight, word, deadline)
        if (shared !== undefined) return shared
        word = { name: word.name, word: undefined }
      }
      const turn = await inLine(name, deadline, () => take(flight, work, deadline, word))
      if ('outcome' in turn) return turn.outcome
      word = turn.held
    }
  }

  /** Takes the step, or shares the outcome of the equal one in flight. */
  const join = (flight: Flight, work: StepWork): Promise<StepOutcome> => {
    const equal = inFlight.get(flight.fingerprint)
    if (equal !== undefined) {
      metrics.sharedAnswers.inc({ scope: 'process' })
      return equal
    }
    const outcome = fly(flight, work).finally(() => inFlight.delete(flight.fingerprint))
    inFlight.set(flight.fingerprint, outcome)
    return outcome
  }

  /** Counts a request of the transaction, or refuses it. */
  const enter = (name: string, atOnce: number) => {
    const { requests, most } = underWay.get(name) ?? { requests: 0, most: MAX_AT_ONCE }
    const lower = Math.min(most, atOnce)
    if (requests >= lower) throw stepInProgress()
    underWay.set(name, { requests: requests + 1, most: lower })
  }

  const leave = (name: string) => {
    const { requests = 1, most = MAX_AT_ONCE } = underWay.get(name) ?? {}
    if (requests > 1) underWay.set(name, { requests: requests - 1, most })
    else underWay.delete(name)
  }

  return {
    async run(flight, work) {
      const [name] = flight.names
      enter(name, flight.atOnce ?? MAX_AT_ONCE)
      try {
        return presented(await join(flight, work))
      } finally {
        leave(name)
      }
    },
  }
}

interface UnderWay {
  readonly requests: number
  /** The lowest `atOnce` since the transaction last had none under way. */
  readonly most: number
}

function isOutcome(shared: StepOutcome | 'pending' | undefined): shared is StepOutcome {
  return typeof shared === 'object'
}

function presented(outcome: StepOutcome): StepOutcome {
  if (outcome.kind === 'refusal') throw errorOf(outcome)
  return outcome
}
