import { type Attributes, actions, type Child, element } from './elements.js'
import { runAction } from './screen.js'

/** By default a required text input. With `options` it is a list. */
export type Field = readonly [name: string, label: string, attributes?: Attributes, options?: Options]
type Options = readonly (readonly [value: string, shown: string])[]

/** The fields by name. A checkbox is a boolean, every other field a string. */
export type Values = Readonly<Record<string, string | boolean>>

const AS_TYPED = { autocomplete: 'off', spellcheck: 'false', autocapitalize: 'none' }
const REQUIRED = { required: true, 'aria-describedby': 'error' }
export const BOX = { type: 'checkbox', required: false }

/** @param others further buttons, after the submit button */
export function form(
  fields: readonly Field[],
  submit: string,
  onSubmit: (values: Values) => Promise<void> | void,
  others: readonly Child[] = [],
): HTMLFormElement {
  const submitButton = element('button', { type: 'submit' }, submit)
  const inputs = fields.flatMap((field) => labelled(...field))
  const made = element('form', AS_TYPED, ...inputs, actions(submitButton, ...others))
  made.addEventListener('submit', (event) => {
    event.preventDefault()
    const named = made.querySelectorAll<HTMLInputElement>('[name]')
    const read = ({ type, checked, value }: HTMLInputElement) => (type === 'checkbox' ? checked : value)
    const values = Object.fromEntries(Array.from(named, (input) => [input.name, read(input)]))
    void runAction(submitButton, () => onSubmit(values))
  })
  return made
}

function labelled(name: string, label: string, attributes: Attributes = {}, options?: Options): Child[] {
  const input = element(options ? 'select' : 'input', { name, ...REQUIRED, ...attributes })
  for (const [value, shown] of options ?? []) input.append(element('option', { value }, shown))
  const made = element('label', {}, label, input)
  if (attributes.autocomplete !== 'new-password') return [made]
  const shows = element('input', { type: 'checkbox' })
  shows.addEventListener('change', () => input.setAttribute('type', shows.checked ? 'text' : 'password'))
  return [made, element('label', {}, 'Show password', shows)]
}

export function button(label: string, onClick: () => Promise<void> | void): HTMLButtonElement {
  const made = element('button', { type: 'button' }, label)
  made.addEventListener('click', () => void runAction(made, onClick))
  return made
}
