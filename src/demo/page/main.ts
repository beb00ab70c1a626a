import { showAccess } from './access.js'
import { BrokerTrouble, call, type Session } from './broker.js'
import { element, messageOf } from './elements.js'
import { showPeople } from './phone.js'
import { createSignIn } from './sign-in.js'

const portal = document.getElementById('portal')

function show(title: string, ...content: HTMLElement[]): void {
  portal?.replaceChildren(element('h2', { id: 'portal-title' }, title), ...content)
  portal?.querySelector<HTMLElement>('input, button')?.focus()
}

const signIn = createSignIn({ show, done: start })

/** The first thing a page does: is somebody signed in? The same call gives the browser its device cookie. */
async function start(): Promise<void> {
  try {
    await showAccess(await call<Session>('GET', '/api/v1/sessions/me'), show, () => signIn.begin())
  } catch (error) {
    if (error instanceof BrokerTrouble && error.status === 404) return signIn.begin()
    show('One moment…', element('p', { class: 'trouble' }, messageOf(error)))
  }
}

await start()
await showPeople((login, password) => signIn.begin(login, password))
