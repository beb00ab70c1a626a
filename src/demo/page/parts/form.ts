import { type Attributes, actions, type Child, element } from './elements.js'
import { attempt, say } from './screen.js'

export interface Field {
  readonly name: string
  readonly label: string
  /** Of the input. Its type is text, and it must be filled in, unless these say otherwise. */
  readonly attributes?: Attributes
  /** A choice from these; value and what is shown. */
  readonly options?: readonly (readonly [string, string])[]
}

/** By name: texts are strings, boxes booleans. */
export interface Values {
  readonly [name: string]: string | boolean | undefined
}

export function field(name: string, label: string, attributes: Attributes = {}): Field {
  return { name, label, attributes }
}

/** @param others further buttons beside the one that sends the form */
export function form(
  fields: readonly Field[],
  submit: string,
  onSubmit: (values: Values) => Promise<void> | void,
  others: readonly Child[] = [],
): HTMLFormElement {
  const goOn = element('button', { type: 'submit' }, submit)
  const made = element(
    'form',
    { novalidate: true },
    ...fields.flatMap(fieldElements),
    actions(goOn, ...others),
  )
  made.addEventListener('submit', (event) => {
    event.preventDefault()
    const inputs = [...made.querySelectorAll<HTMLInputElement>('[name]')]
    const missing = inputs.find(({ required, value }) => required && value === '')
    if (missing !== undefined) {
      say(`Please fill in “${missing.labels?.[0]?.textContent}”.`)
      return missing.focus()
    }
    const values = inputs.map(({ name, type, checked, value }) => [
      name,
      type === 'checkbox' ? checked : value,
    ])
    void attempt(goOn, () => onSubmit(Object.fromEntries(values)))
  })
  return made
}

export function button(
  label: string,
  onClick: () => Promise<void> | void,
  style = 'quiet',
): HTMLButtonElement {
  const made = element('button', { type: 'button', class: style }, label)
  made.addEventListener('click', () => void attempt(made, onClick))
  return made
}

function fieldElements({ name, label, attributes, options = [] }: Field): HTMLElement[] {
  if (attributes?.type === 'checkbox') return [checkbox(label, { name, ...attributes })]
  const id = `field-${name}`
  const control = element(options.length === 0 ? 'input' : 'select', { id, name, ...TYPED, ...attributes })
  control.append(...options.map(([value, shown]) => element('option', { value }, shown)))
  const elements = [element('label', { for: id }, label), control]
  if (attributes?.autocomplete !== 'new-password') return elements
  const shows = checkbox('Show what I type', {}, (isOn) =>
    control.setAttribute('type', isOn ? 'text' : 'password'),
  )
  return [...elements, shows]
}

const TYPED = {
  required: true,
  autocomplete: 'off',
  spellcheck: 'false',
  autocapitalize: 'none',
}

function checkbox(label: string, attributes: Attributes, onChange?: (isOn: boolean) => void): HTMLElement {
  const box = element('input', { type: 'checkbox', ...attributes })
  box.addEventListener('change', () => onChange?.(box.checked))
  return element('label', { class: 'check' }, box, element('span', {}, label))
}
