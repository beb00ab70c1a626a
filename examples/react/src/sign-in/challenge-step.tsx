import type * as client from 'gatehouse-client'
import { signIn } from '../gatehouse.ts'
import { Form } from '../parts/form.tsx'
import type { IconName } from '../parts/icon.tsx'
import { Screen } from '../parts/screen.tsx'
import { Ways } from './ways.tsx'

/** A factor that is being verified or set up. */
export type ChallengeStep = client.MfaChallenge | client.MfaEnrollActivate

export interface ChallengeProps {
  readonly step: ChallengeStep
  readonly factor: client.Factor
  readonly title: string
  readonly icon: IconName
}

interface AgainProps {
  readonly title: string
  readonly submit: string
  readonly step: ChallengeStep
  readonly onSubmit: () => Promise<client.SignInStep>
}

/** The challenge has ended without a result: the user can begin another one. */
export function Again({ title, submit, step, onSubmit }: AgainProps) {
  return (
    <Screen title={title}>
      <Form
        submit={submit}
        onSubmit={() => signIn.run(onSubmit)}
        more={<Ways step={step} except="resend" />}
      />
    </Screen>
  )
}

/** Requests another challenge. Undefined if the step cannot. */
export function challengeAgain(step: ChallengeStep): (() => Promise<client.SignInStep>) | undefined {
  if (step.next === 'verify') return () => step.verify()
  return step.next === 'activate' ? () => step.activate() : undefined
}
