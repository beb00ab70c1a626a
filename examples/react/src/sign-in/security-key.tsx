import { createAttestation, getAssertion } from 'gatehouse-client'
import { RELYING_PARTY_ID } from '../gatehouse.ts'
import { texts } from '../language/language.ts'
import { PageError } from '../messages.ts'
import { show } from '../page.ts'
import { Form, type Values } from '../parts/form.tsx'
import { Screen } from '../parts/screen.tsx'
import { type ChallengeProps, submitOf } from './challenge-step.tsx'
import { optionsOf, RememberBox } from './proof.tsx'
import { UnknownStepScreen, Ways } from './ways.tsx'

const OPTIONS = { rpId: RELYING_PARTY_ID }

export function SecurityKey({ step, title, icon }: ChallengeProps) {
  const isNew = step.status === 'MFA_ENROLL_ACTIVATE'
  const submit = submitOf(step)
  if (!submit) return <UnknownStepScreen step={step} />

  async function ask(values: Values) {
    const asked = isNew ? createAttestation(step, OPTIONS) : getAssertion(step, OPTIONS)
    const proof = await asked.catch(() => {
      throw new PageError(texts.noKeyAnswered) // the browser shows the reason itself
    })
    return submit?.(proof, optionsOf(values))
  }

  return (
    <Screen title={title} icon={icon}>
      <p>{texts.touchKey}</p>
      <Form
        submit={isNew ? texts.registerKey : texts.useKey}
        onSubmit={(values) => show(ask(values))}
        more={<Ways step={step} />}
      >
        {!isNew && <RememberBox policy={step.answer._embedded.policy} />}
      </Form>
    </Screen>
  )
}
