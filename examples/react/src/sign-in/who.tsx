import type { SignInStep } from 'gatehouse-client'
import { texts } from '../language/language.ts'
import { signInAsOther } from '../page.ts'
import { Button } from '../parts/button.tsx'
import { Icon } from '../parts/icon.tsx'

/** Who is signing in, once Okta tells, with a way to begin as another user. */
export function Who({ step }: { readonly step: SignInStep }) {
  const login = loginOf(step)
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
        onPress={() => signInAsOther(step)}
      />
    </div>
  )
}

/** The other steps do not tell it, such as a recovery before its proof. */
function loginOf({ status, answer }: SignInStep): string | null | undefined {
  switch (status) {
    case 'PASSWORD_WARN':
    case 'PASSWORD_EXPIRED':
    case 'PASSWORD_RESET':
    case 'MFA_REQUIRED':
    case 'MFA_CHALLENGE':
    case 'MFA_ENROLL':
    case 'MFA_ENROLL_ACTIVATE':
    case 'RECOVERY':
      return answer._embedded.user?.profile?.login
    default:
      return undefined
  }
}
