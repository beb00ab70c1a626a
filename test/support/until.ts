import { setTimeout as delay } from 'node:timers/promises'

/**
 * Long enough for a busy machine. Mutation testing uses less, because hundreds of its tests fail.
 */
export const TIMEOUT_MS = Number(process.env.UNTIL_TIMEOUT_MS ?? 90_000)

export interface UntilOptions {
  readonly timeoutMs?: number
  readonly everyMs?: number
  /** The condition's name, for the error message. */
  readonly what?: string
}

/**
 * How long one attempt within `until` may wait for a page. It is short, so that several attempts
 * fit into the time limit.
 */
export const TRY_MS = 5000

/**
 * Evaluates the condition repeatedly and returns its first truthy result. Throws after the time
 * limit. A condition that throws counts as false; its last error is the `cause`.
 */
export async function until<Answer>(
  condition: () => Answer | Promise<Answer>,
  { timeoutMs = TIMEOUT_MS, everyMs = 10, what = 'the condition' }: UntilOptions = {},
): Promise<Answer> {
  const deadline = performance.now() + timeoutMs
  let cause: unknown
  do {
    try {
      const answer = await condition()
      if (answer) return answer
      cause = undefined
    } catch (error) {
      cause = error
    }
    await delay(everyMs)
  } while (performance.now() < deadline)
  throw new Error(`${what} did not come true within ${timeoutMs} ms`, { cause })
}
