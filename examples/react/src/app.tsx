import { texts } from './language/language.ts'
import { usePage, type View } from './page.ts'
import { Button } from './parts/button.tsx'
import { MESSAGE_ID } from './parts/fields.tsx'
import { LanguageSwitch } from './parts/language-switch.tsx'
import { MessagePlace } from './parts/message-box.tsx'
import { Screen } from './parts/screen.tsx'
import { Portal } from './portal/portal.tsx'
import { Denied } from './sign-in/denied.tsx'
import { SignIn } from './sign-in/sign-in.tsx'
import type { Slots } from './slots.tsx'

export function App({ logo, help, terms }: Slots) {
  const { view, viewKey, message } = usePage()
  return (
    <>
      <div className={view.is === 'portal' ? 'card wide' : 'card'}>
        {logo && <header className="logo">{logo}</header>}
        <main>
          <div id={MESSAGE_ID}>
            <MessagePlace message={message} />
          </div>
          <Shown key={viewKey} view={view} />
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

function Shown({ view }: { readonly view: View }) {
  switch (view.is) {
    case 'loading':
      return <Screen title={texts.oneMoment} />
    case 'unavailable':
      return (
        <Screen title={texts.oneMoment}>
          <div className="actions">
            <Button label={texts.tryAgain} onPress={async () => location.reload()} />
          </div>
        </Screen>
      )
    case 'sign-in':
      return <SignIn step={view.step} first={view.first} />
    case 'denied':
      return <Denied denial={view.denial} session={view.session} />
    case 'portal':
      return <Portal session={view.session} />
  }
}
