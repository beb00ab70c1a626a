import { GatehouseError } from './gatehouse-error.ts'
import type { SignInStep } from './sign-in-step.ts'

export interface PollOptions {
  /**
   * Ends the polling: the iteration rejects with the signal's reason, at any time. The step can be
   * polled again.
   */
  readonly signal?: AbortSignal
  /**
   * Milliseconds between two polls. Default: 2,000. Gatehouse delays a poll that comes within a
   * second of the last.
   */
  readonly everyMs?: number
  /** Called after a failure that may pass: another poll follows. */
  readonly onRetry?: (error: GatehouseError) => void
}

/** Milliseconds to wait after a failure that may pass. After the last one, the error is thrown. */
const BACK_OFF_MS = [1000, 2000, 4000, 8000, 16_000]
/**
 * An error with a longer `Retry-After` is thrown: the page can tell the user to come back later.
 */
const LONGEST_WAIT_MS = 60_000

/**
 * Polls until the user has answered, and yields each step: while it waits, one whose `result` is
 * `WAITING`, and at last the step that follows. After a 429, a 5xx or a lost connection it waits
 * longer.
 * @param ask sends one poll
 */
export async function* poll(
  ask: (signal?: AbortSignal) => Promise<SignInStep>,
  options: PollOptions = {},
): AsyncGenerator<SignInStep, SignInStep, undefined> {
  for (;;) {
    const step = await pollOnce(ask, options)
    options.signal?.throwIfAborted()
    yield step
    if (!('result' in step) || step.result !== 'WAITING') return step
  }
}

async function pollOnce(
  ask: (signal?: AbortSignal) => Promise<SignInStep>,
  { signal, everyMs = 2000, onRetry }: PollOptions,
): Promise<SignInStep> {
  for (let failures = 0, waitMs = everyMs; ; failures += 1) {
    await pause(waitMs, signal)
    try {
      return await ask(signal)
    } catch (error) {
      const backOffMs = BACK_OFF_MS[failures]
      if (backOffMs === undefined || !(error instanceof GatehouseError) || !mayPass(error)) throw error
      waitMs = Math.max(backOffMs, (error.retryAfterSeconds ?? 0) * 1000)
      if (waitMs > LONGEST_WAIT_MS) throw error
      onRetry?.(error)
    }
  }
}

function mayPass({ status }: GatehouseError): boolean {
  return status === 0 || status === 429 || status >= 500
}

/** @throws the signal's reason if it is aborted */
function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const abort = () => {
      clearTimeout(timer)
      reject(signal?.reason)
    }
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', abort)
      resolve()
    }, ms)
    if (signal?.aborted) abort()
    else signal?.addEventListener('abort', abort, { once: true })
  })
}
