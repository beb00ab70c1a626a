import { innermostFailure } from '../observability/dependency-failure.ts'
import { addressRefused } from './audit/step-events.ts'
import type { Client } from './browser/client.ts'
import type { LockRequest } from './coalescing/step-locks.ts'
import { type CommitDeps, commitStep, isEndedMeanwhile } from './commit-step.ts'
import { decide } from './decide.ts'
import { type EndOthersDeps, endOtherSessions } from './end-other-sessions.ts'
import { type JoinDeps, type JoinedStep, joinStep } from './join-step.ts'
import { type Plan, planStep } from './plan-step.ts'
import { type ReadFactsDeps, readFacts } from './read-facts.ts'
import type { CodeCooldown } from './recovery/code-cooldown.ts'
import { noSooner } from './recovery/minimum-duration.ts'
import { type SettleDeps, settleStep } from './settle-step.ts'
import { type Decision, signedOut } from './step/decision.ts'
import type { StepRequest } from './step/step-request.ts'
import type { StepOutcome } from './transaction/step-outcome.ts'
import type { Transaction } from './transaction/transaction.ts'
import type { AuthnUpstream } from './upstream/authn-upstream.ts'

export type RunStepDeps = JoinDeps &
  ReadFactsDeps &
  CommitDeps &
  EndOthersDeps &
  SettleDeps & {
    readonly upstream: Pick<AuthnUpstream, 'send' | 'deadline'>
    readonly cooldown: CodeCooldown
  }

/**
 * Runs one request of a sign-in: the pure rules in plan-step.ts and decide.ts decide, and
 * everything else happens here, in this order.
 *
 * @param lockRequest undefined: the step begins a transaction, and needs no lock
 */
export async function runStep(
  request: StepRequest,
  lockRequest: LockRequest | undefined,
  client: Client,
  deps: RunStepDeps,
): Promise<StepOutcome> {
  const { now, settings } = deps
  const step = await joinStep(request, lockRequest, client, deps) // 401 E0000011, 503
  if ('shared' in step) return step.shared // the result of an identical step on another replica
  let plan: Plan | undefined
  let isPrepared = false
  let decision: Decision
  try {
    plan = planStep(request, step.before, now(), settings) // 401, 403, 429
    await step.reservation.enforce(plan.attempt) // 429
    await prepare(plan, step, client, deps) // 429
    isPrepared = true
    decision = await askOkta(plan, step, client, deps) // 502, 503, 504
    step.reservation.consumeOrRefund(decision.attempt)
    if (decision.endsOthersOf !== undefined)
      decision = await endOtherSessions(decision, decision.endsOthersOf, step, client, deps)
  } catch (error) {
    throw await settleStep(error, { ...step, plan, isPrepared }, client, deps)
  }
  return commitStep(decision, step, client, deps)
}

/** Before anything is sent: the cooldown of codes, and the announcement of a password change. */
async function prepare(
  plan: Plan,
  { before, handle }: JoinedStep,
  client: Client,
  { cooldown, transactions, audit }: RunStepDeps,
): Promise<void> {
  if ('cooldown' in plan && plan.cooldown !== undefined) await cooldown.start(plan.cooldown, client)
  if (plan.kind === 'sign-in' && plan.changesPassword)
    await transactions.announcePasswordChange(before, handle)
  audit.report(plan.events, client)
}

/**
 * Sends the step, and decides what follows. Takes no less time than the plan says, also if it
 * fails.
 */
function askOkta(plan: Plan, step: JoinedStep, client: Client, deps: RunStepDeps): Promise<Decision> {
  return noSooner(plan.minDurationMs, () => callAndDecide(plan, step, client, deps))
}

/** At most two calls, with one deadline. */
async function callAndDecide(
  first: Plan,
  step: JoinedStep,
  client: Client,
  deps: RunStepDeps,
): Promise<Decision> {
  const { upstream, audit, settings, now } = deps
  const deadline = upstream.deadline()
  let [plan, before]: [Plan, Transaction] = [first, step.before]
  try {
    for (;;) {
      const reply = plan.call && (await upstream.send(plan.call, client, deadline))
      const facts = await readFacts(plan, before, reply, step.handle, client, deps)
      const decision = decide(plan, before, reply, facts, now(), settings)
      audit.report(decision.events, client)
      if (decision.next === undefined || decision.after === undefined) return decision
      if (await isEndedMeanwhile(decision, deps)) return signedOut(decision)
      ;[plan, before] = [decision.next, decision.after]
    }
  } catch (error) {
    const isAddressRefused = innermostFailure(error)?.outcome === 'address_blocked'
    if (isAddressRefused && plan.kind === 'sign-in')
      audit.report(addressRefused(plan.operation, { ...before, login: plan.login ?? before.login }), client)
    throw error
  }
}
