import { BrokerError, stepInProgress } from '../../errors.ts'
import type { Logger } from '../../observability/logger.ts'
import type { PreparedSession, Sessions } from '../../session/sessions.ts'
import { allSettledOrThrow, type Store } from '../../store/store.ts'
import type { StepAudit } from '../audit.ts'
import type { Client } from '../browser/client.ts'
import type { StepLock, StepLocks } from '../coalescing/step-locks.ts'
import type { UserDevices } from '../devices/user-devices.ts'
import type { SsoTokens } from '../redirects/sso-tokens.ts'
import type { Throttling } from '../throttling/throttling.ts'
import type { Answer, AnsweredUser } from '../transaction/answer.ts'
import {
  type IssuedSession,
  type StepOutcome,
  type StepResult,
  toRefusal,
} from '../transaction/step-result.ts'
import type { Transaction } from '../transaction/transaction.ts'
import type { TransactionStore } from '../transaction/transaction-store.ts'

export interface CompletedStep {
  readonly lock: StepLock
  readonly before: Transaction
  readonly handle: string
  /** The step began the transaction. */
  readonly isNew: boolean
  readonly result: StepResult
}

export interface CommitsOptions {
  readonly store: Pick<Store, 'preservesWriteOrder'>
  readonly locks: Pick<StepLocks, 'commit' | 'rollback' | 'release'>
  readonly transactions: Pick<
    TransactionStore,
    'create' | 'recordChange' | 'addToUserIndex' | 'removeFromUserIndex'
  >
  readonly log: Logger
}

/** The writes at the end of a step, and their reversal. */
export class Commits {
  readonly #options: CommitsOptions

  constructor(options: CommitsOptions) {
    this.#options = options
  }

  /**
   * Writes the session, the transaction and the shared result, and releases the lock. If a write fails, or the lock has
   * expired and the transaction has changed since, all writes are rolled back.
   */
  async commit(step: CompletedStep): Promise<StepOutcome> {
    try {
      await this.#write(step)
    } catch (error) {
      await this.#rollback(step)
      throw error
    }
    return step.result.outcome
  }

  /** Ends a step that failed before its commit. Identical requests share a BrokerError, but no other error. */
  async abandon(lock: StepLock, error: unknown): Promise<void> {
    const { locks, log } = this.#options
    try {
      if (error instanceof BrokerError) await locks.commit(lock, 'keep', toRefusal(error))
      else await locks.release(lock)
    } catch (failure) {
      log.warn('step_lock_release_failed', {}, failure) // the lock expires after its time to live
    }
  }

  /** All writes are sent in one tick. If the store may reorder them, the session is written first, because requests must find it. */
  async #write(step: CompletedStep): Promise<void> {
    const { store, locks, transactions } = this.#options
    const { lock, before, isNew, result } = step
    const { outcome, after, session } = result
    const change = isNew ? 'keep' : transactions.recordChange(before, after, lock.recordKey)
    const writing = session?.write()
    if (!store.preservesWriteOrder) await writing
    const [, , committed] = await allSettledOrThrow(
      Promise.resolve(writing),
      allSettledOrThrow(this.#writeTransaction(step), Promise.resolve(session?.bindDevice())),
      locks.commit(lock, change, outcome),
    )
    if (!committed) throw stepInProgress()
    await session?.afterCommit()
    if (!isNew && after === undefined) transactions.removeFromUserIndex(before, lock.recordKey)
  }

  /** Creates the record of a new transaction, or adds an existing transaction to its user's index. */
  async #writeTransaction({ lock, before, handle, isNew, result }: CompletedStep): Promise<void> {
    const { transactions } = this.#options
    const { after } = result
    if (after === undefined || after === before) return
    if (!isNew) await transactions.addToUserIndex(after, lock.recordKey)
    else if (after.status !== '') await transactions.create(handle, after)
  }

  async #rollback({ lock, result }: CompletedStep): Promise<void> {
    const { locks, log } = this.#options
    const results = await Promise.allSettled([locks.rollback(lock), result.session?.rollback()])
    for (const one of results) if (one.status === 'rejected') log.warn('step_rollback_failed', {}, one.reason)
  }
}

/** A sign-in that opens a session. */
export interface FinishedSignIn {
  readonly answer: Answer & { readonly user: AnsweredUser }
  readonly after: Transaction
  /** Sanitized, so that the session contains no token. */
  readonly profile: Readonly<Record<string, unknown>>
  readonly ssoToken: string | undefined
}

export interface IssueSessionDeps {
  readonly sessions: Pick<Sessions, 'prepare'>
  readonly ssoTokens: Pick<SsoTokens, 'write' | 'remove'>
  readonly throttling: Pick<Throttling, 'rememberDevice'>
  readonly devices: Pick<UserDevices, 'add'>
  readonly audit: StepAudit
}

/** Prepares the session of a finished sign-in. Nothing is stored yet. */
export function issueSession(signIn: FinishedSignIn, client: Client, deps: IssueSessionDeps): IssuedSession {
  const { answer, after, profile } = signIn
  const login = readLogin(profile) ?? after.login ?? ''
  const amr = toAmr(after)
  const session = deps.sessions.prepare({
    userId: answer.user.id,
    login,
    profile,
    amr,
    loginHash: deps.audit.hashLogin(login),
    deviceId: client.device.id,
    userAgent: client.userAgent,
  })
  return {
    id: session.id,
    write: () => write(session, signIn, client, deps),
    bindDevice: session.bindDevice,
    afterCommit: () => afterCommit(session, { ...signIn, login, amr }, client, deps),
    async rollback() {
      const { ssoToken } = signIn
      await allSettledOrThrow(
        session.rollback(),
        ssoToken === undefined ? Promise.resolve() : deps.ssoTokens.remove(ssoToken),
      )
    },
  }
}

async function write(
  session: PreparedSession,
  { answer, after, ssoToken }: FinishedSignIn,
  client: Client,
  { ssoTokens, throttling, devices }: IssueSessionDeps,
): Promise<void> {
  const { sessionToken, user } = answer
  const logins = [after.login, readLogin(user.profile)].filter((name) => name !== undefined)
  const names = { userId: user.id, logins }
  await allSettledOrThrow(
    session.write(),
    ssoToken === undefined || sessionToken === undefined
      ? Promise.resolve()
      : ssoTokens.write(ssoToken, sessionToken, session.id, client),
    // even if the session is rolled back: Okta has accepted the user's credentials
    throttling.rememberDevice(names, client),
    devices.add(names, after.autoPush?.approved, client),
  )
}

async function afterCommit(
  session: PreparedSession,
  signIn: FinishedSignIn & { readonly login: string; readonly amr: readonly string[] },
  client: Client,
  { audit }: IssueSessionDeps,
): Promise<void> {
  const { answer, after, login, amr } = signIn
  const userId = answer.user.id
  const mayReplaceOtherUser = after.userProved && after.origin !== 'imported'
  const evicted = await session.replace(client.sessionId, mayReplaceOtherUser)
  if (evicted > 0) audit.sessionsRevoked({ userId, count: evicted, reason: 'evicted' }, login, client)
  audit.succeeded({ userId, sessionId: session.publicId, methods: amr.join(' ') }, login, client)
}

function readLogin(profile: Readonly<Record<string, unknown>>): string | undefined {
  return typeof profile.login === 'string' && profile.login !== '' ? profile.login : undefined
}

/** Adds `mfa` if more than one method was used (RFC 8176 §2). */
function toAmr({ amr }: Transaction): string[] {
  return amr.length > 1 ? [...new Set([...amr, 'mfa'])] : [...amr]
}
