import type { SignInStep } from 'gatehouse-client'
import { signIn } from '../gatehouse.ts'
import { texts } from '../language/language.ts'
import { confirm } from '../page.ts'
import { Button } from '../parts/button.tsx'
import { Form } from '../parts/form.tsx'
import { Screen } from '../parts/screen.tsx'
import { useSignIn } from '../use-sign-in.ts'
import { Again, type ChallengeProps, type ChallengeStep, challengeAgain } from './challenge-step.tsx'
import { PhoneField } from './factors.tsx'
import { QrCode } from './qr-code.tsx'
import { UnknownStepScreen, Ways } from './ways.tsx'

/**
 * While Okta answers WAITING, the step can be polled. After a rejection or timeout, the user can
 * request another push.
 */
export function PhoneScreen({ step, ...shown }: ChallengeProps) {
  if (step.next === 'poll') return <Waiting step={step} {...shown} />
  const again = step.status === 'MFA_CHALLENGE' ? (step.resend ?? challengeAgain(step)) : undefined
  if (!again) return <UnknownStepScreen step={step} />
  return (
    <Again title={texts.didNotWork} submit={texts.sendAnotherRequest} step={step} onSubmit={() => again()} />
  )
}

interface WaitingProps extends ChallengeProps {
  readonly step: ChallengeStep & { readonly next: 'poll' }
}

function Waiting({ step, factor, title, icon }: WaitingProps) {
  // with number matching, it may appear only while the controller polls
  const number = 'correctAnswer' in step ? step.correctAnswer : undefined
  return (
    <Screen title={step.status === 'MFA_CHALLENGE' ? texts.lookAtPhone : title} icon={icon}>
      <QrCode step={step} factor={factor} />
      {number !== undefined && (
        <>
          <p>{texts.chooseNumber}</p>
          <p className="number">{number}</p>
        </>
      )}
      <p className="waiting">{texts.waitingForPhone}</p>
      <p className="soft">{texts.continuesByItself}</p>
      <RememberDevice step={step} />
      <SendLink step={step} factor={factor} />
      <div className="actions quiet">
        <Ways step={step} />
      </div>
    </Screen>
  )
}

/** The user can still choose it while the request waits. */
function RememberDevice({ step }: Pick<ChallengeProps, 'step'>) {
  const { rememberDevice = false } = useSignIn(signIn)
  if (step.status !== 'MFA_CHALLENGE' || !step.answer._embedded.policy?.allowRememberDevice) return null
  return (
    <label>
      {texts.doNotAskAgain}
      <input
        type="checkbox"
        checked={rememberDevice}
        onChange={(event) => signIn.rememberDevice(event.currentTarget.checked)}
      />
    </label>
  )
}

/** Users who cannot scan the QR code can have a link sent to their phone. */
function SendLink({ step, factor }: Pick<ChallengeProps, 'step' | 'factor'>) {
  const links = (factor.factorType === 'push' && factor._embedded?.activation?._links?.send) || []
  if (step.status !== 'MFA_ENROLL_ACTIVATE' || !step.sendLink) return null
  const { sendLink } = step
  const ways = links.map(({ name }) => name)
  const send = (move: () => Promise<SignInStep>) => confirm(signIn.run(move), texts.linkSent)
  return (
    <div className="actions">
      {ways.includes('email') && (
        <Button label={texts.linkByEmail} onPress={() => send(() => sendLink('email'))} />
      )}
      {ways.includes('sms') && (
        <details>
          <summary>{texts.linkBySms}</summary>
          <Form
            submit={texts.send}
            onSubmit={({ phoneNumber = '' }) => send(() => sendLink('sms', { profile: { phoneNumber } }))}
          >
            <PhoneField />
          </Form>
        </details>
      )}
    </div>
  )
}
