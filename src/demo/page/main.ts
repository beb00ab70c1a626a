import { describeSessionEnd } from '/demo/client/messages/index.js'
import { showAccess } from './access/access.js'
import { gatehouse } from './gatehouse.js'
import { actions, byId, type Words } from './parts/elements.js'
import { button } from './parts/form.js'
import { createLanguageSwitch, language, texts } from './parts/language.js'
import { restart, show, showError, showMessage } from './parts/screen.js'
import { isSigningIn, keepHandle, takeHandle } from './sign-in/handle.js'
import { showNext } from './sign-in/sign-in.js'

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
  const { activation: token, recovery: recoveryToken, stateToken = takeHandle() } = takeUrlParameters()
  show(texts.oneMoment)
  try {
    if (token !== undefined) await showNext(await gatehouse.signIn({ token }))
    else if (recoveryToken !== undefined) await showNext(await gatehouse.redeemRecoveryToken(recoveryToken))
    else if (stateToken !== undefined) await showNext(await gatehouse.signIn({ stateToken }))
    else await showFirst()
  } catch (error) {
    show(texts.oneMoment, actions(button(texts.tryAgain, () => location.reload())))
    await showError(error)
  }
}

let isAsking = false

/** Asking for the session also sets the device cookie, so a page does it first. */
async function showFirst(message: Words = ''): Promise<void> {
  isAsking = true
  const session = await gatehouse.session().finally(() => {
    isAsking = false
  })
  if (session === undefined) await showNext(undefined)
  const filled = session && showAccess(session)
  showMessage(message)
  await filled
}

byId('about').textContent = texts.about
byId('api-reference').textContent = texts.apiReference
byId('languages').ariaLabel = texts.language
byId('tools').ariaLabel = texts.tools
createLanguageSwitch(keepHandle)
gatehouse.onSessionEnd((reason) => {
  if (!isSigningIn() && !isAsking) restart(describeSessionEnd(reason, language).text)
})
addEventListener('restart', (event) => {
  if (event instanceof CustomEvent) showFirst(event.detail).catch(showError)
})
addEventListener('hashchange', () => void start()) // a link of an email, opened in this tab
await start()
