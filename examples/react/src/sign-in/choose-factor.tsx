import type { Factor, MfaRequired } from 'gatehouse-client'
import { type ReactNode, useState } from 'react'
import { signIn } from '../gatehouse.ts'
import { texts } from '../language/language.ts'
import { Button } from '../parts/button.tsx'
import { Form } from '../parts/form.tsx'
import { Screen } from '../parts/screen.tsx'
import { useSignIn } from '../use-sign-in.ts'
import { FactorChoice } from './factor-choice.tsx'
import { beginsAtOnce, detailOf, kindOf, nameOf, ProofField } from './factors.tsx'
import { optionsOf, proofOf, RememberBox } from './proof.tsx'
import { Cancel, Explanation, UnknownStepScreen, Ways } from './ways.tsx'

/** The operator can hide factor types (`HIDDEN_FACTORS`), so an answer may have no factor left. */
export function ChooseFactor({ step }: { readonly step: MfaRequired }) {
  /** The one that asks for its proof. */
  const asking = useSignIn(signIn).factor
  /** The one whose challenge the user has to request. */
  const [picked, pick] = useState<Factor>()
  const chosen = asking ?? picked
  const [first, ...more] = step.factors
  const known = step.factors.filter(kindOf)

  if (!first)
    return (
      <Explanation title={texts.noWay} text={texts.noFactor}>
        <Ways step={step} />
      </Explanation>
    )
  if (known.length === 0) return <UnknownStepScreen step={step} />
  if (more.length === 0) return <Verify step={step} factor={first} ways={<Ways step={step} />} />
  if (chosen) {
    const back = (
      <Button label={texts.back} onPress={async () => (picked ? pick(undefined) : signIn.previous())} />
    )
    return <Verify step={step} factor={chosen} ways={[back, <Cancel key="cancel" step={step} />]} />
  }
  return (
    <Screen title={texts.chooseFactor}>
      <div className="choices">
        {known.map((factor) => (
          <FactorChoice
            key={factor.id}
            factor={factor}
            use="verify"
            onPress={async () => (isConfirmed(step, factor) ? pick(factor) : signIn.choose(factor))}
          />
        ))}
      </div>
      <div className="actions quiet">
        <Ways step={step} />
      </div>
    </Screen>
  )
}

/** Whether the user reads of it before it begins: nothing reaches a phone unasked. */
function isConfirmed(step: MfaRequired, factor: Factor): boolean {
  const { send, cannotVerify } = kindOf(factor) ?? {}
  return !beginsAtOnce(step, factor) && (send ?? cannotVerify) !== undefined
}

interface VerifyProps {
  readonly step: MfaRequired
  readonly factor: Factor
  readonly ways: ReactNode
}

/** Asks for the proof, or offers to send a challenge. */
function Verify({ step, factor, ways }: VerifyProps) {
  const { icon, send, cannotVerify } = kindOf(factor) ?? {}
  if (cannotVerify) return <Explanation {...cannotVerify}>{ways}</Explanation>
  const { user, policy } = step.answer._embedded
  const detail = detailOf(factor, 'verify')
  return (
    <Screen title={nameOf(factor)} icon={icon}>
      {detail && <p dir="auto">{detail}</p>}
      <Form
        submit={send ?? texts.continue}
        onSubmit={(values) =>
          send ? signIn.choose(factor, optionsOf(values)) : signIn.verify(proofOf(values), optionsOf(values))
        }
        more={ways}
      >
        {!send && <ProofField factor={factor} login={user?.profile?.login} />}
        <RememberBox policy={policy} />
      </Form>
    </Screen>
  )
}
