import { type Attributes, actions, type Child, element, type Words } from './elements.js'
import { texts } from './language.js'
import { runAction } from './screen.js'

/** By default a required text input. With `options` it is a list. */
export type Field = readonly [name: string, label: string, attributes?: Attributes, options?: Options]
type Options = readonly (readonly [value: string, shown: string])[]

/** The fields by name. A checkbox is '' if it is not checked. */
export type Values = Readonly<Record<string, string>>

const AS_TYPED = { autocomplete: 'off', spellcheck: 'false', autocapitalize: 'none' }
const REQUIRED = { required: true, 'aria-describedby': 'error', dir: 'auto' }
export const BOX = { type: 'checkbox', required: false }

/** @param others further buttons, after the submit button */
export function form(
  fields: readonly Field[],
  submit: Words,
  onSubmit: (values: Values) => Promise<void> | void,
  others: readonly Child[] = [],
): HTMLFormElement {
  const submitButton = element('button', { type: 'submit' }, ...[submit].flat())
  const inputs = fields.flatMap((field) => labelled(...field))
  const made = element('form', AS_TYPED, ...inputs, actions(submitButton, ...others))
  made.addEventListener('submit', (event) => {
    event.preventDefault()
    const values = [...new FormData(made)].map(([name, value]) => [name, String(value)])
    void runAction(submitButton, () => onSubmit(Object.fromEntries(values)))
  })
  return made
}

function labelled(name: string, label: string, attributes: Attributes = {}, options?: Options): Child[] {
  const input = element(options ? 'select' : 'input', { name, ...REQUIRED, ...attributes })
  for (const [value, shown] of options ?? []) input.append(element('option', { value, dir: 'auto' }, shown))
  const made = element('label', {}, element('bdi', {}, label), input)
  if (attributes.autocomplete !== 'new-password') return [made]
  const shows = element('input', { type: 'checkbox' })
  shows.addEventListener('change', () => input.setAttribute('type', shows.checked ? 'text' : 'password'))
  return [made, element('label', {}, texts.showPassword, shows)]
}

export function button(label: Words, onClick: () => Promise<void> | void): HTMLButtonElement {
  const made = element('button', { type: 'button' }, ...[label].flat())
  made.addEventListener('click', () => void runAction(made, onClick))
  return made
}
