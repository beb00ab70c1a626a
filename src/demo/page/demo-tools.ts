import './main.js' // the first screen is there before a user can be chosen
import { openCorner } from './corner/corner.js'
import type { User } from './corner/user.js'
import { byId } from './parts/elements.js'
import { go } from './sign-in/sign-in.js'
import { START } from './sign-in/steps.js'

/** A form that asks for a user name is kept, with the transaction that it belongs to; any other screen gives way to the first. */
async function fillIn({ login: username, password }: User): Promise<void> {
  if (inputNamed('username') === null) await go(START)
  for (const [name, value] of Object.entries({ username, password })) {
    const input = inputNamed(name)
    if (input) input.value = value
  }
  byId('portal').querySelector<HTMLElement>('form :is(:invalid, [type="submit"])')?.focus()
}

function inputNamed(name: string): HTMLInputElement | null {
  return byId('portal').querySelector<HTMLInputElement>(`form [name="${name}"]`)
}

await openCorner(fillIn)
