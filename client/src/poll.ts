import { GatehouseError } from './gatehouse-error.ts'
import type { SignInStep } from './sign-in-step.ts'
import type { VerifyOptions } from './step-inputs.ts'

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
  /** Is read before each poll of a challenge: replaces the options of the challenge. */
  readonly verifyOptions?: () => VerifyOptions
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
 * longer. A hidden page does not poll, and goes on at once when it is shown: a phone that shows
 * Okta's app stops the timers and the requests of the page.
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
  let pause: Pause = { ms: everyMs, isFixed: false }
  for (let failures = 0; ; failures += 1) {
    const wasHidden = await wait(pause, signal)
    if (wasHidden) failures = 0
    try {
      return await ask(signal)
    } catch (error) {
      const backOffMs = BACK_OFF_MS[failures]
      if (backOffMs === undefined || !(error instanceof GatehouseError) || !mayPass(error)) throw error
      const { retryAfterSeconds = 0 } = error
      pause = { ms: Math.max(backOffMs, retryAfterSeconds * 1000), isFixed: retryAfterSeconds > 0 }
      if (pause.ms > LONGEST_WAIT_MS) throw error
      onRetry?.(error)
    }
  }
}

function mayPass({ status }: GatehouseError): boolean {
  return status === 0 || status === 429 || status >= 500
}

interface Pause {
  readonly ms: number
  /** The broker has told how long to wait: a page that is shown waits for the rest of the time. */
  readonly isFixed: boolean
}

/**
 * @returns whether the page was hidden meanwhile
 * @throws the signal's reason if it is aborted
 */
function wait({ ms, isFixed }: Pause, signal: AbortSignal | undefined): Promise<boolean> {
  const page = globalThis.document // none in Node
  return new Promise((resolve, reject) => {
    let wasHidden = false
    let isOver = false
    const timer = setTimeout(() => {
      isOver = true
      look()
    }, ms)
    function look(): void {
      const isHidden = page?.visibilityState === 'hidden'
      wasHidden ||= isHidden
      if (isHidden || !(isOver || (wasHidden && !isFixed))) return
      stop()
      resolve(wasHidden)
    }
    function abort(): void {
      stop()
      reject(signal?.reason)
    }
    function stop(): void {
      clearTimeout(timer)
      page?.removeEventListener('visibilitychange', look)
      signal?.removeEventListener('abort', abort)
    }
    page?.addEventListener('visibilitychange', look)
    signal?.addEventListener('abort', abort)
    if (signal?.aborted) abort()
    else look()
  })
}
