import { mayHaveReachedUpstream } from '../upstream/upstream-failure.ts'
import type { StepAudit } from './audit/step-audit.ts'
import type { Client } from './browser/client.ts'
import type { EndOthers } from './end-other-sessions.ts'
import { type JoinedStep, type ReleaseLockDeps, releaseLock } from './join-step.ts'
import type { Plan } from './plan-step.ts'
import type { CodeCooldown } from './recovery/code-cooldown.ts'
import { StepRefusedError } from './step/step-refused.ts'

export interface SettleDeps extends ReleaseLockDeps {
  readonly cooldown: Pick<CodeCooldown, 'end'>
  readonly endOthers: EndOthers
  readonly audit: Pick<StepAudit, 'report'>
}

/** A step that failed before its commit. */
interface FailedStep extends JoinedStep {
  /** undefined: it was refused before it was planned. */
  readonly plan: Plan | undefined
  /** Whether its cooldown has started. */
  readonly isPrepared: boolean
}

/**
 * Ends a step that failed before its commit: refunds the attempt, ends the cooldown if nothing was
 * sent, and releases the lock.
 *
 * @returns the error for the browser
 */
export async function settleStep(
  thrown: unknown,
  { plan, isPrepared, handle, reservation, lock }: FailedStep,
  client: Client,
  deps: SettleDeps,
): Promise<unknown> {
  const error = thrown instanceof StepRefusedError ? await applyRefusal(thrown, handle, client, deps) : thrown
  reservation.consumeOrRefundOnError(error)
  const code = isPrepared && plan !== undefined && 'cooldown' in plan ? plan.cooldown : undefined
  const [ended] = await Promise.allSettled([
    code !== undefined && !mayHaveReachedUpstream(error) ? deps.cooldown.end(code) : undefined,
    lock === undefined ? undefined : releaseLock(lock, error, deps),
  ])
  // the error tells more than that its cooldown goes on
  if (ended.status === 'rejected') deps.log.warn('step_rollback_failed', {}, ended.reason)
  return error
}

/**
 * Writes the events of the refusal, and ends the sessions that end all the same.
 *
 * @returns the error for the browser
 */
async function applyRefusal(
  { error, events, endsOthersOf }: StepRefusedError,
  handle: string,
  client: Client,
  { audit, endOthers }: Pick<SettleDeps, 'audit' | 'endOthers'>,
): Promise<unknown> {
  audit.report(events, client)
  try {
    if (endsOthersOf !== undefined) await endOthers(endsOthersOf, handle, client)
    return error
  } catch (failure) {
    return failure
  }
}
