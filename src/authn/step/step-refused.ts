import { addressBlocked, type BrokerError, upstreamUnavailable } from '../../errors.ts'
import { readError } from '../../okta-errors.ts'
import { UpstreamFailure } from '../../upstream/upstream-failure.ts'
import type { StepEvent } from '../audit/step-events.ts'
import type { AuthnReply } from '../upstream/read-answer.ts'
import type { Decision } from './decision.ts'

/** A refusal by the pure rules, with what is to be written about it. */
export class StepRefusedError extends Error {
  override readonly name = 'StepRefusedError'
  readonly error: BrokerError
  readonly events: readonly StepEvent[]
  /** As in a decision: they end although the answer is refused. */
  readonly endsOthersOf: Decision['endsOthersOf']

  constructor(
    error: BrokerError,
    events: readonly StepEvent[] = [],
    endsOthersOf?: Decision['endsOthersOf'],
  ) {
    super(error.message, { cause: error })
    this.error = error
    this.events = events
    this.endsOthersOf = endsOthersOf
  }
}

/** 502: the answer has something that no answer of Okta has. */
export function unusableAnswer(
  code: string,
  events: readonly StepEvent[] = [],
  endsOthersOf?: Decision['endsOthersOf'],
): StepRefusedError {
  const failure = new UpstreamFailure('invalid_response', { code })
  return new StepRefusedError(upstreamUnavailable(failure), events, endsOthersOf)
}

/** Throws 403 if the org refuses the address, which counts against no user. */
export function throwIfAddressRefused(
  reply: AuthnReply,
  operation: string,
  events: readonly StepEvent[],
): void {
  if (!reply.isError || readError(reply, operation).refusesAddress !== true) return
  const failure = new UpstreamFailure('address_blocked', { upstreamStatus: reply.status })
  throw new StepRefusedError(addressBlocked(failure), events)
}
