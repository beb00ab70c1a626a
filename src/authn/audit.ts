import type { Signer } from '../crypto/keys.ts'
import { logHash } from '../login-names.ts'
import type { AuditFields } from '../observability/audit-events.ts'
import type { Logger } from '../observability/logger.ts'
import type { Metrics } from '../observability/metrics.ts'
import { readError } from '../okta-errors.ts'
import type { Client } from './browser/client.ts'
import { STATUSES } from './sanitize/unknown-steps.ts'
import type { Answer } from './transaction/answer.ts'
import type { Enrollment } from './transaction/credentials.ts'
import type { Transaction } from './transaction/transaction.ts'
import type { AuthnReply } from './upstream/read-answer.ts'

type Started = AuditFields<'sign_in_started'>
/** The fields of every event. */
type RequestFields = Pick<Started, 'requestId' | 'address' | 'deviceHash' | 'loginHash' | 'userAgent'>
type Login = string | undefined

export interface StepAuditDeps {
  readonly log: Logger
  readonly metrics: Metrics
  readonly hashes: Signer
  readonly canonicalLogin: (login: string) => string
}

/** Factor results with status 200 that reject a push or a code. */
const REFUSED_FACTORS = ['REJECTED', 'TIMEOUT', 'TIME_WINDOW_EXCEEDED', 'PASSCODE_REPLAYED']

/** The audit log of sign-ins. It contains user ids, addresses and keyed hashes, never a login or a code. */
export class StepAudit {
  readonly #deps: StepAuditDeps

  constructor(deps: StepAuditDeps) {
    this.#deps = deps
  }

  started(operation: Started['operation'], login: Login, client: Client): void {
    this.#deps.log.audit('sign_in_started', { ...this.#from(client, login), operation })
  }

  recoveryStarted(
    recovery: Pick<AuditFields<'recovery_started'>, 'operation' | 'factorType'>,
    login: Login,
    client: Client,
  ): void {
    this.#deps.log.audit('recovery_started', { ...this.#from(client, login), ...recovery })
  }

  /** Okta answered with an Error object. */
  refused(
    operation: string,
    reply: AuthnReply,
    { userId, login, stateToken }: Transaction,
    client: Client,
    factorType?: string,
  ): void {
    const { log, metrics } = this.#deps
    const { status, errorCode: upstreamErrorCode = 'error' } = reply
    metrics.signInSteps.inc({ operation, status: upstreamErrorCode })
    const fields = { ...this.#from(client, login), operation, userId, upstreamErrorCode: reply.errorCode }
    const { audit } = readError(reply, operation)
    if (audit === 'factor_failed') log.audit(audit, { ...fields, factorType })
    else if (audit !== undefined) log.audit(audit, fields)
    else if (status !== 401 && status !== 403) return
    else if (operation === 'recovery_token') log.audit('recovery_token_refused', fields)
    else if (operation === 'primary') {
      const startsWithToken = stateToken === '' && login === undefined
      log.audit('sign_in_failed', { ...fields, reason: startsWithToken ? 'activation_token' : undefined })
    }
  }

  /** The org refused an address, before it looked at the user. */
  addressBlocked(operation: string, { userId, login }: Transaction, client: Client): void {
    const { log, metrics } = this.#deps
    metrics.signInSteps.inc({ operation, status: 'address_blocked' })
    if (operation !== 'primary') return
    log.audit('sign_in_failed', {
      ...this.#from(client, login),
      operation,
      userId,
      reason: 'address_blocked',
    })
  }

  /** A code in a decoy transaction is logged like any wrong code. */
  decoyFailed(operation: string, { login }: Transaction, factorType: string, client: Client): void {
    this.#deps.log.audit('factor_failed', { ...this.#from(client, login), operation, factorType })
  }

  answered(
    operation: string,
    answer: Answer,
    { before, after }: { readonly before: Transaction; readonly after: Transaction },
    client: Client,
    factorType?: string,
  ): void {
    const { log, metrics } = this.#deps
    const { status: transactionStatus, factorResult } = answer
    metrics.signInSteps.inc({ operation, status: statusLabel(transactionStatus) })
    const { userId, login, factorFailed } = after
    const fields = () => ({ ...this.#from(client, login), operation, userId })
    if (factorFailed === true && before.factorFailed !== true) {
      const [typeInUse] = Object.values(answer.factorTypes) // a state request names no factor
      log.audit('factor_failed', { ...fields(), factorType: factorType ?? typeInUse, reason: factorResult })
    }
    if (operation === 'state') return // it changes nothing
    if (factorResult !== undefined && REFUSED_FACTORS.includes(factorResult))
      log.audit('factor_failed', { ...fields(), factorType, reason: factorResult })
    else if (isChallenged(operation, before, answer))
      log.audit('factor_challenged', { ...fields(), factorType, transactionStatus })
    if (transactionStatus === 'LOCKED_OUT')
      log.audit('sign_in_failed', { ...fields(), reason: transactionStatus })
    if (operation === 'change_password' || operation === 'reset_password')
      log.audit('password_changed', { ...fields(), operation, transactionStatus })
  }

  /** A factor became active, or an active one changed. */
  enrolled(operation: string, enrollment: Enrollment, { userId, login }: Transaction, client: Client): void {
    const { log } = this.#deps
    const { factorType, provider, updatesPhone, replaces } = enrollment
    const fields = { ...this.#from(client, login), operation, userId, factorType, provider }
    if (replaces) log.audit('factor_changed', { ...fields, reason: 'enrolled_again' })
    else log.audit('factor_enrolled', fields)
    if (updatesPhone) log.audit('factor_changed', { ...fields, reason: 'phone_updated' })
  }

  /** `client` sent a handle or SSO token that belongs to another device. */
  handleFromOtherDevice(owner: Pick<Transaction, 'userId' | 'login' | 'device'>, client: Client): void {
    const { userId, login, device } = owner
    const reason = client.device.returned ? 'other_device' : 'no_device_cookie'
    const boundDeviceHash = this.hashDevice(device)
    this.#deps.log.audit('handle_refused', { ...this.#from(client, login), userId, boundDeviceHash, reason })
  }

  succeeded(
    session: Pick<AuditFields<'sign_in_succeeded'>, 'userId' | 'sessionId' | 'methods'>,
    login: Login,
    client: Client,
  ): void {
    this.#deps.log.audit('sign_in_succeeded', { ...this.#from(client, login), ...session })
  }

  /** Other sessions of this user were ended. */
  sessionsRevoked(
    revoked: Pick<AuditFields<'sessions_revoked'>, 'userId' | 'count' | 'reason'>,
    login: Login,
    client: Client,
  ): void {
    this.#deps.log.audit('sessions_revoked', { ...this.#from(client, login), ...revoked })
  }

  limitHit(
    hit: Omit<AuditFields<'limit_hit'>, keyof RequestFields> & { login?: Login },
    client: Client,
  ): void {
    const { login, ...fields } = hit
    this.#deps.metrics.limitHits.inc({ limit: fields.limit })
    this.#deps.log.audit('limit_hit', { ...this.#from(client, login), ...fields })
  }

  /** Logs Okta's error id under the broker's request id. */
  upstreamError({ status, errorCode, body: { errorId } }: AuthnReply, { requestId }: Client): void {
    this.#deps.log.info('upstream_error', {
      requestId,
      upstream: 'authn',
      upstreamStatus: status,
      upstreamErrorCode: errorCode,
      upstreamErrorId: typeof errorId === 'string' ? errorId.slice(0, 64) : undefined,
    })
  }

  /** The same for every spelling of a login. */
  readonly hashLogin = (login: string): string => logHash(this.#deps.hashes, this.#deps.canonicalLogin(login))

  hashDevice(id: string): string {
    return logHash(this.#deps.hashes, id)
  }

  #from({ requestId, address, device, userAgent }: Client, login: Login): RequestFields {
    const loginHash = login === undefined ? undefined : this.hashLogin(login)
    return { requestId, address, deviceHash: this.hashDevice(device.id), loginHash, userAgent }
  }
}

/** Whether this answer is a new challenge, not a poll of one. */
function isChallenged(operation: string, before: Transaction, { status }: Answer): boolean {
  return status === 'MFA_CHALLENGE' && (operation === 'resend' || before.status !== status)
}

/** Limits the number of label values. `unknown-steps.ts` counts unknown statuses by name. */
function statusLabel(status: string): string {
  if (status === '') return 'none'
  return STATUSES.has(status) ? status : 'other'
}
