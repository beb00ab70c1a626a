import { stay } from '../entry.ts'
import { signIn } from '../gatehouse.ts'
import { texts } from '../language/language.ts'
import { showWayBack, type WayBack } from '../page.ts'
import { Button } from '../parts/button.tsx'
import { Screen } from '../parts/screen.tsx'
import { Credentials } from './credentials.tsx'
import { Recover } from './recovery.tsx'

interface StartProps {
  readonly wayBack: WayBack | undefined
  /** Within the open session, which the user can keep. */
  readonly isAgain: boolean
}

/** The first screen, with the ways back into an account. */
export function Start({ wayBack, isAgain }: StartProps) {
  const back = <Button label={texts.backToSignIn} onPress={async () => showWayBack(undefined)} />
  if (wayBack === 'forgot')
    return (
      <Recover
        title={texts.forgotPassword}
        submit={texts.send}
        request={signIn.recoverPassword}
        more={back}
      />
    )
  if (wayBack === 'unlock')
    return (
      <Recover title={texts.unlockAccount} submit={texts.unlock} request={signIn.unlockAccount} more={back} />
    )
  return (
    <Screen title={texts.signIn}>
      <Credentials more={isAgain && <Button label={texts.cancel} onPress={stay} />} />
      <div className="actions quiet">
        <Button isLink label={texts.forgotPassword} onPress={async () => showWayBack('forgot')} />
        <Button isLink label={texts.unlockAccount} onPress={async () => showWayBack('unlock')} />
      </div>
    </Screen>
  )
}
