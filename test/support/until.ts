import { setTimeout as delay } from 'node:timers/promises'

/** Long enough for a busy machine; mutation testing fails hundreds of times, so it waits less. */
export const TIMEOUT_MS = Number(process.env.UNTIL_TIMEOUT_MS ?? 90_000)

export interface UntilOptions {
  readonly timeoutMs?: number
  readonly everyMs?: number
  /** What one waited for, for the message when it never came. */
  readonly what?: string
}

/** How long one try within `until` may wait for a page: short beside the whole bound, so that there are more tries. */
export const TRY_MS = 5000

/**
 * Asks again and again until the condition holds (a truthy answer, which is returned) and fails when it does not
 * within the bound. A condition that throws does not hold yet; its last error is the failure's cause.
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
