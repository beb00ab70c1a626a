import { signInAsOther } from '../entry.ts'
import { signIn } from '../gatehouse.ts'
import { texts } from '../language/language.ts'
import { Button } from '../parts/button.tsx'
import { Icon } from '../parts/icon.tsx'
import { useSignIn } from '../use-sign-in.ts'

/** Who is signing in, once Okta tells, with a way to begin as another user. */
export function Who() {
  const login = useSignIn(signIn).user?.profile?.login
  if (!login) return null
  const [name, domain] = login.split(/(?=@)/)
  return (
    <div className="who">
      <Icon name="person" />
      <span className="unseen">{texts.signingIn}</span>
      <bdi>
        {name}
        <wbr />
        {domain}
      </bdi>
      <Button
        isLink
        label={texts.notYou}
        description={`${texts.notYou} ${texts.signInAsOther}`}
        onPress={signInAsOther}
      />
    </div>
  )
}
