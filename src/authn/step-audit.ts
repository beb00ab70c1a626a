import type { Signer } from '../crypto/sign.ts'
import type { AuditEvent, Logger } from '../observability/logger.ts'
import type { Metrics } from '../observability/metrics.ts'
import type { AuthnReply } from './authn-upstream.ts'
import type { Client } from './client.ts'
import type { Answer, Transaction } from './transaction.ts'
import { STATUSES } from './unknown-steps.ts'

/** Who did what in a sign-in, for the audit log: opaque user id, address, keyed hashes; never a name or a code. */
export interface StepAudit {
  started(operation: string, login: string | undefined, client: Client): void
  recoveryStarted(login: string, factorType: string, client: Client): void
  refused(
    operation: string,
    reply: AuthnReply,
    before: Transaction,
    client: Client,
    factorType?: string,
  ): void
  answered(
    operation: string,
    answer: Answer,
    states: { readonly before: Transaction; readonly after: Transaction },
    client: Client,
    factorType?: string | undefined,
  ): void
  succeeded(userId: string, after: Transaction, client: Client): void
  /** Other sessions of this person were ended, as the person had asked for. */
  sessionsRevoked(userId: string, count: number, client: Client): void
  /** Logs an upstream error under our own request id. */
  upstreamError(reply: AuthnReply, client: Client): void
  hash(value: string): string
}

const HASH_CHARS = 16
const WRONG_CODE = new Set(['E0000068', 'E0000069', 'E0000087'])
const FACTOR_REFUSED = new Set(['REJECTED', 'TIMEOUT', 'TIME_WINDOW_EXCEEDED', 'PASSCODE_REPLAYED'])

export interface StepAuditParts {
  readonly log: Logger
  readonly metrics: Metrics
  readonly hashes: Signer
}

export function createStepAudit({ log, metrics, hashes }: StepAuditParts): StepAudit {
  const hash = (value: string) => hashes.sign(value).slice(0, HASH_CHARS)

  const write = (event: AuditEvent, client: Client, login: string | undefined, fields = {}) =>
    log.audit(event, {
      requestId: client.requestId,
      address: client.address,
      deviceHash: hash(client.device.id),
      loginHash: login === undefined ? undefined : hash(login),
      ...fields,
    })

  return {
    hash,
    started: (operation, login, client) => write('sign_in_started', client, login, { operation }),

    recoveryStarted: (login, factorType, client) => write('recovery_started', client, login, { factorType }),

    refused(operation, reply, before, client, factorType) {
      metrics.signInSteps.inc({ operation, status: reply.errorCode ?? 'error' })
      const fields = { operation, factorType, userId: before.userId, upstreamErrorCode: reply.errorCode }
      if (reply.errorCode === 'E0000004') write('sign_in_failed', client, before.login, fields)
      if (WRONG_CODE.has(reply.errorCode ?? '')) write('factor_failed', client, before.login, fields)
    },

    answered(operation, answer, { before, after }, client, factorType) {
      metrics.signInSteps.inc({ operation, status: statusLabel(answer.status) })
      const fields = { operation, factorType, userId: after.userId, transactionStatus: answer.status }
      if (operation === 'state') return // only looked at: nothing has happened
      if (FACTOR_REFUSED.has(answer.factorResult ?? '')) write('factor_failed', client, after.login, fields)
      else if (isChallenged(operation, before, answer))
        write('factor_challenged', client, after.login, fields)
      if (operation === 'change_password' || operation === 'reset_password')
        write('password_changed', client, after.login, fields)
    },

    sessionsRevoked: (userId, count, client) =>
      write('sessions_revoked', client, undefined, { userId, count }),

    succeeded: (userId, after, client) => write('sign_in_succeeded', client, after.login, { userId }),

    upstreamError(reply, client) {
      const { errorId } = reply.body
      log.info('upstream_error', {
        requestId: client.requestId,
        upstream: 'authn',
        upstreamStatus: reply.status,
        upstreamErrorCode: reply.errorCode,
        upstreamErrorId: typeof errorId === 'string' ? errorId.slice(0, 64) : undefined,
      })
    },
  }
}

/** A code was sent, a push was sent, a key was asked: once each, not at every poll. */
function isChallenged(operation: string, before: Transaction, { status }: Answer): boolean {
  return status === 'MFA_CHALLENGE' && (operation === 'resend' || before.status !== status)
}

/** Bounded: a status that we have never heard of is counted by name elsewhere. */
function statusLabel(status: string): string {
  if (status === '') return 'none'
  return STATUSES.has(status) ? status : 'other'
}
