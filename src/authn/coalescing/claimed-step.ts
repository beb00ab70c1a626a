import { BrokerError, stepInProgress } from '../../errors.ts'
import type { Logger } from '../../observability/logger.ts'
import type { Settlement } from '../../store/store.ts'
import { refusalOf, type StepOutcome } from '../transaction/step-outcome.ts'
import type { Claimed, StepClaim, StepClaims } from './step-claims.ts'

/** Does the step. `place` and `raw` are the record as claimed; what it returns is written in one go. */
export type StepWork = (place: string, raw: string | undefined) => Promise<StepDone>

export interface StepDone {
  readonly outcome: StepOutcome
  readonly record: Settlement['record']
  /** Somebody is still waited for: the next equal step is a poll. */
  readonly waits?: boolean | undefined
  /** What is written elsewhere before the record: whoever finds the step settled finds it too. Without it the step has failed. */
  readonly first?: (() => Promise<void>) | undefined
  /** What is written elsewhere, in the same round trip as the record. Without it the step has failed. */
  readonly alongside?: (() => Promise<unknown>) | undefined
  /** What is to be done only once all of that is written. */
  readonly settled?: (() => Promise<void>) | undefined
  /** Takes back what the step did beside the record, when not all of it could be written. */
  readonly undo?: (() => Promise<void>) | undefined
}

export interface ClaimedStepParts {
  readonly claims: Pick<StepClaims, 'keepsOrder' | 'settle' | 'release' | 'unshare'>
  readonly log: Logger
}

/** Does a step that has been claimed, and ends the claim whatever becomes of it. */
export type ClaimedStep = (claim: StepClaim, claimed: Claimed, work: StepWork) => Promise<StepOutcome>

export function createClaimedStep({ claims, log }: ClaimedStepParts): ClaimedStep {
  /**
   * What is written elsewhere and the end of the claim go out together, so either may fail alone. Then neither stands: what
   * was shared is taken back, and who waits for it had to find the rest there as well (`StepClaimsParts.stands`).
   */
  const settle = async (claim: StepClaim, { polls, fingerprint }: Claimed, done: StepDone) => {
    const poll = polls ? { fingerprint, waits: done.waits === true } : undefined
    const settling = () => claims.settle(claim, { ...done, poll })
    const first = done.first?.()
    if (!claims.keepsOrder()) await first
    const [before, written, settled] = await Promise.allSettled([first, done.alongside?.(), settling()])
    if (before.status === 'rejected') throw before.reason
    if (written.status === 'rejected') throw written.reason
    if (settled.status === 'rejected') throw settled.reason
    if (!settled.value) throw stepInProgress()
    await done.settled?.()
  }

  const takeBack = async (claim: StepClaim, done: StepDone) => {
    const ends = [claims.unshare(claim), claims.release(claim), done.undo?.()]
    for (const end of await Promise.allSettled(ends))
      if (end.status === 'rejected') log.warn('step_not_taken_back', {}, end.reason)
  }

  /** The step has failed by itself, and that is what is told: should this fail too, the lock ends by its time. */
  const letGo = async (claim: StepClaim, error: unknown) => {
    try {
      if (error instanceof BrokerError)
        await claims.settle(claim, { outcome: refusalOf(error), record: 'keep' })
      else await claims.release(claim)
    } catch (trouble) {
      log.warn('step_not_released', {}, trouble)
    }
  }

  return async (claim, claimed, work) => {
    let done: StepDone
    try {
      done = await work(claim.place, claim.value)
    } catch (error) {
      await letGo(claim, error)
      throw error
    }
    try {
      await settle(claim, claimed, done)
    } catch (error) {
      await takeBack(claim, done)
      throw error
    }
    return done.outcome
  }
}
