import type * as client from 'gatehouse-client'
import { type Next, show } from '../page.ts'
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
  readonly onSubmit: () => Promise<Next>
}

/** The challenge has ended without a result: the user can begin another one. */
export function Again({ title, submit, step, onSubmit }: AgainProps) {
  return (
    <Screen title={title}>
      <Form submit={submit} onSubmit={() => show(onSubmit())} more={<Ways step={step} except="resend" />} />
    </Screen>
  )
}

type Submit = (
  proof?: client.Proof | client.Attestation,
  options?: client.VerifyOptions,
) => Promise<client.SignInStep>

/**
 * Sends the proof. Without one, it requests another challenge. Undefined if the step takes none.
 */
export function submitOf(step: ChallengeStep): Submit | undefined {
  if (step.next === 'verify') return (proof, options) => step.verify(proof as client.Proof, options)
  if (step.next === 'activate') return (proof) => step.activate(proof as client.Attestation)
  return undefined
}
