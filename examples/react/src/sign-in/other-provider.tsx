import { texts } from '../language/language.ts'
import { Form } from '../parts/form.tsx'
import { Screen } from '../parts/screen.tsx'
import { leaveFor } from '../url-parameters.ts'
import type { ChallengeProps, ChallengeStep } from './challenge-step.tsx'
import { Ways } from './ways.tsx'

interface OtherProviderProps extends ChallengeProps {
  readonly step: ChallengeStep & { readonly next: 'redirect' }
}

/**
 * The user comes back to this page, which then resumes the sign-in. After a refusal, only the other
 * moves are offered.
 */
export function OtherProvider({ step, title, icon }: OtherProviderProps) {
  const { answer, redirectUrl, result } = step
  if (result === 'FAILED')
    return (
      <Screen title={title} icon={icon}>
        {'factorResultMessage' in answer && <p dir="auto">{answer.factorResultMessage}</p>}
        <div className="actions">
          <Ways step={step} />
        </div>
      </Screen>
    )
  return (
    <Screen title={title} icon={icon}>
      <p>{texts.otherPage}</p>
      <Form
        submit={texts.continue}
        onSubmit={async () => leaveFor(redirectUrl)}
        more={<Ways step={step} />}
      />
    </Screen>
  )
}
