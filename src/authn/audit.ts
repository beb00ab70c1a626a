import type { Signer } from '../crypto/sign.ts'
import type { AuditFields, RevocationReason } from '../observability/audit-events.ts'
import type { Logger } from '../observability/logger.ts'
import type { Metrics } from '../observability/metrics.ts'
import type { Client } from './browser/client.ts'
import { STATUSES } from './sanitize/unknown-steps.ts'
import type { Answer } from './transaction/answer.ts'
import type { Enrolment } from './transaction/enrolment.ts'
import type { Transaction } from './transaction/transaction.ts'
import { type AuthnReply, isWrongOldPassword } from './upstream/read-answer.ts'

/** Who did what in a sign-in, for the audit log: opaque user id, address, keyed hashes; never a name or a code. */
export interface StepAudit {
  started(operation: Started['operation'], login: string | undefined, client: Client): void
  recoveryStarted(
    recovery: Pick<RecoveryStarted, 'operation' | 'factorType'>,
    login: string | undefined,
    client: Client,
  ): void
  refused(
    operation: string,
    reply: AuthnReply,
    before: Transaction,
    client: Client,
    factorType?: string,
  ): void
  /** A code for somebody who was sent none: logged like any wrong one. */
  decoyFailed(operation: string, before: Transaction, factorType: string, client: Client): void
  answered(
    operation: string,
    answer: Answer,
    states: { readonly before: Transaction; readonly after: Transaction },
    client: Client,
    factorType?: string | undefined,
  ): void
  /** A factor is active that was not, or not like this. */
  enrolled(operation: string, enrolment: Enrolment, after: Transaction, client: Client): void
  /** The handle of another device's transaction or session token: whose it is, and who showed it. */
  handleFromOtherDevice(owner: HandleOwner, client: Client): void
  succeeded(session: SessionOpened, login: string | undefined, client: Client): void
  /** Other sessions of this person were ended. */
  sessionsRevoked(revoked: Revoked, login: string | undefined, client: Client): void
  /** A limit refused this attempt. */
  limitHit(hit: LimitHit, client: Client): void
  /** Logs an upstream error under our own request id. */
  upstreamError(reply: AuthnReply, client: Client): void
  hashDevice(device: string): string
  /** The same for every way to type one person's login. */
  hashLogin(login: string): string
}

type Started = AuditFields<'sign_in_started'>
type RecoveryStarted = AuditFields<'recovery_started'>
type SessionOpened = Pick<AuditFields<'sign_in_succeeded'>, 'userId' | 'sessionId' | 'methods'>

type HandleOwner = Pick<Transaction, 'userId' | 'login' | 'device'>

interface Revoked {
  readonly userId: string
  readonly count: number
  readonly reason: RevocationReason
}

export interface LimitHit
  extends Pick<
    AuditFields<'limit_hit'>,
    'limit' | 'operation' | 'factorType' | 'userId' | 'retryAfterSeconds'
  > {
  readonly login?: string | undefined
}

const HASH_CHARS = 16
const ACTIVATION_TOKEN = 'activation_token'
/** A refused code or answer; 82 and 83: a code that was used before, or is out of its time. */
const REFUSED_CODE = new Set(['E0000068', 'E0000069', 'E0000082', 'E0000083', 'E0000087'])
const REFUSED = new Set([401, 403])
const FACTOR_REFUSED = new Set(['REJECTED', 'TIMEOUT', 'TIME_WINDOW_EXCEEDED', 'PASSCODE_REPLAYED'])

export interface StepAuditParts {
  readonly log: Logger
  readonly metrics: Metrics
  readonly hashes: Signer
  readonly canonicalLogin: (login: string) => string
}

export function createStepAudit({ log, metrics, hashes, canonicalLogin }: StepAuditParts): StepAudit {
  const hash = (value: string) => hashes.sign(value).slice(0, HASH_CHARS)

  const hashDevice = hash
  const hashLogin = (login: string) => hash(canonicalLogin(login))
  const who = (client: Client, login: string | undefined) => ({
    requestId: client.requestId,
    address: client.address,
    deviceHash: hashDevice(client.device.id),
    loginHash: login === undefined ? undefined : hashLogin(login),
  })

  return {
    hashDevice,
    hashLogin,

    started: (operation, login, client) => log.audit('sign_in_started', { ...who(client, login), operation }),

    recoveryStarted: (recovery, login, client) =>
      log.audit('recovery_started', { ...who(client, login), ...recovery }),

    refused(operation, reply, before, client, factorType) {
      metrics.signInSteps.inc({ operation, status: reply.errorCode ?? 'error' })
      const { status, errorCode: upstreamErrorCode } = reply
      const fields = { ...who(client, before.login), operation, userId: before.userId, upstreamErrorCode }
      if (REFUSED_CODE.has(upstreamErrorCode ?? '')) log.audit('factor_failed', { ...fields, factorType })
      else if (isWrongOldPassword(reply)) log.audit('old_password_refused', fields)
      else if (operation === 'recovery_token' && REFUSED.has(status))
        log.audit('recovery_token_refused', fields)
      else if (operation === 'primary' && REFUSED.has(status))
        log.audit('sign_in_failed', {
          ...fields,
          reason: showsToken(before) ? ACTIVATION_TOKEN : undefined,
        })
    },

    decoyFailed: (operation, before, factorType, client) =>
      log.audit('factor_failed', { ...who(client, before.login), operation, factorType }),

    answered(operation, answer, { before, after }, client, factorType) {
      metrics.signInSteps.inc({ operation, status: statusLabel(answer.status) })
      const { status: transactionStatus, factorResult: reason } = answer
      if (operation === 'state') return // only looked at: nothing has happened
      const fields = () => ({ ...who(client, after.login), operation, userId: after.userId })
      if (reason !== undefined && FACTOR_REFUSED.has(reason))
        log.audit('factor_failed', { ...fields(), factorType, reason })
      else if (isChallenged(operation, before, answer))
        log.audit('factor_challenged', { ...fields(), factorType, transactionStatus })
      if (transactionStatus === 'LOCKED_OUT')
        log.audit('sign_in_failed', { ...fields(), reason: transactionStatus })
      if (operation === 'change_password' || operation === 'reset_password')
        log.audit('password_changed', { ...fields(), operation, transactionStatus })
    },

    enrolled(operation, { factorType, provider, updatesPhone, replaces }, after, client) {
      const { userId, login } = after
      const fields = { ...who(client, login), operation, userId, factorType, provider }
      if (replaces) log.audit('factor_changed', { ...fields, reason: 'enrolled_again' })
      else log.audit('factor_enrolled', fields)
      if (updatesPhone) log.audit('factor_changed', { ...fields, reason: 'phone_updated' })
    },

    handleFromOtherDevice({ userId, login, device }, client) {
      const reason = client.device.returned ? 'other_device' : 'no_device_cookie'
      log.audit('handle_refused', {
        ...who(client, login),
        userId,
        boundDeviceHash: hashDevice(device),
        reason,
      })
    },

    succeeded: (session, login, client) =>
      log.audit('sign_in_succeeded', { ...who(client, login), ...session }),

    sessionsRevoked: (revoked, login, client) =>
      log.audit('sessions_revoked', { ...who(client, login), ...revoked }),

    limitHit: ({ login, ...hit }, client) => log.audit('limit_hit', { ...who(client, login), ...hit }),

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

/** What begins a transaction without a name shows an activation token. */
function showsToken({ stateToken, login }: Transaction): boolean {
  return stateToken === '' && login === undefined
}
