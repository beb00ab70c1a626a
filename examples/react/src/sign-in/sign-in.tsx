import type { SignInStep, UnknownStep } from 'gatehouse-client'
import { fill } from '../language/fill.ts'
import { texts } from '../language/language.ts'
import { BelowTitle, Screen } from '../parts/screen.tsx'
import { Challenge } from './challenge.tsx'
import { ChangePassword } from './change-password.tsx'
import { ChooseFactor } from './choose-factor.tsx'
import { Credentials } from './credentials.tsx'
import { LockedOut, RecoveryChallenge, RecoveryQuestion } from './recovery.tsx'
import { SetUpFactor } from './set-up-factor.tsx'
import { UnknownStepScreen, Ways } from './ways.tsx'
import { Who } from './who.tsx'

export function SignIn({ step }: { readonly step: SignInStep }) {
  return (
    <BelowTitle value={<Who />}>
      <StepScreen step={step} />
    </BelowTitle>
  )
}

/**
 * The screen of a step. The compiler refuses a missing status: only one that the client does not
 * know may reach the end.
 */
function StepScreen({ step }: { readonly step: SignInStep }) {
  switch (step.status) {
    case 'UNAUTHENTICATED': {
      const app = step.answer._embedded.target?.label ?? texts.theApp
      return (
        <Screen title={fill(texts.signInFor, { app })}>
          <Credentials more={<Ways step={step} />} />
        </Screen>
      )
    }
    case 'PASSWORD_WARN':
    case 'PASSWORD_EXPIRED':
    case 'PASSWORD_RESET':
      return <ChangePassword step={step} />
    case 'MFA_REQUIRED':
      return <ChooseFactor step={step} />
    case 'MFA_ENROLL':
      return <SetUpFactor step={step} />
    case 'MFA_CHALLENGE':
    case 'MFA_ENROLL_ACTIVATE':
      return <Challenge step={step} />
    case 'RECOVERY_CHALLENGE':
      return <RecoveryChallenge step={step} />
    case 'RECOVERY':
      return <RecoveryQuestion step={step} />
    case 'LOCKED_OUT':
      return <LockedOut step={step} />
    case 'SUCCESS': // the controller has finished the sign-in
      return null
    default:
      return <UnknownStepScreen step={step satisfies UnknownStep as SignInStep} />
  }
}
