import type { SignInStep, UnknownStep } from 'gatehouse-client'
import { ErrorMessage } from '../error-message.tsx'
import { gatehouse } from '../gatehouse.ts'
import { ChangePassword } from './change-password.tsx'
import { ChooseFactor } from './choose-factor.tsx'
import { EnterCode } from './enter-code.tsx'
import { EnterPassword } from './enter-password.tsx'
import { NotPossible } from './not-possible.tsx'
import { type Move, useSignIn } from './use-sign-in.ts'
import { WaitForPush } from './wait-for-push.tsx'

/** The props of every step, besides the step itself. */
export interface StepProps {
  readonly isBusy: boolean
  readonly take: (move: Move, signal?: AbortSignal) => Promise<void>
}

export function SignIn({ onSuccess }: { readonly onSuccess: () => void }) {
  const { step, error, ...props } = useSignIn(onSuccess)
  return (
    <>
      <ErrorMessage error={error} />
      {step ? (
        <Step step={step} {...props} />
      ) : (
        <EnterPassword signIn={(credentials) => gatehouse.signIn(credentials)} {...props} />
      )}
    </>
  )
}

/** The compiler refuses a missing status: only a status that the client does not know may reach the end. */
function Step({ step, ...props }: { readonly step: SignInStep } & StepProps) {
  switch (step.status) {
    case 'UNAUTHENTICATED':
      return <EnterPassword signIn={step.signIn} {...props} />
    case 'PASSWORD_WARN':
    case 'PASSWORD_EXPIRED':
      return <ChangePassword step={step} {...props} />
    case 'MFA_REQUIRED':
      return <ChooseFactor step={step} {...props} />
    case 'MFA_CHALLENGE':
      if (step.factor?.factorType === 'push') return <WaitForPush step={step} {...props} />
      if (step.next === 'verify') return <EnterCode {...step} {...props} />
      return <NotPossible step={step} {...props} />
    case 'SUCCESS':
      return <p role="status">{step.unlocked ? 'Your account is unlocked.' : 'One moment…'}</p>
    // the demo of Gatehouse has an example of each of these
    case 'PASSWORD_RESET':
    case 'MFA_ENROLL':
    case 'MFA_ENROLL_ACTIVATE':
    case 'RECOVERY':
    case 'RECOVERY_CHALLENGE':
    case 'LOCKED_OUT':
      return <NotPossible step={step} {...props} />
    default:
      return <NotPossible step={step satisfies UnknownStep} {...props} />
  }
}
