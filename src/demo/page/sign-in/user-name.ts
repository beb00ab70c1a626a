import { byId } from '../parts/elements.js'
import type { Field } from '../parts/form.js'

/** The last username that was typed: it fills in the next form. Cleared after sign-in. */
let typed = ''

export function userNameField(): Field {
  return ['username', 'Username', { autocomplete: 'username', value: typed }]
}

/** Reads the username from the current screen before it is replaced. */
export function keepUserName(): void {
  typed = byId('portal').querySelector<HTMLInputElement>('[name="username"]')?.value ?? typed
}

export function forgetUserName(): void {
  typed = ''
}
