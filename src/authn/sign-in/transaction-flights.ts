import type { Signer } from '../../crypto/sign.ts'
import { unknownHandle } from '../../errors.ts'
import type { Metrics } from '../../observability/metrics.ts'
import type { EndedUsers } from '../../session/ended-users.ts'
import { allWritten } from '../../store/all-written.ts'
import type { StepAudit } from '../audit.ts'
import type { Client } from '../browser/client.ts'
import type { StepDone } from '../coalescing/claimed-step.ts'
import type { StepFlights } from '../coalescing/step-flights.ts'
import type { Attempt } from '../throttling/attempts.ts'
import type { Guessing } from '../throttling/guessing.ts'
import type { Exchanged } from '../transaction/exchanged.ts'
import { refusalOf, type StepOutcome } from '../transaction/step-outcome.ts'
import type { Transaction } from '../transaction/transaction.ts'
import { isHandle, newHandle, type TransactionStore } from '../transaction/transaction-store.ts'

/** Steps as flights: what begins a transaction, and what goes on in one. What they are equal by is named by `print`. */
export interface TransactionFlights {
  /**
   * What begins a transaction: equal ones in flight are one, and what goes on is kept under a new handle. It says itself
   * whose attempt it is, so the limits are asked while the flight is being claimed.
   */
  open(
    print: readonly unknown[],
    attempt: Attempt,
    client: Client,
    work: (handle: string) => Promise<Exchanged>,
  ): Promise<StepOutcome>
  /** A step inside a transaction of this device; 401 E0000011 when there is none under this handle. */
  step(
    inside: {
      readonly handle: string
      readonly print: readonly unknown[]
      readonly polls?: boolean
      readonly atOnce?: number | undefined
    },
    client: Client,
    work: (transaction: Transaction) => Promise<Exchanged>,
  ): Promise<StepOutcome>
}

export interface TransactionFlightsParts {
  readonly transactions: TransactionStore
  readonly endedUsers: Pick<EndedUsers, 'endedSince'>
  readonly flights: StepFlights
  readonly guessing: Pick<Guessing, 'trial'>
  /** Names flights: an HMAC, so that no body stands in a key. */
  readonly fingerprints: Signer
  readonly audit: Pick<StepAudit, 'handleFromOtherDevice'>
  readonly metrics: Metrics
  readonly now: () => number
}

const NOTHING = Promise.resolve()

export function createTransactionFlights(parts: TransactionFlightsParts): TransactionFlights {
  const { transactions, endedUsers, flights, guessing, fingerprints, audit, metrics, now } = parts

  const fingerprint = ({ device }: Client, values: readonly unknown[]) =>
    fingerprints.sign(JSON.stringify([device.id, ...values]))

  const refused = (client: Client) => {
    metrics.refusals.inc({ reason: 'unknown_handle' })
    return unknownHandle(client.device.returned)
  }

  /** All sessions of the user have ended since it was begun; it names the user only now, so it did not end with them. */
  const isOver = async (before: Transaction, { userId }: Exchanged) =>
    before.userId === undefined &&
    userId !== undefined &&
    (await endedUsers.endedSince(userId, before.createdAtMs))

  const recordFor = (
    before: Transaction,
    after: Transaction | undefined,
    place: string,
  ): StepDone['record'] => {
    if (after === undefined) return 'delete'
    if (after === before) return 'keep'
    return { write: transactions.encode(after, place), ttlMs: after.expiresAtMs - now() }
  }

  /** What a new transaction leaves beside what the exchange has to write. */
  const create = async (handle: string, after: Transaction | undefined): Promise<void> => {
    if (after === undefined || after.status === '') return
    await transactions.create(handle, after, after.expiresAtMs - now())
  }

  return {
    open(print, attempt, client, work) {
      const name = fingerprint(client, [client.fingerprint, ...print])
      const trial = guessing.trial(attempt, client)
      return flights.run({ names: [name], fingerprint: name, beside: trial }, async () => {
        const handle = newHandle()
        const exchanged = await trial.guard(() => work(handle))
        const { after, alongside } = exchanged
        return {
          ...exchanged,
          record: 'keep',
          alongside: () => allWritten(create(handle, after), alongside?.() ?? NOTHING),
        }
      })
    },

    async step({ handle, print, polls = false, atOnce }, client, work) {
      if (!isHandle(handle)) throw refused(client)
      const flight = {
        names: transactions.names(handle),
        // without `X-Device-Fingerprint`: the device has one, and a browser that names another each time gains nothing
        fingerprint: fingerprint(client, [handle, ...print]),
        polls,
        atOnce,
      }
      return flights.run(flight, async (place, raw) => {
        const before = transactions.decode(raw, place)
        if (before !== undefined && before.device !== client.device.id)
          audit.handleFromOtherDevice(before, client)
        const isGone = before === undefined || before.origin === 'remnant'
        if (isGone || before.device !== client.device.id) throw refused(client)
        const exchanged = await work(before)
        if (await isOver(before, exchanged)) return { outcome: refusalOf(refused(client)), record: 'delete' }
        const { after, alongside, settled } = exchanged
        const endWithUser = async () => {
          if (after !== undefined && after !== before) await transactions.endWithUser(after, place)
        }
        return {
          ...exchanged,
          record: recordFor(before, after, place),
          alongside: () => allWritten(endWithUser(), alongside?.() ?? NOTHING),
          async settled() {
            if (after === undefined) transactions.ended(before, place)
            await settled?.()
          },
        }
      })
    },
  }
}
