import { setTimeout as delay } from 'node:timers/promises'
import { storeUnavailable } from '../errors.ts'
import type { RedisLink } from './redis-link.ts'
import { type Trouble, troubleOf } from './redis-trouble.ts'

/** Runs one command; what is `once` is not sent again when it may already have been carried out. */
export type RedisRunner = <Reply>(
  effect: 'repeatable' | 'once',
  command: () => Promise<Reply>,
) => Promise<Reply>

export interface RedisRunnerParts {
  readonly link: RedisLink
  readonly commandTimeoutMs: number
}

/** Runs a command within the bound: waits for a connection, sends, and sends again where that is sound. */
export function createRedisRunner({ link, commandTimeoutMs }: RedisRunnerParts): RedisRunner {
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
          lastTrouble = troubleOf(error)
          const { effect: done } = lastTrouble
          const again = done === 'refused' || (done === 'unknown' && effect === 'repeatable')
          if (!again || performance.now() + RETRY_MS >= deadline) throw error
          await delay(RETRY_MS)
        }
      }
    } catch (error) {
      // What Redis said to the command says more than that there was no second chance in time.
      throw lastTrouble === undefined ? error : toError(lastTrouble)
    } finally {
      leave()
    }
  }
}

/** A new error, because the client's own holds the command's arguments. */
function toError({ effect, reason }: Trouble): Error {
  const cause = new Error(`redis: ${reason}`)
  return effect === 'bug' ? cause : storeUnavailable(cause)
}

const RETRY_MS = 25

function within<Reply>(reply: Promise<Reply>, deadline: number): Promise<Reply> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error('timed out')), deadline - performance.now())
    reply.then(resolve, reject).finally(() => clearTimeout(timer))
  })
}
