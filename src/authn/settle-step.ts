import { innermostFailure } from '../observability/dependency-failure.ts'
import { mayHaveReachedUpstream } from '../upstream/upstream-failure.ts'
import type { StepAudit } from './audit/step-audit.ts'
import { addressRefused } from './audit/step-events.ts'
import type { Client } from './browser/client.ts'
import { type JoinedStep, type ReleaseLockDeps, releaseLock } from './join-step.ts'
import type { Plan } from './plan-step.ts'
import type { CodeCooldown } from './recovery/code-cooldown.ts'
import { StepRefusedError } from './step/step-refused.ts'

export interface SettleDeps extends ReleaseLockDeps {
  readonly cooldown: Pick<CodeCooldown, 'end'>
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
  { plan, isPrepared, before, attempt, lock }: FailedStep,
  client: Client,
  deps: SettleDeps,
): Promise<unknown> {
  const { cooldown, audit } = deps
  const error = thrown instanceof StepRefusedError ? thrown.error : thrown
  if (thrown instanceof StepRefusedError) audit.report(thrown.events, client)
  const isAddressRefused = innermostFailure(error)?.outcome === 'address_blocked'
  if (isAddressRefused && plan?.kind === 'sign-in')
    audit.report(addressRefused(plan.operation, { ...before, login: plan.login ?? before.login }), client)
  attempt.consumeOrRefundOnError(error)
  const code = isPrepared && plan !== undefined && 'cooldown' in plan ? plan.cooldown : undefined
  if (code !== undefined && !mayHaveReachedUpstream(error)) await cooldown.end(code)
  if (lock !== undefined) await releaseLock(lock, error, deps)
  return error
}
