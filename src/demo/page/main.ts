import { type Session, showAccess } from './access/access.js'
import { call, type Trouble } from './parts/call.js'
import { actions } from './parts/elements.js'
import { button } from './parts/form.js'
import { report, say, show } from './parts/screen.js'
import { go } from './sign-in/sign-in.js'
import { OPTIONS, START } from './sign-in/steps.js'
import { takeHandleLeft } from './sign-in/transaction.js'

/** What the address brought along is taken out of it at once: it must not stay in the history, or be shared. */
function takeFromAddress(): { activation?: string; recovery?: string; stateToken?: string } {
  const brought = {
    ...Object.fromEntries(new URLSearchParams(location.search)),
    ...Object.fromEntries(new URLSearchParams(location.hash.slice(1))),
  }
  if (location.search !== '' || location.hash !== '') history.replaceState(null, '', location.pathname)
  return brought
}

/** A link of a mail begins a sign-in of its own; an app's step-up goes on; else: is somebody signed in? */
async function arrive(): Promise<void> {
  const { activation: token, recovery: recoveryToken, stateToken = takeHandleLeft() } = takeFromAddress()
  const post = async (path: string, body: object) => go(await call('POST', path, body))
  show('One moment…')
  try {
    if (token !== undefined) await post('/api/v1/authn', { token, options: OPTIONS })
    else if (recoveryToken !== undefined) await post('/api/v1/authn/recovery/token', { recoveryToken })
    else if (stateToken !== undefined) await post('/api/v1/authn', { stateToken })
    else await restart()
  } catch (error) {
    show('One moment…', actions(button('Try again', () => location.reload())))
    await report(error)
  }
}

/** The same call gives a browser its device cookie: a page makes it before anything else. */
async function restart(notice = ''): Promise<void> {
  const session = await call<Session>('GET', '/api/v1/sessions/me').catch((error: Partial<Trouble>) => {
    if (error.status === 404) return undefined
    throw error
  })
  if (session === undefined) await go(START)
  const filled = session && showAccess(session, () => go(START))
  say(notice)
  await filled
}

addEventListener('restart', (event) => {
  if (event instanceof CustomEvent) restart(event.detail ?? '').catch(report)
})
addEventListener('hashchange', () => void arrive()) // a mail's link, opened where this page is open already
await arrive()
