import type { Factor, MfaEnroll, SecurityQuestion } from 'gatehouse-client'
import { useState } from 'react'
import { signIn } from '../gatehouse.ts'
import { fill } from '../language/fill.ts'
import { listOf, texts } from '../language/language.ts'
import { Button } from '../parts/button.tsx'
import { HiddenUsername, Select } from '../parts/fields.tsx'
import { Form, type Values } from '../parts/form.tsx'
import { Screen } from '../parts/screen.tsx'
import { FactorChoice } from './factor-choice.tsx'
import { detailOf, kindOf, nameOf } from './factors.tsx'
import { Cancel, Explanation, UnknownStepScreen, Ways } from './ways.tsx'

interface Chosen {
  readonly factor: Factor
  /** To choose from, for a security question. */
  readonly questions: readonly SecurityQuestion[]
}

/** The factors that the user has set up, and those to choose from. */
export function SetUpFactor({ step }: { readonly step: MfaEnroll }) {
  const [chosen, choose] = useState<Chosen>()
  if (chosen) return <Details step={step} chosen={chosen} onBack={() => choose(undefined)} />

  const { skip } = step
  const ready = step.factors.filter(({ status }) => status === 'ACTIVE')
  const offered = step.factors.filter((factor) => kindOf(factor) && factor._links?.enroll)
  if (ready.length === 0 && offered.length === 0) return <NothingToSetUp step={step} />
  const names = listOf(ready.map(nameOf))
  return (
    <Screen title={texts.setUpFactor}>
      <p>{names ? fill(texts.setUp, { names }) : texts.chooseOne}</p>
      {names && offered.length > 0 && <p>{skip ? texts.setUpMoreOrFinish : texts.setUpMore}</p>}
      <div className="choices">
        {offered.map((factor) => (
          <FactorChoice
            key={`${factor.factorType} ${factor.provider} ${factor.vendorName}`}
            factor={factor}
            use="enroll"
            onPress={() => begin(step, factor, choose)}
          />
        ))}
      </div>
      {names && skip ? (
        <Form submit={texts.finish} onSubmit={signIn.skip} more={<Ways step={step} except="skip" />} />
      ) : (
        <div className="actions quiet">
          <Ways step={step} />
        </div>
      )}
    </Screen>
  )
}

function NothingToSetUp({ step }: { readonly step: MfaEnroll }) {
  if (step.factors.length > 0) return <UnknownStepScreen step={step} />
  return (
    <Explanation title={texts.noWay} text={texts.noFactorToSetUp}>
      <Ways step={step} />
    </Explanation>
  )
}

async function begin(step: MfaEnroll, factor: Factor, choose: (chosen: Chosen) => void): Promise<void> {
  const { ask, cannotEnroll } = kindOf(factor) ?? {}
  if (!ask && !cannotEnroll) return signIn.run(() => step.enroll(factor))
  choose({ factor, questions: factor._links?.questions ? await step.questions(factor) : [] })
}

interface DetailsProps {
  readonly step: MfaEnroll
  readonly chosen: Chosen
  readonly onBack: () => void
}

/** The fields of the chosen factor. */
function Details({ step, chosen: { factor, questions }, onBack }: DetailsProps) {
  const { icon, ask, cannotEnroll } = kindOf(factor) ?? {}
  const ways = (
    <>
      <Button label={texts.back} onPress={async () => onBack()} />
      <Cancel step={step} />
    </>
  )
  if (cannotEnroll) return <Explanation {...cannotEnroll}>{ways}</Explanation>
  const options = questions.map(({ question, questionText }) => [question, questionText] as const)
  return (
    <Screen title={nameOf(factor)} icon={icon}>
      <p>{detailOf(factor, 'enroll')}</p>
      <Form
        submit={texts.continue}
        onSubmit={(values) => signIn.run(() => enroll(step, factor, values))}
        more={ways}
      >
        {factor.factorType === 'password' && (
          <HiddenUsername login={step.answer._embedded.user?.profile?.login} />
        )}
        {options.length > 0 && <Select name="question" label={texts.question} options={options} />}
        {ask}
      </Form>
    </Screen>
  )
}

function enroll(step: MfaEnroll, factor: Factor, { passCode, updatePhone, ...profile }: Values) {
  return step.enroll(
    factor,
    { profile, ...(passCode && { passCode }) },
    updatePhone ? { updatePhone: true } : {},
  )
}
