import type { Client } from '../browser/client.ts'
import type { Beside } from '../coalescing/step-flights.ts'
import type { Exchanged } from '../transaction/exchanged.ts'
import type { Attempt } from './attempts.ts'
import type { Reservation, Throttling } from './throttling.ts'

/** Runs a step within a reservation, for callers that do not yet use `Throttling` itself. */
export interface Guessing {
  guard(attempt: Attempt | undefined, client: Client, work: () => Promise<Exchanged>): Promise<Exchanged>
  trial(attempt: Attempt, client: Client): Trial
}

export interface Trial extends Beside {
  guard(work: () => Promise<Exchanged>): Promise<Exchanged>
}

export function createGuessing({ reserve }: Pick<Throttling, 'reserve'>): Guessing {
  const guardWith = async (reservation: Reservation, work: () => Promise<Exchanged>) => {
    await reservation.enforce()
    try {
      const result = await work()
      reservation.settle(result)
      return result
    } catch (error) {
      reservation.settleError(error)
      throw error
    }
  }

  return {
    guard: (attempt, client, work) => guardWith(reserve(attempt, client), work),

    trial(attempt, client) {
      let asked: Reservation | undefined
      return {
        ask() {
          asked = reserve(attempt, client)
        },
        drop() {
          asked?.refund()
          asked = undefined
        },
        guard(work) {
          const reservation = asked ?? reserve(attempt, client)
          asked = undefined // from here on `guardWith` settles it
          return guardWith(reservation, work)
        },
      }
    },
  }
}
