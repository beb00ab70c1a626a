import { type Attributes, actions, type Child, element } from './elements.js'
import { attempt } from './screen.js'

/** An input is a text and has to be filled in, unless its attributes say otherwise; with options it is a list. */
export type Field = readonly [name: string, label: string, attributes?: Attributes, options?: Options]
type Options = readonly (readonly [value: string, shown: string])[]

/** By name: texts are strings, boxes booleans. */
export type Values = Readonly<Record<string, string | boolean>>

export const BOX = { type: 'checkbox', required: false }

/** @param others further buttons beside the one that sends the form */
export function form(
  fields: readonly Field[],
  submit: string,
  onSubmit: (values: Values) => Promise<void> | void,
  others: readonly Child[] = [],
): HTMLFormElement {
  const goOn = element('button', { type: 'submit' }, submit)
  const made = element('form', {}, ...fields.flatMap((field) => labelled(...field)), actions(goOn, ...others))
  made.addEventListener('submit', (event) => {
    event.preventDefault()
    const inputs = made.querySelectorAll<HTMLInputElement>('[name]')
    const read = ({ type, checked, value }: HTMLInputElement) => (type === 'checkbox' ? checked : value)
    const values = Object.fromEntries(Array.from(inputs, (input) => [input.name, read(input)]))
    void attempt(goOn, () => onSubmit(values))
  })
  return made
}

function labelled(name: string, label: string, attributes: Attributes = {}, options?: Options): Child[] {
  const input = element(options ? 'select' : 'input', { name, ...TYPED, ...attributes })
  for (const [value, shown] of options ?? []) input.append(element('option', { value }, shown))
  const made = element('label', {}, label, input)
  if (attributes.autocomplete !== 'new-password') return [made]
  const shows = element('input', { type: 'checkbox' })
  shows.addEventListener('change', () => input.setAttribute('type', shows.checked ? 'text' : 'password'))
  return [made, element('label', {}, 'Show what I type', shows)]
}

const TYPED = {
  required: true,
  autocomplete: 'off',
  spellcheck: 'false',
  autocapitalize: 'none',
  'aria-describedby': 'trouble',
}

export function button(label: string, onClick: () => Promise<void> | void): HTMLButtonElement {
  const made = element('button', { type: 'button' }, label)
  made.addEventListener('click', () => void attempt(made, onClick))
  return made
}
