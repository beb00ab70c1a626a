import './main.js' // renders the first screen
import { byId } from './parts/elements.js'
import { showNext } from './sign-in/sign-in.js'
import { openTools } from './tools/tools.js'
import type { User } from './tools/user.js'

/** Fills in the chosen user. If the current screen has no username field, the first screen replaces it. */
async function fillIn({ login: username, password }: User): Promise<void> {
  if (inputNamed('username') === null) await showNext(undefined)
  for (const [name, value] of Object.entries({ username, password })) {
    const input = inputNamed(name)
    if (input) input.value = value
  }
  byId('portal').querySelector<HTMLElement>('form :is(:invalid, [type="submit"])')?.focus()
}

function inputNamed(name: string): HTMLInputElement | null {
  return byId('portal').querySelector<HTMLInputElement>(`form [name="${name}"]`)
}

await openTools(fillIn)
