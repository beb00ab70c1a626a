import type { Signer } from '../crypto/sign.ts'
import { stepNotOffered, unknownHandle, upstreamUnavailable } from '../errors.ts'
import type { Logger } from '../observability/logger.ts'
import type { Metrics } from '../observability/metrics.ts'
import type { Sessions } from '../session/sessions.ts'
import type { AuthnCall, AuthnReply, AuthnUpstream } from './authn-upstream.ts'
import type { Client } from './client.ts'
import { cutTokens, rewriteAnswer } from './links.ts'
import { type Operation, PASSWORD_PROOF, proofOf, upstreamPath } from './operations.ts'
import { readAnswer } from './read-answer.ts'
import type { PrimaryBody, QueryFlags } from './schemas.ts'
import type { StepAudit } from './step-audit.ts'
import type { StepDone, StepFlights } from './step-flights.ts'
import type { StepOutcome } from './step-outcome.ts'
import {
  advance,
  begin,
  goesOn,
  type Lifetime,
  lifetimeMs,
  mayTake,
  opensSession,
  type Proof,
  personChanged,
  type Transaction,
} from './transaction.ts'
import { isHandle, newHandle, type TransactionStore } from './transaction-store.ts'

/** Takes one step of a sign-in: check, send, advance, guard, and open the session when it is earned. */
export interface Broker {
  /** Primary authentication with credentials; begins a transaction. */
  start(body: PrimaryBody, client: Client): Promise<StepOutcome>
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
  readonly upstream: AuthnUpstream
  readonly transactions: TransactionStore
  readonly flights: StepFlights
  readonly sessions: Sessions
  readonly audit: StepAudit
  /** Names flights: an HMAC, so that no body stands in a key. */
  readonly fingerprints: Signer
  readonly upstreamOrigins: readonly [string, ...string[]]
  readonly publicOrigin: string
  /** Secrets that must never be in an answer, whatever the upstream does. */
  readonly ownSecrets: () => readonly string[]
  readonly lifetime: Lifetime
  readonly maxOfferedSteps: number
  readonly log: Logger
  readonly metrics: Metrics
  readonly now?: () => number
}

/** What is sent, and what it means if the upstream takes it. */
interface Sending {
  readonly operation: string
  readonly call: AuthnCall
  readonly proof: Proof | undefined
  readonly factorType?: string
}

const PRIMARY = '/api/v1/authn'

export function createBroker(parts: BrokerParts): Broker {
  const {
    upstream,
    transactions,
    flights,
    sessions,
    audit,
    fingerprints,
    log,
    metrics,
    now = Date.now,
  } = parts

  const fingerprint = (client: Client, ...values: unknown[]) =>
    fingerprints.sign(JSON.stringify([client.device.id, client.fingerprint, ...values]))

  /** Sends a step and turns its answer into what the browser gets and what is kept. */
  const exchange = async (
    before: Transaction,
    handle: string,
    sending: Sending,
    client: Client,
  ): Promise<{ outcome: StepOutcome; after: Transaction | undefined; undo?: () => Promise<void> }> => {
    const reply = await upstream.send(sending.call, client)
    const rewritten = rewriteAnswer(reply.body, {
      upstreamOrigins: parts.upstreamOrigins,
      publicOrigin: parts.publicOrigin,
      handle,
      knownTokens: before.stateToken === '' ? [] : [before.stateToken],
    })
    if (rewritten.cutFromLinks > 0) metrics.tokensCut.inc({ by: 'link' }, rewritten.cutFromLinks)
    const body = guarded(rewritten.body, rewritten.tokens, client)
    const { status, headers, errorCode } = reply
    const outcome: StepOutcome = { kind: 'answer', status, body, headers, errorCode, sessionId: undefined }

    if (reply.isError) {
      audit.upstreamError(reply, client)
      audit.refused(sending.operation, reply, before, client, sending.factorType)
      return { outcome, after: stateIsGone(reply) ? undefined : before }
    }

    const answer = readAnswer(reply.body)
    if (personChanged(before, answer)) {
      log.error('person_changed', { requestId: client.requestId, operation: sending.operation })
      throw upstreamUnavailable(new Error('the answer is about another person'))
    }
    const after = advance(before, answer, {
      offered: rewritten.offered,
      proof: sending.proof,
      expiresAtMs: now() + lifetimeMs(answer.expiresAt, reply.date, parts.lifetime, now()),
      maxOffered: parts.maxOfferedSteps,
    })
    metrics.signInSteps.inc({ operation: sending.operation, status: knownStatus(answer.status) })
    audit.answered(sending.operation, answer, after, client, sending.factorType)
    const kept = goesOn(after) ? after : undefined
    if (!opensSession(after, answer)) return { outcome, after: kept }

    const sessionId = await sessions.open(
      {
        userId: answer.user.id,
        login: loginOf(answer.user.profile) ?? after.login ?? '',
        profile: answer.user.profile,
        amr: amrOf(after),
        device: audit.hash(client.device.id),
        userAgent: client.userAgent,
      },
      client.sessionId,
    )
    audit.succeeded(answer.user.id, after, client)
    return {
      outcome: { ...outcome, sessionId },
      after: kept,
      undo: async () => {
        await sessions.end(sessionId, 'orphaned')
      },
    }
  }

  /** The last guard, over what is really sent. */
  const guarded = (body: unknown, tokens: readonly string[], client: Client): string => {
    const { text, cut } = cutTokens(JSON.stringify(body), [...tokens, ...parts.ownSecrets()])
    if (cut > 0) {
      metrics.tokensCut.inc({ by: 'guard' }, cut)
      log.error('token_cut_by_guard', { requestId: client.requestId, count: cut })
    }
    return text
  }

  /** A step inside a transaction: claimed, checked, sent, settled. */
  const step = (
    handle: string,
    client: Client,
    fingerprintOf: readonly unknown[],
    prepare: (transaction: Transaction) => Sending,
  ): Promise<StepOutcome> => {
    if (!isHandle(handle)) throw refuse('unknown_handle', unknownHandle(client.device.returned))
    const flight = {
      names: transactions.names(handle),
      fingerprint: fingerprint(client, handle, ...fingerprintOf),
    }
    return flights.run(flight, async (place, raw): Promise<StepDone> => {
      const transaction = transactions.decode(raw, place)
      if (transaction === undefined || transaction.device !== client.device.id) {
        throw refuse('unknown_handle', unknownHandle(client.device.returned))
      }
      const { outcome, after, undo } = await exchange(transaction, handle, prepare(transaction), client)
      const record =
        after === undefined
          ? 'delete'
          : after === transaction
            ? 'keep'
            : { write: transactions.encode(after, place), ttlMs: after.expiresAtMs - now() }
      return { outcome, record, ...(undo === undefined ? {} : { undo }) }
    })
  }

  const refuse = <Refusal extends Error>(reason: string, refusal: Refusal): Refusal => {
    metrics.refusals.inc({ reason })
    return refusal
  }

  return {
    start(body, client) {
      const print = fingerprint(client, PRIMARY, body)
      return flights.run({ names: [print], fingerprint: print }, async () => {
        const handle = newHandle()
        audit.started('primary', body.username, client)
        const { outcome, after } = await exchange(
          begin(client.device.id, body.username, now()),
          handle,
          {
            operation: 'primary',
            call: { path: PRIMARY, body: primaryCall(body, undefined, client), bearsToken: false },
            proof: body.token === undefined ? PASSWORD_PROOF : { amr: 'otp' },
          },
          client,
        )
        if (after !== undefined && after.stateToken !== '') {
          await transactions.create(handle, after, after.expiresAtMs - now())
        }
        return { outcome, record: 'keep' }
      })
    },

    state(body, client) {
      const { stateToken, ...rest } = body
      return step(stateToken, client, [PRIMARY, rest], (transaction) => ({
        operation: rest.username === undefined ? 'state' : 'primary',
        call: { path: PRIMARY, body: primaryCall(rest, transaction.stateToken, client), bearsToken: true },
        proof: rest.username === undefined ? undefined : PASSWORD_PROOF,
      }))
    },

    take({ operation, params, query, body }, client) {
      const path = upstreamPath(operation, params)
      const { stateToken, ...rest } = body
      return step(stateToken, client, [path, query, rest], (transaction) => {
        if (operation.allowed === 'offered' && !mayTake(transaction, 'POST', path)) {
          throw refuse('not_offered', stepNotOffered())
        }
        const factorType = transaction.factorTypes[params.id ?? '']
        return {
          operation: operation.name,
          call: {
            path: path + search(query),
            body: { stateToken: transaction.stateToken, ...rest },
            bearsToken: true,
          },
          proof: proofOf(operation, factorType),
          ...(factorType === undefined ? {} : { factorType }),
        }
      })
    },
  }
}

/** Every form of primary authentication carries the device of our own cookie, whatever the browser says. */
function primaryCall(body: Omit<PrimaryBody, 'stateToken'>, stateToken: string | undefined, client: Client) {
  const { context: _browsers, ...rest } = body
  return {
    ...rest,
    ...(stateToken === undefined ? {} : { stateToken }),
    context: { deviceToken: client.device.id },
  }
}

function search(query: Step['query']): string {
  const given = Object.entries(query).flatMap(([name, value]) =>
    value === undefined ? [] : [`${name}=${value}`],
  )
  return given.length === 0 ? '' : `?${given.join('&')}`
}

/** The upstream no longer knows the state token: the transaction is over. */
function stateIsGone({ status, errorCode }: AuthnReply): boolean {
  return status === 401 && errorCode === unknownHandle().code
}

function loginOf(profile: Readonly<Record<string, unknown>>): string | undefined {
  return typeof profile.login === 'string' && profile.login !== '' ? profile.login : undefined
}

/** `mfa` when more than one kind of proof was taken (RFC 8176 §2). */
function amrOf({ amr }: Transaction): string[] {
  return amr.length > 1 ? [...new Set([...amr, 'mfa'])] : [...amr]
}

const STATUSES = new Set([
  'SUCCESS',
  'PASSWORD_EXPIRED',
  'PASSWORD_WARN',
  'PASSWORD_RESET',
  'MFA_REQUIRED',
  'MFA_CHALLENGE',
  'MFA_ENROLL',
  'MFA_ENROLL_ACTIVATE',
  'LOCKED_OUT',
  'UNAUTHENTICATED',
  'RECOVERY',
  'RECOVERY_CHALLENGE',
  '',
])

function knownStatus(status: string): string {
  if (status === '') return 'none'
  return STATUSES.has(status) ? status : 'other'
}
