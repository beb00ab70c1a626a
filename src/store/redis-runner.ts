import { setTimeout as delay } from 'node:timers/promises'
import { BrokerError } from '../errors.ts'
import type { RedisLink } from './redis-link.ts'
import { StoreTrouble, type Trouble, troubleOf, unavailableBecause } from './redis-trouble.ts'

/** Runs one command; what is `once` is not sent again when it may already have been carried out. */
export type RedisRunner = <Reply>(
  effect: 'repeatable' | 'once',
  command: () => Promise<Reply>,
) => Promise<Reply>

export interface RedisRunnerParts {
  readonly link: RedisLink
  readonly commandTimeoutMs: number
  /** Told once of each operation that ended in `storeUnavailable`, however often it was sent. */
  readonly onFailure?: () => void
}

/** Runs a command within the bound: waits for a connection, sends, and sends again where that is sound. */
export function createRedisRunner({
  link,
  commandTimeoutMs,
  onFailure = () => {},
}: RedisRunnerParts): RedisRunner {
  return async function run(effect, command) {
    const deadline = performance.now() + commandTimeoutMs
    const leave = link.enter()
    let lastTrouble: Trouble | undefined
    try {
      for (;;) {
        await link.ready(deadline)
        try {
          return await within(command(), deadline)
        } catch (error) {
          const trouble = troubleOf(error)
          if (lastTrouble === undefined || trouble.reason !== 'timeout') lastTrouble = trouble
          const { effect: done } = trouble
          const again = done === 'refused' || (done === 'unknown' && effect === 'repeatable')
          if (!again || performance.now() + RETRY_MS >= deadline) throw error
          await delay(RETRY_MS)
        }
      }
    } catch (error) {
      const told = errorFor(lastTrouble, error)
      if (told instanceof BrokerError) onFailure()
      throw told
    } finally {
      leave()
    }
  }
}

/** What Redis said to the command, where it said something, says more than that no connection or answer came in time. */
function errorFor(trouble: Trouble | undefined, thrown: unknown): unknown {
  if (trouble === undefined || trouble.effect === 'slip') return thrown
  // A new error, because the client's own holds the command's arguments.
  return trouble.effect === 'bug' ? new StoreTrouble(trouble.reason) : unavailableBecause(trouble.reason)
}

const RETRY_MS = 25

function within<Reply>(reply: Promise<Reply>, deadline: number): Promise<Reply> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error('timed out')), deadline - performance.now())
    reply.then(resolve, reject).finally(() => clearTimeout(timer))
  })
}
