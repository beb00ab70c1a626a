import type * as client from 'gatehouse-client'
import type { ReactNode } from 'react'
import { signIn } from '../gatehouse.ts'
import { texts } from '../language/language.ts'
import { showWayBack } from '../page.ts'
import { Button } from '../parts/button.tsx'
import { CodeField, Field, Select } from '../parts/fields.tsx'
import { Form } from '../parts/form.tsx'
import { Screen } from '../parts/screen.tsx'
import { UsernameField } from './credentials.tsx'
import { Explanation, Ways } from './ways.tsx'

type FactorType = client.RecoveryRequest['factorType']

const METHODS = (['EMAIL', 'SMS', 'CALL'] as const).map((way) => [way, texts[way]] as const)

interface RecoverProps {
  readonly title: string
  readonly submit: string
  readonly request: (request: client.RecoveryRequest) => Promise<void>
  readonly more: ReactNode
}

/**
 * The broker's answer does not reveal whether the user exists, so the text must not promise a
 * message.
 */
export function Recover({ title, submit, request, more }: RecoverProps) {
  return (
    <Screen title={title}>
      <p>{texts.ifRecoverable}</p>
      <Form
        submit={submit}
        onSubmit={({ username = '', factorType }) =>
          request({ username, factorType: factorType as FactorType })
        }
        more={more}
      >
        <UsernameField />
        <Select name="factorType" label={texts.sendMe} options={METHODS} />
      </Form>
    </Screen>
  )
}

export function LockedOut({ step }: { readonly step: client.LockedOut }) {
  const ways = <Ways step={step} />
  if (step.unlock)
    return (
      <Recover title={texts.accountLocked} submit={texts.unlock} request={signIn.unlockAccount} more={ways} />
    )
  return (
    <Explanation title={texts.accountLocked} text={texts.askHelpDeskToUnlock}>
      {ways}
    </Explanation>
  )
}

/** By phone, the code continues here; by email, the link does. */
export function RecoveryChallenge({ step }: { readonly step: client.RecoveryChallenge }) {
  if (!step.verify)
    return (
      <Screen title={texts.checkEmail}>
        <p>{texts.ifLinkSent}</p>
        <NothingArrived step={step} />
        <div className="actions">
          <Ways step={step} />
        </div>
      </Screen>
    )
  return (
    <Screen title={texts.enterCode}>
      <p>{texts.ifCodeSent}</p>
      <Form
        submit={texts.continue}
        onSubmit={({ passCode = '' }) => signIn.verify({ passCode })}
        more={<Ways step={step} />}
      >
        <CodeField />
      </Form>
      <NothingArrived step={step} />
    </Screen>
  )
}

/**
 * For everybody, because the answer does not reveal who exists. Okta sends nothing to a user who is
 * locked or has changed the password only recently.
 */
function NothingArrived({ step }: { readonly step: client.RecoveryChallenge }) {
  const isUnlock = step.answer.recoveryType === 'UNLOCK'
  async function tryOther() {
    await signIn.cancel()
    showWayBack(isUnlock ? 'forgot' : 'unlock')
  }
  return (
    <details>
      <summary>{texts.nothingArrived}</summary>
      <p>{texts.checkNameAndSpam}</p>
      <p>{isUnlock ? texts.onlyLockedAccounts : texts.notForLockedAccounts}</p>
      <Button isLink label={isUnlock ? texts.forgotPassword : texts.unlockAccount} onPress={tryOther} />
      <p>{texts.elseAskHelpDesk}</p>
    </details>
  )
}

export function RecoveryQuestion({ step }: { readonly step: client.Recovery }) {
  const question = step.answer._embedded.user.recovery_question?.question ?? texts.yourAnswer
  return (
    <Screen title={texts.recoveryQuestion}>
      <Form
        submit={texts.continue}
        onSubmit={({ answer = '' }) => signIn.run(() => step.answerQuestion(answer))}
        more={<Ways step={step} />}
      >
        <Field name="answer" label={question} />
      </Form>
    </Screen>
  )
}
