import { element } from './elements.js'
import { openTools } from './tools.js'
import type { User } from './user.js'

/** The demo's tools beside the page of `examples/react`, which does not know them. */
document.body.append(element('aside', { id: 'tools', 'aria-label': 'Demo tools', lang: 'en' }))

/** The user chosen before the page was loaded again. */
const CHOSEN = 'chosen user'
const chosen = sessionStorage.getItem(CHOSEN)
sessionStorage.removeItem(CHOSEN)

const choose = await openTools(fillIn)
if (chosen !== null) {
  await formShown()
  choose(chosen)
}

/**
 * Fills in the form. If the page shows no username field, it leaves the session and the sign-in,
 * and loads the page again.
 */
async function fillIn({ login: username, password }: User): Promise<void> {
  if (inputNamed('username') === null) {
    await fetch('/api/v1/sessions/me', { method: 'DELETE' })
    sessionStorage.clear()
    sessionStorage.setItem(CHOSEN, username)
    return location.reload()
  }
  for (const [name, value] of Object.entries({ username, password })) {
    const input = inputNamed(name)
    if (input === null) continue
    input.value = value
    input.dispatchEvent(new Event('input', { bubbles: true }))
  }
  document.querySelector<HTMLElement>('main form :is(:invalid, [type="submit"])')?.focus()
}

function inputNamed(name: string): HTMLInputElement | null {
  return document.querySelector(`main form [name="${name}"]`)
}

function formShown(): Promise<void> {
  return new Promise((resolve) => {
    const observer = new MutationObserver(check)
    observer.observe(document.body, { childList: true, subtree: true })
    check()

    function check(): void {
      if (inputNamed('username') === null) return
      observer.disconnect()
      resolve()
    }
  })
}
