import type { Denial } from 'gatehouse-client'
import { signInOtherwise, stay, tryAgain } from '../entry.ts'
import { texts } from '../language/language.ts'
import { denialOf } from '../messages.ts'
import { Button } from '../parts/button.tsx'
import { Screen } from '../parts/screen.tsx'

/** An application refuses the session, and the same sign-in again would not help. */
export function Denied({ denial }: { readonly denial: Denial }) {
  const { title, text } = denialOf(denial)
  const signIn = denial.reason === 'amr' ? texts.signInOtherwise : texts.signInAsOther
  return (
    <Screen title={title}>
      <p>{text}</p>
      <div className="actions">
        <Button label={signIn} onPress={() => signInOtherwise(denial)} />
        <Button label={texts.tryAgain} onPress={tryAgain} />
        <Button label={texts.toPortal} onPress={stay} />
      </div>
    </Screen>
  )
}
