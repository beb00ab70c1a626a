import type { MfaChallenge, PolledChallenge, SignInStep } from 'gatehouse-client'
import { describeResult } from 'gatehouse-client/messages'
import { useEffect, useState } from 'react'
import { Heading } from '../heading.tsx'
import type { StepProps } from './sign-in.tsx'

export function WaitForPush({ step, isBusy, take }: { readonly step: MfaChallenge } & StepProps) {
  const [polled, setPolled] = useState<SignInStep>(step)
  const isPolling = step.next === 'poll'
  const send = step.next === 'verify' ? () => step.verify() : step.resend

  // StrictMode runs it twice: the first polling is aborted before its first request
  useEffect(() => {
    if (step.next !== 'poll') return
    setPolled(step) // another push has another number
    const controller = new AbortController()
    void take(() => answerTo(step, controller.signal, setPolled), controller.signal)
    return () => controller.abort()
  }, [step, take])

  return (
    <>
      <Heading>Check your phone</Heading>
      <p role="status">{isPolling ? instruction(polled) : describeResult(step.result ?? 'ERROR').text}</p>
      {send && (
        <button type="button" disabled={isBusy} onClick={() => take(send)}>
          Send again
        </button>
      )}
      {step.previous && (
        <button type="button" disabled={isBusy} onClick={() => step.previous && take(step.previous)}>
          Use another way
        </button>
      )}
    </>
  )
}

/** @returns the step that follows the answer */
async function answerTo(
  step: PolledChallenge,
  signal: AbortSignal,
  onPoll: (step: SignInStep) => void,
): Promise<SignInStep> {
  let last: SignInStep = step
  for await (last of step.poll({ signal })) onPoll(last)
  return last
}

/** With number matching, the user must choose the number that this page shows. */
function instruction(step: SignInStep): string {
  const number = 'correctAnswer' in step ? step.correctAnswer : undefined
  return number === undefined ? 'Approve the request.' : `Choose ${number} on your phone.`
}
