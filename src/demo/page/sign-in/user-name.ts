import { byId } from '../parts/elements.js'
import type { Field } from '../parts/form.js'

/** What was typed as user name last: the next form that asks for it has it already. Forgotten once somebody is signed in. */
let typed = ''

export function userNameField(): Field {
  return ['username', 'User name', { autocomplete: 'username', value: typed }]
}

/** Reads it from the screen that is about to go. */
export function keepUserName(): void {
  typed = byId('portal').querySelector<HTMLInputElement>('[name="username"]')?.value ?? typed
}

export function forgetUserName(): void {
  typed = ''
}
