import type { SignInStep } from 'gatehouse-client'
import { useEffect, useRef } from 'react'
import { messageOf } from '../messages.ts'
import { fail, say, show } from '../page.ts'
import type { ChallengeStep } from './challenge-step.tsx'

type PolledStep = Extract<ChallengeStep, { next: 'poll' }>

/**
 * Shows the step that follows once the user has acted elsewhere. @param wait its signal is aborted
 * when the screen is left
 */
export function useNextStep(wait: (signal: AbortSignal) => Promise<SignInStep>): void {
  const begin = useRef(wait)
  useEffect(() => {
    const controller = new AbortController()
    const { signal } = controller
    begin.current(signal).then(
      (next) => (signal.aborted ? undefined : show(next)),
      (error: unknown) => (signal.aborted ? undefined : fail(error)),
    )
    return () => controller.abort()
  }, [])
}

/** Polls until something changes, and shows failures that may pass. */
export async function pollForChange(
  step: PolledStep,
  signal: AbortSignal,
  everyMs = 2000,
): Promise<SignInStep> {
  let isLost = false
  const onRetry = (error: Error) => {
    isLost = true
    say(messageOf(error))
  }
  for await (const next of step.poll({ signal, everyMs, onRetry })) {
    if (isLost) say(undefined)
    isLost = false
    const isWaiting = 'result' in next && next.result === 'WAITING'
    if (!isWaiting || numberOf(next) !== numberOf(step)) return next
  }
  return step
}

/** With number matching, it may appear only while the page polls. */
export function numberOf(step: SignInStep): number | undefined {
  return 'correctAnswer' in step ? step.correctAnswer : undefined
}
