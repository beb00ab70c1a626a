import type { Denial, Session } from 'gatehouse-client'
import { texts } from '../language/language.ts'
import { denialOf } from '../messages.ts'
import { signInOtherwise, stay, tryAgain } from '../page.ts'
import { Button } from '../parts/button.tsx'
import { Screen } from '../parts/screen.tsx'

interface DeniedProps {
  readonly denial: Denial
  readonly session: Session
}

/** An application refuses the session, and the same sign-in again would not help. */
export function Denied({ denial, session }: DeniedProps) {
  const { title, text } = denialOf(denial)
  const signIn = denial.reason === 'amr' ? texts.signInOtherwise : texts.signInAsOther
  return (
    <Screen title={title}>
      <p>{text}</p>
      <div className="actions">
        <Button label={signIn} onPress={() => signInOtherwise(denial, session)} />
        <Button label={texts.tryAgain} onPress={tryAgain} />
        <Button label={texts.toPortal} onPress={stay} />
      </div>
    </Screen>
  )
}
