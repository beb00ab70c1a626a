import { stepNotOffered } from '../errors.ts'
import type { Metrics } from '../observability/metrics.ts'
import type { StepAudit } from './audit.ts'
import type { Client } from './browser/client.ts'
import { isAwaited } from './coalescing/awaited.ts'
import type { Recovery, RecoveryType } from './recovery/recovery.ts'
import { type HiddenFactors, isHiddenStep } from './sanitize/hidden-factors.ts'
import type { Exchange, Sending } from './sign-in/exchange.ts'
import {
  ACTIVATION_PROOF,
  mayBeAnothers,
  type Operation,
  PASSWORD_PROOF,
  proofOf,
  upstreamPath,
} from './sign-in/operations.ts'
import type { PrimaryBody, QueryFlags, RecoveryBody, RecoveryTokenBody } from './sign-in/schemas.ts'
import {
  PRIMARY,
  primaryCall,
  type StateFields,
  sendingOfState,
  sendingOfStep,
} from './sign-in/step-sending.ts'
import type { TransactionFlights } from './sign-in/transaction-flights.ts'
import { attemptIn } from './throttling/attempts.ts'
import type { Guessing } from './throttling/guessing.ts'
import type { Exchanged } from './transaction/exchanged.ts'
import type { StepOutcome } from './transaction/step-outcome.ts'
import { begin, mayTake, type Proof, type Transaction } from './transaction/transaction.ts'

/** Takes one step of a sign-in: claimed, checked, exchanged with the upstream, settled. */
export interface Broker {
  /** Primary authentication with credentials or an activation token; begins a transaction. */
  start(body: PrimaryBody, client: Client): Promise<StepOutcome>
  /** Forgotten password or locked account; begins a transaction by text message or call. */
  recover(recoveryType: RecoveryType, body: RecoveryBody, client: Client): Promise<StepOutcome>
  /** The token of a recovery mail; begins a transaction. The token is used here and never stored. */
  redeem(body: RecoveryTokenBody, client: Client): Promise<StepOutcome>
  /** "Where am I?", and step-up with credentials: the handle alone or with both. */
  state(body: PrimaryBody & { stateToken: string }, client: Client): Promise<StepOutcome>
  take(step: Step, client: Client): Promise<StepOutcome>
}

export interface Step {
  readonly operation: Operation
  readonly params: Readonly<Record<string, string>>
  readonly query: QueryFlags
  readonly body: { readonly stateToken: string } & Readonly<Record<string, unknown>>
}

export interface BrokerParts {
  readonly exchange: Exchange
  readonly recovery: Recovery
  readonly flights: TransactionFlights
  readonly hiddenFactors: HiddenFactors
  readonly guessing: Pick<Guessing, 'guard'>
  readonly audit: StepAudit
  readonly metrics: Metrics
  /** Whether the login that was typed is the one that the upstream names. */
  readonly isSameLogin: (typed: string, named: unknown) => boolean
  /** Until when all that a step sends must be over, if it begins now. */
  readonly deadline: () => number
  readonly now: () => number
}

const RECOVERY_TOKEN = '/api/v1/authn/recovery/token'

export function createBroker(parts: BrokerParts): Broker {
  const { exchange, recovery, flights, guessing, audit, metrics, now } = parts

  const refused = (reason: string) => {
    metrics.refusals.inc({ reason })
    return stepNotOffered()
  }

  const whereAmI = (
    before: Transaction,
    handle: string,
    body: StateFields,
    client: Client,
    deadline?: number,
  ) => exchange(before, handle, sendingOfState(before, body, client, deadline), client)

  /**
   * Sends what shows a credential, where the upstream awaits it. Whoever holds the token of an imported transaction can move it at
   * the upstream at any time, so until a credential was accepted here it is asked first, whatever the record says.
   */
  const whereAwaited = async (
    {
      before,
      handle,
      operation,
      alone,
    }: { before: Transaction; handle: string; operation: string; alone: StateFields },
    client: Client,
    send: (before: Transaction, deadline?: number) => Promise<Exchanged>,
  ): Promise<Exchanged> => {
    if (!mayBeAnothers(before)) return send(before)
    const deadline = parts.deadline() // for both calls: the step's lock does not last for two
    const asked = await whereAmI(before, handle, alone, client, deadline)
    if (asked.after === undefined || !isAwaited(operation, asked.status)) return asked
    return send(asked.after, deadline)
  }

  /** They show who this is only where the upstream waits for them: in another state it may not look at them at all. */
  const showCredentials = async (
    before: Transaction,
    handle: string,
    body: StateFields,
    client: Client,
    deadline?: number,
  ): Promise<Exchanged> => {
    const awaited = isAwaited('primary', before.status)
    const named = awaited ? { ...before, login: body.username } : before
    const sending = {
      ...sendingOfState(before, body, client, deadline),
      proof: awaited ? passwordOf(body.username, before) : undefined,
    }
    const exchanged = await exchange(named, handle, sending, client)
    const { after } = exchanged
    // credentials that were not accepted say nothing of whose transaction this is
    if (after === named) return { ...exchanged, after: before }
    return after?.credentialAccepted === false
      ? { ...exchanged, after: { ...after, login: before.login } }
      : exchanged
  }

  /** In a transaction that may be another's, the answer has to name the very user whose password it is said to be. */
  const passwordOf = (login: string | undefined, before: Transaction): Proof =>
    login !== undefined && mayBeAnothers(before)
      ? { ...PASSWORD_PROOF, isOf: (user) => parts.isSameLogin(login, user?.profile.login) }
      : PASSWORD_PROOF

  return {
    start(body, client) {
      const sending: Sending = {
        operation: 'primary',
        call: {
          path: PRIMARY,
          body: primaryCall(body, undefined, client),
          bearsToken: body.token !== undefined,
        },
        proof: body.token === undefined ? PASSWORD_PROOF : ACTIVATION_PROOF,
      }
      const kind = body.token === undefined ? 'password' : 'token'
      const attempt = { kind, operation: 'primary', login: body.username } as const
      return flights.open([PRIMARY, body], attempt, client, (handle) => {
        audit.started('primary', body.username, client)
        return exchange(begin(client.device.id, body.username, now()), handle, sending, client)
      })
    },

    recover(recoveryType, body, client) {
      const { username: login, factorType } = body
      const attempt = { kind: 'recovery', operation: 'recovery', login, factorType } as const
      return flights.open([recoveryType, body], attempt, client, (handle) =>
        recovery.start(recoveryType, body, handle, client),
      )
    },

    redeem(body, client) {
      const operation = 'recovery_token'
      const sending: Sending = {
        operation,
        call: { path: RECOVERY_TOKEN, body, bearsToken: true },
        proof: undefined,
      }
      const attempt = { kind: 'token', operation } as const
      return flights.open([RECOVERY_TOKEN, body], attempt, client, (handle) => {
        audit.recoveryStarted({ operation: 'token' }, undefined, client)
        return exchange(begin(client.device.id, undefined, now()), handle, sending, client)
      })
    },

    state({ stateToken, ...body }, client) {
      const operation = body.username === undefined ? 'state' : 'primary'
      return flights.step({ handle: stateToken, print: [PRIMARY, body] }, client, async (transaction) => {
        if (transaction.recovery !== undefined) {
          return recovery.step(transaction, stateToken, { operation, path: PRIMARY, fields: {} }, client)
        }
        if (body.username === undefined) return whereAmI(transaction, stateToken, body, client)
        const attempt = { kind: 'password', operation, login: body.username } as const
        const { username: _name, password: _secret, ...alone } = body
        const step = { before: transaction, handle: stateToken, operation, alone }
        return guessing.guard(attempt, client, () =>
          whereAwaited(step, client, (before, deadline) =>
            showCredentials(before, stateToken, body, client, deadline),
          ),
        )
      })
    },

    take({ operation, params, query, body }, client) {
      const path = upstreamPath(operation, params)
      const { stateToken, ...fields } = body
      const polls = operation.polls && Object.keys(fields).length === 0
      const work = (transaction: Transaction): Promise<Exchanged> => {
        if (operation.allowed === 'offered' && !mayTake(transaction, 'POST', path)) {
          throw refused('not_offered')
        }
        const factorId = params.id
        const factorType = transaction.factorTypes[factorId ?? '']
        if (isHiddenStep(factorType, fields, parts.hiddenFactors)) {
          throw refused('hidden_factor')
        }
        const { name } = operation
        const tried = { operation: name, fields, factorId, factorType }
        const attempt = attemptIn(tried, transaction, stateToken)
        if (transaction.recovery !== undefined) {
          const challenge = { operation: name, path, fields }
          return guessing.guard(attempt, client, () =>
            recovery.step(transaction, stateToken, challenge, client),
          )
        }
        const send = (before: Transaction, deadline?: number) =>
          exchange(
            before,
            stateToken,
            sendingOfStep({ operation, path, query, tried }, before, deadline),
            client,
          )
        const showsNothing = proofOf(operation, tried, transaction) === undefined
        return guessing.guard(attempt, client, () =>
          showsNothing
            ? send(transaction)
            : whereAwaited(
                { before: transaction, handle: stateToken, operation: name, alone: {} },
                client,
                send,
              ),
        )
      }
      const print = polls ? [path] : [path, query, fields]
      return flights.step({ handle: stateToken, print, polls, atOnce: operation.atOnce }, client, work)
    },
  }
}
