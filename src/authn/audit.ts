import type { Signer } from '../crypto/sign.ts'
import type { AuditFields } from '../observability/audit-events.ts'
import type { Logger } from '../observability/logger.ts'
import type { Metrics } from '../observability/metrics.ts'
import type { Client } from './browser/client.ts'
import { STATUSES } from './sanitize/unknown-steps.ts'
import type { Answer } from './transaction/answer.ts'
import type { Enrolment } from './transaction/enrolment.ts'
import type { Transaction } from './transaction/transaction.ts'
import { type AuthnReply, isWrongOldPassword } from './upstream/read-answer.ts'

/** The audit log of sign-ins: opaque user ids, addresses and keyed hashes; never a login or a code. */
export interface StepAudit {
  started(operation: Started['operation'], login: string | undefined, client: Client): void
  recoveryStarted(
    recovery: Pick<RecoveryStarted, 'operation' | 'factorType'>,
    login: string | undefined,
    client: Client,
  ): void
  /** Okta answered with an Error object. */
  refused(
    operation: string,
    reply: AuthnReply,
    before: Transaction,
    client: Client,
    factorType?: string,
  ): void
  /** A code in a decoy transaction is logged like any wrong one. */
  decoyFailed(operation: string, before: Transaction, factorType: string, client: Client): void
  answered(
    operation: string,
    answer: Answer,
    states: { readonly before: Transaction; readonly after: Transaction },
    client: Client,
    factorType?: string | undefined,
  ): void
  /** A factor became active, or an active one changed. */
  enrolled(operation: string, enrolment: Enrolment, after: Transaction, client: Client): void
  /** The handle of another device's transaction, or its SSO token: whose it is, and which client sent it. */
  handleFromOtherDevice(owner: HandleOwner, client: Client): void
  succeeded(session: SessionOpened, login: string | undefined, client: Client): void
  /** Other sessions of this user were ended. */
  sessionsRevoked(revoked: Revoked, login: string | undefined, client: Client): void
  limitHit(hit: LimitHit, client: Client): void
  /** Logs Okta's error id under the broker's request id. */
  upstreamError(reply: AuthnReply, client: Client): void
  hashDevice(device: string): string
  /** The same for every spelling of a login. */
  hashLogin(login: string): string
}

type Started = AuditFields<'sign_in_started'>
type RecoveryStarted = AuditFields<'recovery_started'>
type SessionOpened = Pick<AuditFields<'sign_in_succeeded'>, 'userId' | 'sessionId' | 'methods'>
type Revoked = Pick<AuditFields<'sessions_revoked'>, 'userId' | 'count' | 'reason'>
type HandleOwner = Pick<Transaction, 'userId' | 'login' | 'device'>

type LimitHit = Omit<AuditFields<'limit_hit'>, keyof RequestFields> & { readonly login?: string | undefined }

/** What every event of a sign-in has. */
type RequestFields = Pick<Started, 'requestId' | 'address' | 'deviceHash' | 'loginHash'>

const HASH_CHARS = 16

export interface StepAuditDeps {
  readonly log: Logger
  readonly metrics: Metrics
  readonly hashes: Signer
  readonly canonicalLogin: (login: string) => string
}

export function createStepAudit({ log, metrics, hashes, canonicalLogin }: StepAuditDeps): StepAudit {
  const hashDevice = (device: string) => hashes.sign(device).slice(0, HASH_CHARS)
  const hashLogin = (login: string) => hashes.sign(canonicalLogin(login)).slice(0, HASH_CHARS)
  const from = ({ requestId, address, device }: Client, login: string | undefined): RequestFields => ({
    requestId,
    address,
    deviceHash: hashDevice(device.id),
    loginHash: login === undefined ? undefined : hashLogin(login),
  })
  const context = { log, metrics, from }

  return {
    hashDevice,
    hashLogin,
    started: (operation, login, client) =>
      log.audit('sign_in_started', { ...from(client, login), operation }),
    recoveryStarted: (recovery, login, client) =>
      log.audit('recovery_started', { ...from(client, login), ...recovery }),
    refused: (...refusal) => auditRefusal(context, ...refusal),
    decoyFailed: (operation, { login }, factorType, client) =>
      log.audit('factor_failed', { ...from(client, login), operation, factorType }),
    answered: (...answered) => auditAnswer(context, ...answered),
    enrolled: (...enrolled) => auditEnrolment(context, ...enrolled),
    handleFromOtherDevice({ userId, login, device }, client) {
      const reason = client.device.returned ? 'other_device' : 'no_device_cookie'
      const boundDeviceHash = hashDevice(device)
      log.audit('handle_refused', { ...from(client, login), userId, boundDeviceHash, reason })
    },
    succeeded: (session, login, client) =>
      log.audit('sign_in_succeeded', { ...from(client, login), ...session }),
    sessionsRevoked: (revoked, login, client) =>
      log.audit('sessions_revoked', { ...from(client, login), ...revoked }),
    limitHit: ({ login, ...hit }, client) => log.audit('limit_hit', { ...from(client, login), ...hit }),
    upstreamError: (reply, client) => logUpstreamError(log, reply, client),
  }
}

interface Context extends Pick<StepAuditDeps, 'log' | 'metrics'> {
  readonly from: (client: Client, login: string | undefined) => RequestFields
}

/** Error codes of a refused code or answer; 82 and 83: a code that was used before, or is expired. */
const REFUSED_CODES = new Set<string | undefined>([
  'E0000068',
  'E0000069',
  'E0000082',
  'E0000083',
  'E0000087',
])
const REFUSED_STATUSES = new Set([401, 403])

function auditRefusal(
  { log, metrics, from }: Context,
  ...[operation, reply, before, client, factorType]: Parameters<StepAudit['refused']>
): void {
  const { status, errorCode: upstreamErrorCode } = reply
  metrics.signInSteps.inc({ operation, status: upstreamErrorCode ?? 'error' })
  const fields = { ...from(client, before.login), operation, userId: before.userId, upstreamErrorCode }
  if (REFUSED_CODES.has(upstreamErrorCode)) log.audit('factor_failed', { ...fields, factorType })
  else if (isWrongOldPassword(reply)) log.audit('old_password_refused', fields)
  else if (!REFUSED_STATUSES.has(status)) return
  else if (operation === 'recovery_token') log.audit('recovery_token_refused', fields)
  else if (operation === 'primary') {
    const reason = startsWithToken(before) ? 'activation_token' : undefined
    log.audit('sign_in_failed', { ...fields, reason })
  }
}

/** A transaction that starts without a login starts with an activation token. */
function startsWithToken({ stateToken, login }: Transaction): boolean {
  return stateToken === '' && login === undefined
}

/** Results of a factor that refuse a push or a code with status 200. */
const FACTOR_REFUSED = new Set<string | undefined>([
  'REJECTED',
  'TIMEOUT',
  'TIME_WINDOW_EXCEEDED',
  'PASSCODE_REPLAYED',
])

function auditAnswer(
  { log, metrics, from }: Context,
  ...[operation, answer, { before, after }, client, factorType]: Parameters<StepAudit['answered']>
): void {
  const { status: transactionStatus, factorResult } = answer
  metrics.signInSteps.inc({ operation, status: statusLabel(transactionStatus) })
  if (operation === 'state') return // it changes nothing
  const { userId, login } = after
  const fields = () => ({ ...from(client, login), operation, userId })
  if (FACTOR_REFUSED.has(factorResult))
    log.audit('factor_failed', { ...fields(), factorType, reason: factorResult })
  else if (isChallenged(operation, before, answer))
    log.audit('factor_challenged', { ...fields(), factorType, transactionStatus })
  if (transactionStatus === 'LOCKED_OUT')
    log.audit('sign_in_failed', { ...fields(), reason: transactionStatus })
  if (operation === 'change_password' || operation === 'reset_password')
    log.audit('password_changed', { ...fields(), operation, transactionStatus })
}

/** A code or a push was sent, or a key was asked for: once each, not at every poll. */
function isChallenged(operation: string, before: Transaction, { status }: Answer): boolean {
  return status === 'MFA_CHALLENGE' && (operation === 'resend' || before.status !== status)
}

/** Limits the number of labels: unknown statuses are counted by name elsewhere. */
function statusLabel(status: string): string {
  if (status === '') return 'none'
  return STATUSES.has(status) ? status : 'other'
}

function auditEnrolment(
  { log, from }: Context,
  ...[operation, enrolment, { userId, login }, client]: Parameters<StepAudit['enrolled']>
): void {
  const { factorType, provider, updatesPhone, replaces } = enrolment
  const fields = { ...from(client, login), operation, userId, factorType, provider }
  if (replaces) log.audit('factor_changed', { ...fields, reason: 'enrolled_again' })
  else log.audit('factor_enrolled', fields)
  if (updatesPhone) log.audit('factor_changed', { ...fields, reason: 'phone_updated' })
}

function logUpstreamError(log: Logger, { status, errorCode, body }: AuthnReply, { requestId }: Client): void {
  const { errorId } = body
  log.info('upstream_error', {
    requestId,
    upstream: 'authn',
    upstreamStatus: status,
    upstreamErrorCode: errorCode,
    upstreamErrorId: typeof errorId === 'string' ? errorId.slice(0, 64) : undefined,
  })
}
