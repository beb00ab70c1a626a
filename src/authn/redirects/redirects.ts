import { v4 as uuid } from 'uuid'
import { stepNotOffered, unknownHandle } from '../../errors.ts'
import type { Metrics } from '../../observability/metrics.ts'
import type { Sessions } from '../../session/sessions.ts'
import type { StepAudit } from '../audit.ts'
import type { Client } from '../browser/client.ts'
import type { StepFlights } from '../coalescing/step-flights.ts'
import { redirectOf } from '../transaction/offered-steps.ts'
import type { Transaction } from '../transaction/transaction.ts'
import { isHandle, type TransactionStore } from '../transaction/transaction-store.ts'

/** The redirects that the protocol itself demands: to the very link that the upstream offered, and once. */
export interface Redirects {
  /** Where the browser goes; the real token is in it. */
  follow(path: string, handle: unknown, client: Client): Promise<string>
}

export interface RedirectsParts {
  readonly transactions: TransactionStore
  readonly flights: StepFlights
  readonly sessions: Pick<Sessions, 'get'>
  readonly audit: Pick<StepAudit, 'handleFromOtherDevice'>
  readonly metrics: Metrics
  readonly now: () => number
}

export function createRedirects({
  transactions,
  flights,
  sessions,
  audit,
  metrics,
  now,
}: RedirectsParts): Redirects {
  /** A redirect-only transaction ends with its session; one that opened none, where another user has signed in. */
  const isOver = async ({ origin, sessionId, userId }: Transaction, client: Client): Promise<boolean> => {
    if (origin !== 'remnant') return false
    const id = sessionId ?? client.sessionId
    const session = id === undefined ? undefined : await sessions.get(id, client.device.id)
    return sessionId === undefined
      ? session !== undefined && session.userId !== userId
      : session === undefined
  }

  return {
    async follow(path, handle, client) {
      if (typeof handle !== 'string' || !isHandle(handle)) {
        metrics.refusals.inc({ reason: 'unknown_handle' })
        throw unknownHandle(client.device.returned)
      }
      let target: string | undefined
      // a flight of its own: what may be used once is shared with nobody
      const flight = { names: transactions.names(handle), fingerprint: uuid() }
      await flights.run(flight, async (place, raw) => {
        const transaction = transactions.decode(raw, place)
        if (transaction !== undefined && transaction.device !== client.device.id)
          audit.handleFromOtherDevice(transaction, client)
        if (transaction === undefined || transaction.device !== client.device.id) {
          throw unknownHandle(client.device.returned)
        }
        if (await isOver(transaction, client)) throw unknownHandle()
        target = redirectOf(transaction.offered, path)
        if (target === undefined) throw stepNotOffered()
        const rest = without(transaction, path)
        return {
          outcome: {
            kind: 'answer',
            status: 302,
            body: '',
            headers: {},
            errorCode: undefined,
            sessionId: undefined,
          },
          record:
            rest === undefined
              ? 'delete'
              : { write: transactions.encode(rest, place), ttlMs: rest.expiresAtMs - now() },
          async settled() {
            if (rest === undefined) transactions.ended(transaction, place)
          },
        }
      })
      if (target === undefined) throw stepNotOffered()
      return target
    },
  }
}

/** Without the redirects of the path that was used; a remnant has nothing else to live for. */
function without(transaction: Transaction, path: string): Transaction | undefined {
  const offered = transaction.offered.filter((step) => step.href === undefined || step.path !== path)
  return transaction.origin === 'remnant' && offered.length === 0 ? undefined : { ...transaction, offered }
}
