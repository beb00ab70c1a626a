import { createAttestation, getAssertion } from 'gatehouse-client'
import { RELYING_PARTY_ID, signIn } from '../gatehouse.ts'
import { texts } from '../language/language.ts'
import { Form, type Values } from '../parts/form.tsx'
import { Screen } from '../parts/screen.tsx'
import type { ChallengeProps } from './challenge-step.tsx'
import { optionsOf, RememberBox } from './proof.tsx'
import { UnknownStepScreen, Ways } from './ways.tsx'

const OPTIONS = { rpId: RELYING_PARTY_ID }

export function SecurityKey({ step, title, icon }: ChallengeProps) {
  const isNew = step.status === 'MFA_ENROLL_ACTIVATE'
  if (step.next !== 'verify' && step.next !== 'activate') return <UnknownStepScreen step={step} />

  async function ask(values: Values) {
    const proof = isNew ? createAttestation(step, OPTIONS) : getAssertion(step, OPTIONS)
    await signIn.verify(await proof, optionsOf(values))
  }

  return (
    <Screen title={title} icon={icon}>
      <p>{texts.touchKey}</p>
      <Form submit={isNew ? texts.registerKey : texts.useKey} onSubmit={ask} more={<Ways step={step} />}>
        {!isNew && <RememberBox policy={step.answer._embedded.policy} />}
      </Form>
    </Screen>
  )
}
