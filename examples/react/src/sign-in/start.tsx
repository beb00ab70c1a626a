import { useState } from 'react'
import { gatehouse } from '../gatehouse.ts'
import { texts } from '../language/language.ts'
import { type FirstScreen, stay } from '../page.ts'
import { Button } from '../parts/button.tsx'
import { Screen } from '../parts/screen.tsx'
import { Credentials } from './credentials.tsx'
import { Recover } from './recovery.tsx'

/** The first screen, with the ways back into an account. */
export function Start({ first }: { readonly first: FirstScreen | undefined }) {
  const [chosen, choose] = useState(first)
  const back = <Button label={texts.backToSignIn} onPress={async () => choose(undefined)} />
  if (chosen === 'forgot')
    return (
      <Recover
        title={texts.forgotPassword}
        submit={texts.send}
        request={gatehouse.recoverPassword}
        more={back}
      />
    )
  if (chosen === 'unlock')
    return (
      <Recover
        title={texts.unlockAccount}
        submit={texts.unlock}
        request={gatehouse.unlockAccount}
        more={back}
      />
    )
  return (
    <Screen title={texts.signIn}>
      <Credentials
        signIn={gatehouse.signIn}
        more={first === 'again' && <Button label={texts.cancel} onPress={stay} />}
      />
      <div className="actions quiet">
        <Button isLink label={texts.forgotPassword} onPress={async () => choose('forgot')} />
        <Button isLink label={texts.unlockAccount} onPress={async () => choose('unlock')} />
      </div>
    </Screen>
  )
}
