import { type Session, showAccess } from './access.js'
import { BrokerTrouble, call } from './broker.js'
import { actions, button } from './forms.js'
import { onRemedy, report, say, show } from './screen.js'
import { createSignIn } from './sign-in.js'

/** What the address brought along is taken out of it at once: it must not stay in the history, or be shared. */
function takeFromAddress(): { activation?: string; recovery?: string; stateToken?: string } {
  const brought = {
    ...Object.fromEntries(new URLSearchParams(location.search)),
    ...Object.fromEntries(new URLSearchParams(location.hash.slice(1))),
  }
  if (location.search !== '' || location.hash !== '') history.replaceState(null, '', location.pathname)
  return brought
}

export const signIn = createSignIn(() => start())

onRemedy((remedy, notice) => {
  if (remedy === 'sign-in') signIn.begin({ notice })
  else start(notice).catch(report)
})

/** A link of a mail begins a sign-in of its own; an app's step-up goes on; else: is somebody signed in? */
async function arrive(): Promise<void> {
  const { activation, recovery, stateToken } = takeFromAddress()
  show('One moment…')
  try {
    if (activation !== undefined) await signIn.activate(activation)
    else if (recovery !== undefined) await signIn.recover(recovery)
    else if (stateToken !== undefined) await signIn.resume(stateToken)
    else await start()
  } catch (error) {
    show('One moment…', actions(button('Try again', () => location.reload(), '')))
    report(error)
  }
}

/** The same call gives a browser its device cookie: a page makes it before anything else. */
async function start(notice = ''): Promise<void> {
  let session: Session
  try {
    session = await call<Session>('GET', '/api/v1/sessions/me')
  } catch (error) {
    if (error instanceof BrokerTrouble && error.status === 404) return signIn.begin({ notice })
    throw error
  }
  const shown = showAccess(session, () => signIn.begin())
  say(notice)
  return shown
}

window.addEventListener('hashchange', () => void arrive()) // a mail's link, opened where this page is open already
await arrive()
