import type { SignInStep } from 'gatehouse-client'
import { Heading } from '../heading.tsx'
import type { StepProps } from './sign-in.tsx'

export function NotPossible({ step, isBusy, take }: { readonly step: SignInStep } & StepProps) {
  async function cancel() {
    await step.cancel()
    return undefined
  }
  return (
    <>
      <Heading>Not possible here</Heading>
      <p>This page cannot continue the sign-in ({step.status}).</p>
      <button type="button" disabled={isBusy} onClick={() => take(cancel)}>
        Back to sign-in
      </button>
    </>
  )
}
