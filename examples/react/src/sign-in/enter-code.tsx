import type { SignInStep } from 'gatehouse-client'
import { Heading } from '../heading.tsx'
import { onFields } from './fields.ts'
import type { StepProps } from './sign-in.tsx'

interface EnterCodeProps extends StepProps {
  readonly verify: (proof: { readonly passCode: string }) => Promise<SignInStep>
  readonly resend?: () => Promise<SignInStep>
  readonly previous?: () => Promise<SignInStep>
}

export function EnterCode({ verify, resend, previous, isBusy, take }: EnterCodeProps) {
  return (
    <form onSubmit={onFields(['passCode'], (proof) => take(() => verify(proof)))}>
      <Heading>Enter your code</Heading>
      <label>
        Code <input name="passCode" inputMode="numeric" autoComplete="one-time-code" required />
      </label>
      <button type="submit" disabled={isBusy}>
        Continue
      </button>
      {resend && (
        <button type="button" disabled={isBusy} onClick={() => take(resend)}>
          Send again
        </button>
      )}
      {previous && (
        <button type="button" disabled={isBusy} onClick={() => take(previous)}>
          Use another way
        </button>
      )}
    </form>
  )
}
