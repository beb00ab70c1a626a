import { type Session, showAccess } from './access/access.js'
import { call, type RequestError } from './parts/call.js'
import { actions } from './parts/elements.js'
import { button } from './parts/form.js'
import { show, showError, showMessage } from './parts/screen.js'
import { showAnswer } from './sign-in/sign-in.js'
import { OPTIONS, START } from './sign-in/steps.js'
import { takeSavedHandle } from './sign-in/transaction.js'

/** Reads the URL's parameters and removes them at once: tokens must not stay in the history or be shared with the URL. */
function takeUrlParameters(): { activation?: string; recovery?: string; stateToken?: string } {
  const parameters = {
    ...Object.fromEntries(new URLSearchParams(location.search)),
    ...Object.fromEntries(new URLSearchParams(location.hash.slice(1))),
  }
  if (location.search !== '' || location.hash !== '') history.replaceState(null, '', location.pathname)
  return parameters
}

/** A link of an email starts a sign-in, a step-up continues; otherwise the page shows the session, if there is one. */
async function start(): Promise<void> {
  const { activation: token, recovery: recoveryToken, stateToken = takeSavedHandle() } = takeUrlParameters()
  const post = async (path: string, body: object) => showAnswer(await call('POST', path, body))
  show('One moment…')
  try {
    if (token !== undefined) await post('/api/v1/authn', { token, options: OPTIONS })
    else if (recoveryToken !== undefined) await post('/api/v1/authn/recovery/token', { recoveryToken })
    else if (stateToken !== undefined) await post('/api/v1/authn', { stateToken })
    else await restart()
  } catch (error) {
    show('One moment…', actions(button('Try again', () => location.reload())))
    await showError(error)
  }
}

/** `GET /api/v1/sessions/me` also sets the device cookie, so a page calls it first. */
async function restart(notice = ''): Promise<void> {
  const session = await call<Session>('GET', '/api/v1/sessions/me').catch((error: Partial<RequestError>) => {
    if (error.status === 404) return undefined
    throw error
  })
  if (session === undefined) await showAnswer(START)
  const filled = session && showAccess(session, () => showAnswer(START))
  showMessage(notice)
  await filled
}

addEventListener('restart', (event) => {
  if (event instanceof CustomEvent) restart(event.detail ?? '').catch(showError)
})
addEventListener('hashchange', () => void start()) // a link of an email, opened in this tab
await start()
