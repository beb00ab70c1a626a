import type { Factor, MfaEnroll, SecurityQuestion } from 'gatehouse-client'
import { useState } from 'react'
import { fill, fillText } from '../language/fill.ts'
import { listOf, texts } from '../language/language.ts'
import { show } from '../page.ts'
import { Button } from '../parts/button.tsx'
import { HiddenUsername, Select } from '../parts/fields.tsx'
import { Form, type Values } from '../parts/form.tsx'
import { Screen } from '../parts/screen.tsx'
import { kindOf, nameOf } from './factors.tsx'
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

  const ready = step.factors.filter(({ status }) => status === 'ACTIVE')
  const offered = step.factors.filter((factor) => kindOf(factor) && factor._links?.enroll)
  const isStuck = ready.length === 0 && offered.length === 0
  if (isStuck && step.factors.length > 0) return <UnknownStepScreen step={step} />
  if (isStuck)
    return (
      <Explanation title={texts.noWay} text={texts.noFactorToSetUp}>
        <Ways step={step} />
      </Explanation>
    )

  async function begin(factor: Factor) {
    const { ask, cannotEnroll } = kindOf(factor) ?? {}
    if (!ask && !cannotEnroll) return show(step.enroll(factor))
    choose({ factor, questions: factor._links?.questions ? await step.questions(factor) : [] })
  }

  return (
    <Screen title={texts.setUpFactor}>
      <Progress ready={ready} hasMore={offered.length > 0} canFinish={step.skip !== undefined} />
      <Choices step={step} offered={offered} onChoose={begin} isFirst={ready.length === 0} />
    </Screen>
  )
}

interface ProgressProps {
  readonly ready: readonly Factor[]
  readonly hasMore: boolean
  readonly canFinish: boolean
}

function Progress({ ready, hasMore, canFinish }: ProgressProps) {
  if (ready.length === 0) return <p>{texts.chooseOne}</p>
  const names = listOf(ready.map((factor) => nameOf(factor, 'enroll')))
  return (
    <>
      <p>{fill(texts.setUp, { names })}</p>
      {hasMore && <p>{canFinish ? texts.setUpMoreOrFinish : texts.setUpMore}</p>}
    </>
  )
}

interface ChoicesProps {
  readonly step: MfaEnroll
  readonly offered: readonly Factor[]
  readonly onChoose: (factor: Factor) => Promise<void>
  readonly isFirst: boolean
}

function Choices({ step, offered, onChoose, isFirst }: ChoicesProps) {
  const { skip } = step
  const isDone = skip && !isFirst
  const ways = <Ways step={step} {...(isDone && { except: 'skip' })} />
  return (
    <>
      <div className="actions choices">
        {offered.map((factor) => (
          <Button
            key={`${factor.factorType} ${factor.provider} ${factor.vendorName}`}
            label={labelOf(factor)}
            onPress={() => onChoose(factor)}
          />
        ))}
      </div>
      {isDone ? (
        <Form submit={texts.finish} onSubmit={() => show(skip())} more={ways} />
      ) : (
        <div className="actions">{ways}</div>
      )}
    </>
  )
}

function labelOf(factor: Factor): string {
  const label = nameOf(factor, 'enroll')
  return factor.enrollment === 'REQUIRED' ? fillText(texts.required, { label }) : label
}

interface DetailsProps {
  readonly step: MfaEnroll
  readonly chosen: Chosen
  readonly onBack: () => void
}

/** The fields of the chosen factor. */
function Details({ step, chosen: { factor, questions }, onBack }: DetailsProps) {
  const { ask, cannotEnroll } = kindOf(factor) ?? {}
  const ways = (
    <>
      <Button label={texts.back} onPress={async () => onBack()} />
      <Cancel step={step} />
    </>
  )
  if (cannotEnroll) return <Explanation {...cannotEnroll}>{ways}</Explanation>
  const options = questions.map(({ question, questionText }) => [question, questionText] as const)
  return (
    <Screen title={nameOf(factor, 'enroll')}>
      <Form submit={texts.continue} onSubmit={(values) => show(enroll(step, factor, values))} more={ways}>
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
