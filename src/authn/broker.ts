import { stepNotOffered } from '../errors.ts'
import type { Metrics } from '../observability/metrics.ts'
import type { Client } from './client.ts'
import { enrolmentIn } from './enrolment.ts'
import type { Exchange, Exchanged, Sending } from './exchange.ts'
import { attemptIn } from './guessing/attempts.ts'
import type { Guessing } from './guessing/guessing.ts'
import { type HiddenFactors, isHiddenStep } from './hidden-factors.ts'
import {
  ACTIVATION_PROOF,
  ELSEWHERE_PROOF,
  type Operation,
  PASSWORD_PROOF,
  proofOf,
  upstreamPath,
} from './operations.ts'
import type { Recovery, RecoveryType } from './recovery.ts'
import type { PrimaryBody, QueryFlags, RecoveryBody, RecoveryTokenBody } from './schemas.ts'
import type { StepAudit } from './step-audit.ts'
import type { StepOutcome } from './step-outcome.ts'
import { begin, IMPORTED, mayTake, type Transaction } from './transaction.ts'
import type { TransactionFlights } from './transaction-flights.ts'

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
  /** Until when all that a step sends must be over, if it begins now. */
  readonly deadline: () => number
  readonly now: () => number
}

/** A transaction's body without its handle. */
type StateFields = Omit<PrimaryBody, 'stateToken'>

/** The one status in which the upstream looks at a user name and a password. */
const AWAITS_CREDENTIALS = 'UNAUTHENTICATED'
const PRIMARY = '/api/v1/authn'
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
  ) => exchange(before, handle, sendingOf(before, body, client, deadline), client)

  /** Of a transaction that came from outside it is asked first where it stands; credentials go where they are awaited. */
  const stepUp = async (
    before: Transaction,
    handle: string,
    body: StateFields,
    client: Client,
  ): Promise<Exchanged> => {
    if (before.status !== IMPORTED) return showCredentials(before, handle, body, client)
    const { username: _name, password: _secret, ...alone } = body
    const deadline = parts.deadline() // for both calls: the step's lock does not last for two
    const asked = await whereAmI(before, handle, alone, client, deadline)
    if (asked.after?.status !== AWAITS_CREDENTIALS) return asked
    return showCredentials(asked.after, handle, body, client, deadline)
  }

  /** They show who this is only where the upstream waits for them: in another state it may not look at them at all. */
  const showCredentials = async (
    before: Transaction,
    handle: string,
    body: StateFields,
    client: Client,
    deadline?: number,
  ): Promise<Exchanged> => {
    const isAwaited = before.status === AWAITS_CREDENTIALS
    const named = isAwaited ? { ...before, login: body.username } : before
    const sending = {
      ...sendingOf(before, body, client, deadline),
      proof: isAwaited ? PASSWORD_PROOF : undefined,
    }
    const exchanged = await exchange(named, handle, sending, client)
    // refused credentials say nothing of whose transaction this is
    return exchanged.after === named ? { ...exchanged, after: before } : exchanged
  }

  const sendingOf = (
    before: Transaction,
    body: StateFields,
    client: Client,
    deadline = parts.deadline(),
  ): Sending => ({
    operation: body.username === undefined ? 'state' : 'primary',
    call: { path: PRIMARY, body: primaryCall(body, before.stateToken, client), bearsToken: true, deadline },
    proof: waitsForFactor(before) ? ELSEWHERE_PROOF : undefined,
  })

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
      const defence = body.token === undefined ? 'password' : 'token'
      const attempt = { defence, operation: 'primary', login: body.username } as const
      return flights.open([PRIMARY, body], attempt, client, (handle) => {
        audit.started('primary', body.username, client)
        return exchange(begin(client.device.id, body.username, now()), handle, sending, client)
      })
    },

    recover(recoveryType, body, client) {
      const { username: login, factorType } = body
      const attempt = { defence: 'recovery', operation: 'recovery', login, factorType } as const
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
      const attempt = { defence: 'token', operation } as const
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
        const attempt = { defence: 'password', operation, login: body.username } as const
        return guessing.guard(attempt, client, () => stepUp(transaction, stateToken, body, client))
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
        const sending: Sending = {
          operation: name,
          call: {
            path: path + search(query),
            body: { stateToken: transaction.stateToken, ...fields },
            bearsToken: true,
            encoding: operation.encoding,
          },
          proof: proofOf(operation, { factorType, fields }, transaction),
          factorType,
          factorId,
          enrolment: enrolmentIn(
            { operation: name, fields, updatePhone: query.updatePhone === 'true', factorType },
            transaction,
          ),
          revokesSessions: fields.revokeSessions === true,
        }
        return guessing.guard(attempt, client, () => exchange(transaction, stateToken, sending, client))
      }
      const print = polls ? [path] : [path, query, fields]
      return flights.step({ handle: stateToken, print, polls }, client, work)
    },
  }
}

/** A later status of this transaction means that the challenged factor was verified, also when no step here did it. */
function waitsForFactor({ status, credentialAccepted }: Transaction): boolean {
  return status === 'MFA_CHALLENGE' && credentialAccepted
}

/** Every form of primary authentication carries the device of our own cookie, whatever the browser says. */
function primaryCall(body: StateFields, stateToken: string | undefined, client: Client) {
  const { context: _browsers, ...rest } = body
  return {
    ...rest,
    ...(stateToken === undefined ? {} : { stateToken }),
    context: { deviceToken: client.device.id },
  }
}

function search(query: QueryFlags): string {
  const given = Object.entries(query).flatMap(([name, value]) =>
    value === undefined ? [] : [`${name}=${value}`],
  )
  return given.length === 0 ? '' : `?${given.join('&')}`
}
