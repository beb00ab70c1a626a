import type { SignInStep } from 'gatehouse-client'
import type { ReactNode } from 'react'
import { signIn } from '../gatehouse.ts'
import { fill } from '../language/fill.ts'
import { texts } from '../language/language.ts'
import { confirm } from '../page.ts'
import { Button } from '../parts/button.tsx'
import { Screen } from '../parts/screen.tsx'

type Moves = Partial<Record<'resend' | 'skip' | 'previous', () => Promise<SignInStep>>>

interface WaysProps {
  readonly step: SignInStep
  /** A move that another button of the screen has. */
  readonly except?: keyof Moves
}

/** The moves that every step may have, as buttons. The last one ends the sign-in. */
export function Ways({ step, except }: WaysProps) {
  const { resend, skip, previous }: Moves = except ? { ...step, [except]: undefined } : step
  return (
    <>
      {resend && <Button label={texts.sendAgain} onPress={() => confirm(signIn.resend(), texts.sentAgain)} />}
      {skip && <Button label={texts.skip} onPress={signIn.skip} />}
      {previous && <Button label={texts.back} onPress={signIn.previous} />}
      <Cancel step={step} />
    </>
  )
}

export function Cancel({ step }: { readonly step: SignInStep }) {
  const label = step.stateToken ? texts.cancel : texts.backToSignIn
  return <Button label={label} onPress={signIn.cancel} />
}

interface ExplanationProps {
  readonly title: ReactNode
  readonly text: ReactNode
  /** The ways out. */
  readonly children: ReactNode
}

export function Explanation({ title, text, children }: ExplanationProps) {
  return (
    <Screen title={title}>
      <p>{text}</p>
      <div className="actions">{children}</div>
    </Screen>
  )
}

/** For an unknown status, factor type or shape. */
export function UnknownStepScreen({ step }: { readonly step: SignInStep }) {
  const factor = 'factors' in step ? step.factors[0] : 'factor' in step ? step.factor : undefined
  const what = [step.status, factor?.factorType].filter(Boolean).join(', ')
  return (
    <Explanation title={texts.cannotContinue} text={fill(texts.unknownStep, { what })}>
      <Ways step={step} />
    </Explanation>
  )
}
