import type { Counter } from 'prom-client'
import type { Signer } from '../../crypto/keys.ts'
import { logHash } from '../../login-names.ts'
import type { AuditFields } from '../../observability/audit-events.ts'
import type { Logger } from '../../observability/logger.ts'
import type { Metrics } from '../../observability/metrics.ts'
import type { Session } from '../../session/session.ts'
import type { Client } from '../browser/client.ts'
import type { Transaction } from '../transaction/transaction.ts'
import type { AuditEntry, RequestFields, StepEvent } from './step-events.ts'

type Login = string | undefined

export interface StepAuditDeps {
  readonly log: Logger
  readonly metrics: Metrics
  readonly hashes: Signer
  readonly canonicalLogin: (login: string) => string
}

/**
 * The audit log of sign-ins. It contains user ids, addresses and keyed hashes, never a login or a
 * code.
 */
export class StepAudit {
  readonly #deps: StepAuditDeps

  constructor(deps: StepAuditDeps) {
    this.#deps = deps
  }

  /** Writes what the rules of a step have named. */
  report(events: readonly StepEvent[], client: Client): void {
    for (const event of events) this.#write(event, client)
  }

  /** `client` sent a handle or SSO token that belongs to another device. */
  handleFromOtherDevice(owner: Pick<Transaction, 'userId' | 'login' | 'device'>, client: Client): void {
    const { userId, login, device } = owner
    const reason = client.device.returned ? 'other_device' : 'no_device_cookie'
    const boundDeviceHash = this.hashDevice(device)
    this.#deps.log.audit('handle_refused', { ...this.#from(client, login), userId, boundDeviceHash, reason })
  }

  succeeded(session: Session, { requestId, address, userAgent }: Client): void {
    const { userId, publicId: sessionId, loginHash, deviceHash, amr } = session
    const from = { requestId, address, deviceHash, loginHash, userAgent }
    this.#deps.log.audit('sign_in_succeeded', { ...from, userId, sessionId, methods: amr.join(' ') })
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

  /** The same for every spelling of a login. */
  readonly hashLogin = (login: string): string => logHash(this.#deps.hashes, this.#deps.canonicalLogin(login))

  hashDevice(id: string): string {
    return logHash(this.#deps.hashes, id)
  }

  #write(event: StepEvent, client: Client): void {
    const { log, metrics } = this.#deps
    if ('audit' in event) log.audit(event.audit, this.#auditFields(event, client))
    else if ('metric' in event) countIn(metrics[event.metric], event.labels)
    else {
      const fields = { requestId: client.requestId, ...event.fields }
      if (event.log === 'info') log.info(event.event, fields)
      else if (event.log === 'warn') log.warn(event.event, fields)
      else log.error(event.event, fields)
    }
  }

  #auditFields<Entry extends AuditEntry>(
    { login, fields }: Entry,
    client: Client,
  ): AuditFields<Entry['audit']> {
    // the type of the entry says that these are its fields
    return { ...this.#from(client, login), ...fields } as unknown as AuditFields<Entry['audit']>
  }

  #from({ requestId, address, device, userAgent }: Client, login: Login): RequestFields {
    const loginHash = login === undefined ? undefined : this.hashLogin(login)
    return { requestId, address, deviceHash: this.hashDevice(device.id), loginHash, userAgent }
  }
}

/** The type of the entry says that these are the labels of this metric. */
function countIn(metric: Counter, labels: Readonly<Record<string, string>>): void {
  metric.inc({ ...labels })
}
