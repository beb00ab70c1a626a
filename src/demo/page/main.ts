import { type Session, showAccess } from './access/access.js'
import { BrokerTrouble, call } from './parts/call.js'
import { actions } from './parts/elements.js'
import { adviceFor } from './parts/errors.js'
import { button } from './parts/form.js'
import { report, say, show } from './parts/screen.js'
import { createSignIn } from './sign-in/sign-in.js'

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

addEventListener('over', (event) => {
  if (event instanceof CustomEvent) start(event.detail).catch((error: unknown) => say(adviceFor(error).text))
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
  const session = await call<Session>('GET', '/api/v1/sessions/me').catch((error: unknown) => {
    if (error instanceof BrokerTrouble && error.status === 404) return undefined
    throw error
  })
  const shown = session === undefined ? signIn.begin() : showAccess(session, () => signIn.begin())
  say(notice)
  return shown
}

window.addEventListener('hashchange', () => void arrive()) // a mail's link, opened where this page is open already
await arrive()
