import type { SignInState } from 'gatehouse-client'
import { signIn } from './gatehouse.ts'
import { texts } from './language/language.ts'
import { messageOfSignIn } from './messages.ts'
import { type PageState, usePage } from './page.ts'
import { Button } from './parts/button.tsx'
import { MESSAGE_ID } from './parts/fields.tsx'
import { LanguageSwitch } from './parts/language-switch.tsx'
import { MessagePlace } from './parts/message-box.tsx'
import { Screen } from './parts/screen.tsx'
import { Portal } from './portal/portal.tsx'
import { Denied } from './sign-in/denied.tsx'
import { SignIn } from './sign-in/sign-in.tsx'
import { Start } from './sign-in/start.tsx'
import type { Slots } from './slots.tsx'
import { useSignIn } from './use-sign-in.ts'

export function App({ logo, help, terms }: Slots) {
  const state = useSignIn(signIn)
  const page = usePage()
  const message = page.message === undefined ? messageOfSignIn(state) : page.message
  const isWide = state.view === 'signed-in' && page.place === 'portal'
  return (
    <>
      <div className={isWide ? 'card wide' : 'card'}>
        {logo && <header className="logo">{logo}</header>}
        <main>
          <div id={MESSAGE_ID}>
            <MessagePlace message={message} />
          </div>
          <Shown key={page.screenKey} state={state} page={page} />
        </main>
      </div>
      <footer>
        {(help || terms) && (
          <p>
            {help} {terms}
          </p>
        )}
        <LanguageSwitch />
      </footer>
    </>
  )
}

interface ShownProps {
  readonly state: SignInState
  readonly page: PageState
}

function Shown({ state: { view, step, session }, page: { wayBack, isPending, place } }: ShownProps) {
  const isLeaving = view === 'signed-in' && place === 'elsewhere'
  if (view === 'loading' || view === 'replaced' || isLeaving || isPending)
    return <Screen title={texts.oneMoment} />
  if (view === 'unavailable')
    return (
      <Screen title={texts.oneMoment}>
        <div className="actions">
          <Button label={texts.tryAgain} onPress={async () => location.reload()} />
        </div>
      </Screen>
    )
  if (view === 'sign-in')
    return step ? <SignIn step={step} /> : <Start wayBack={wayBack} isAgain={session !== undefined} />
  if (!session) return null
  return typeof place === 'string' ? <Portal session={session} /> : <Denied denial={place} />
}
