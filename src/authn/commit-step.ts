import { stepInProgress } from '../errors.ts'
import type { Logger } from '../observability/logger.ts'
import type { RevocationTimes } from '../revocation/revocation-times.ts'
import type { UserKeys } from '../revocation/user-keys.ts'
import type { SessionOpening, TakenDevice } from '../session/open-session.ts'
import type { IdentifiedSession } from '../session/session.ts'
import { allSettledOrThrow } from '../store/all-settled-or-throw.ts'
import type { Store } from '../store/store.ts'
import type { StepAudit } from './audit/step-audit.ts'
import type { Client } from './browser/client.ts'
import type { StepLocks } from './coalescing/step-locks.ts'
import type { JoinedStep } from './join-step.ts'
import type { SsoTokens } from './redirects/sso-tokens.ts'
import { type Decision, type OpenedSession, SIGNED_OUT } from './step/decision.ts'
import type { Throttling } from './throttling/throttling.ts'
import type { OfferedResources } from './transaction/offered-resources.ts'
import type { StepOutcome } from './transaction/step-outcome.ts'
import type { TransactionStore } from './transaction/transaction-store.ts'

export interface CommitDeps {
  readonly store: Pick<Store, 'preservesWriteOrder'>
  readonly locks: StepLocks
  readonly transactions: TransactionStore
  readonly opening: SessionOpening
  readonly ssoTokens: Pick<SsoTokens, 'write' | 'remove'>
  readonly throttling: Pick<Throttling, 'rememberDevice'>
  readonly offeredResources: Pick<OfferedResources, 'add'>
  readonly knownDevices: Pick<UserKeys, 'deleteAll'>
  readonly revocationTimes: Pick<RevocationTimes, 'revokedSince'>
  readonly audit: StepAudit
  readonly log: Logger
  readonly now: () => number
}

/** How a write is undone. */
type Undo = () => Promise<unknown>

/**
 * Writes the session, the transaction and the shared result, and releases the lock, in one turn.
 * If a write fails, if the stored transaction has changed since it was read (`StepLocks.commit`),
 * or if all sessions of the user ended meanwhile, all writes are undone.
 */
export async function commitStep(
  decision: Decision,
  step: JoinedStep,
  client: Client,
  deps: CommitDeps,
): Promise<StepOutcome> {
  const { lock } = step
  const undo: Undo[] = lock === undefined ? [] : [() => deps.locks.rollback(lock)]
  try {
    const opened = decision.opens && toSession(decision.opens, client, deps)
    const written = await writeAll(decision, opened, step, client, undo, deps)
    if (written.isEnded) {
      await undoAll([...undo, forgetDevices(decision, deps)], deps)
      return SIGNED_OUT
    }
    if (opened !== undefined) await replaceSessions(decision, opened, written, client, deps)
  } catch (error) {
    await undoAll(undo, deps)
    throw error
  }
  return decision.outcome
}

/** The end of all sessions has also ended the known devices, maybe before this one was written. */
const forgetDevices =
  ({ opens }: Decision, { knownDevices }: Pick<CommitDeps, 'knownDevices'>): Undo =>
  async () => {
    if (opens !== undefined) await knownDevices.deleteAll(opens.userId)
  }

/**
 * What cannot be undone expires: the browser gets neither the session's cookie nor the SSO token.
 */
async function undoAll(undo: readonly Undo[], { log }: Pick<CommitDeps, 'log'>): Promise<void> {
  const results = await Promise.allSettled(undo.map((one) => one()))
  for (const result of results)
    if (result.status === 'rejected') log.warn('step_rollback_failed', {}, result.reason)
}

interface Written {
  /** Of the index of the user's sessions. */
  readonly entries: number
  readonly device: TakenDevice | undefined
  /** All sessions of the user ended while the step ran. */
  readonly isEnded: boolean
}

/** Sends everything in one turn of the event loop, which is one round trip. */
async function writeAll(
  decision: Decision,
  opened: IdentifiedSession | undefined,
  step: JoinedStep,
  client: Client,
  undo: Undo[],
  deps: CommitDeps,
): Promise<Written> {
  const { opening, store } = deps
  const writing = opened && writeSession(decision, opened, client, undo, deps)
  // requests must find the session as soon as another replica shares the result
  if (!store.preservesWriteOrder) await writing
  const transaction = writeTransaction(decision, step, undo, deps)
  const taking =
    opened &&
    opening.takeDevice(opened).then((taken) => {
      undo.push(() => opening.undoTakeDevice(taken))
      return taken
    })
  const committing = commitLock(decision, step, undo, deps)
  leaveUserIndex(decision, step, undo, deps)
  const offering = addOffers(decision, step, client, deps)
  // last: if all sessions of the user end after this read, that finds what was written before it
  const reading = store.preservesWriteOrder ? isEndedMeanwhile(decision, deps) : Promise.resolve(false)
  const [entries, device, isCommitted, isEnded] = await allSettledOrThrow(
    Promise.resolve(writing),
    Promise.resolve(taking),
    committing,
    reading,
    transaction,
    offering,
  )
  if (!isCommitted) throw stepInProgress()
  const endsLater = !store.preservesWriteOrder && (await isEndedMeanwhile(decision, deps))
  return { entries: entries ?? 0, device, isEnded: isEnded || endsLater }
}

/** Whether all sessions of the user ended although no stored record named the user. */
export async function isEndedMeanwhile(
  { unlessEnded }: Decision,
  { revocationTimes }: Pick<CommitDeps, 'revocationTimes'>,
): Promise<boolean> {
  if (unlessEnded === undefined) return false
  return revocationTimes.revokedSince(unlessEnded.userId, unlessEnded.sinceMs)
}

function toSession(
  { id, publicId, userId, login, profile, amr, openedAtMs: nowMs }: OpenedSession,
  { device, userAgent }: Client,
  { audit }: Pick<CommitDeps, 'audit'>,
): IdentifiedSession {
  const [loginHash, deviceHash] = [audit.hashLogin(login), audit.hashDevice(device.id)]
  const identity = { publicId, userId, login, profile, amr, deviceId: device.id, loginHash, deviceHash }
  const times = { createdAtMs: nowMs, authenticatedAtMs: nowMs, lastSeenAtMs: nowMs }
  return { id, session: { ...identity, userAgent, ...times } }
}

/** @returns how many entries the index of the user's sessions has now */
async function writeSession(
  { opens }: Decision,
  opened: IdentifiedSession,
  client: Client,
  undo: Undo[],
  { opening, ssoTokens, throttling }: CommitDeps,
): Promise<number> {
  const writing = opening.write(opened)
  undo.push(() => opening.undoWrite(opened, writing))
  const ssoToken = opens?.ssoToken
  if (ssoToken !== undefined) undo.push(() => ssoTokens.remove(ssoToken.handle))
  const [entries] = await allSettledOrThrow(
    writing,
    ssoToken === undefined
      ? Promise.resolve()
      : ssoTokens.write(ssoToken.handle, ssoToken.sessionToken, opened.id, client),
    // even if the session is undone: Okta has accepted the user's credentials
    throttling.rememberDevice({ userId: opened.session.userId, logins: opens?.logins ?? [] }, client),
  )
  return entries
}

/**
 * Creates the record of a new transaction, or adds an existing one to its user's index once the
 * user is known.
 */
async function writeTransaction(
  { after }: Decision,
  { before, handle, lock }: JoinedStep,
  undo: Undo[],
  { transactions }: Pick<CommitDeps, 'transactions'>,
): Promise<void> {
  if (lock === undefined) {
    if (after === undefined || after.status === '') return
    undo.push(() => transactions.remove(handle, after))
    await transactions.create(handle, after)
  } else if (after !== undefined && after.userId !== before.userId) {
    await transactions.addToUserIndex(after, lock.recordKey)
  }
}

/** A transaction that is over leaves the index of its user. */
function leaveUserIndex(
  { after }: Decision,
  { before, lock }: JoinedStep,
  undo: Undo[],
  { transactions }: Pick<CommitDeps, 'transactions'>,
): void {
  if (lock === undefined || after !== undefined || before.userId === undefined) return
  undo.push(() => transactions.addToUserIndex(before, lock.recordKey))
  transactions.removeFromUserIndex(before, lock.recordKey)
}

/** False if the stored transaction has changed since it was read (`StepLocks.commit`). */
async function commitLock(
  { after, outcome, unlessEnded }: Decision,
  { before, lock }: JoinedStep,
  undo: Undo[],
  { locks, transactions }: Pick<CommitDeps, 'locks' | 'transactions'>,
): Promise<boolean> {
  if (lock === undefined) return true
  const committing = locks.commit(lock, transactions.recordChange(before, after, lock.recordKey), outcome)
  // A transaction that named its user in this step is over, also if a later step has continued it:
  // all sessions may have ended, or it may be in no index.
  if (unlessEnded !== undefined && after !== undefined)
    undo.push(async () => {
      const isRefused = await committing.then(
        (isCommitted) => !isCommitted,
        () => false,
      )
      if (isRefused) return // the record is another step's, which did not see this user
      await transactions.end(lock.name)
      transactions.removeFromUserIndex(after, lock.recordKey)
    })
  return committing
}

async function addOffers(
  { after, offers = [] }: Decision,
  { handle }: JoinedStep,
  { device }: Client,
  { offeredResources, now }: Pick<CommitDeps, 'offeredResources' | 'now'>,
): Promise<void> {
  if (after === undefined || offers.length === 0) return
  const stateTokens = [after.stateToken, ...after.retiredTokens]
  await offeredResources.add(device.id, offers, { handle, stateTokens, ttlMs: after.expiresAtMs - now() })
}

/** After the commit: ends the sessions that the new one replaces, and audits the sign-in. */
async function replaceSessions(
  { opens }: Decision,
  opened: IdentifiedSession,
  { entries, device }: Written,
  client: Client,
  { opening, audit }: Pick<CommitDeps, 'opening' | 'audit'>,
): Promise<void> {
  const { userId, login } = opened.session
  if (device !== undefined)
    await opening.replace(opened, device, client.sessionId, opens?.mayReplaceOtherUser === true)
  const count = await opening.evict(opened, entries)
  if (count > 0) audit.sessionsRevoked({ userId, count, reason: 'evicted' }, login, client)
  audit.succeeded(opened.session, client)
}
