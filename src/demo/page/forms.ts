import { type Child, element } from './elements.js'
import { attempt, say } from './screen.js'

export interface Field {
  readonly name: string
  readonly label: string
  readonly type?: 'text' | 'password' | 'tel' | 'search'
  readonly autocomplete?: AutoFill
  readonly numeric?: boolean
  readonly value?: string
  readonly optional?: boolean
  /** A choice from these; value and what is shown. */
  readonly options?: readonly (readonly [string, string])[]
}

export interface Checkbox {
  readonly name: string
  readonly label: string
  readonly checked?: boolean
}

export interface FormParts {
  readonly fields?: readonly Field[]
  readonly checkboxes?: readonly (Checkbox | false)[]
  readonly submit: string
  /** Further buttons beside the one that sends the form. */
  readonly others?: readonly Child[]
  /** A checked box is 'true', one that is not is missing. */
  readonly onSubmit: (values: Readonly<Record<string, string>>) => Promise<void> | void
}

export function form({ fields = [], checkboxes = [], submit, others = [], onSubmit }: FormParts) {
  const goOn = element('button', { type: 'submit' }, submit)
  const made = element(
    'form',
    { novalidate: true },
    ...fields.flatMap(fieldElements),
    ...checkboxes.map((box) => box !== false && checkboxElement(box)),
    actions(goOn, ...others),
  )
  made.addEventListener('submit', (event) => {
    event.preventDefault()
    const missing = [...made.querySelectorAll<HTMLInputElement>('[required]')].find(
      ({ value }) => value === '',
    )
    if (missing !== undefined) {
      say(`Please fill in “${missing.labels?.[0]?.textContent ?? missing.name}”.`)
      missing.focus()
      return
    }
    const values = [...new FormData(made)].map(([name, value]) => [name, String(value)])
    void attempt(goOn, () => onSubmit(Object.fromEntries(values)))
  })
  return made
}

export function button(label: string, onClick: () => Promise<void> | void, style = 'quiet') {
  const made = element('button', { type: 'button', class: style }, label)
  made.addEventListener('click', () => void attempt(made, onClick))
  return made
}

export function actions(...buttons: readonly Child[]): HTMLElement {
  return element('div', { class: 'actions' }, ...buttons)
}

/** For a password that is being chosen: what is typed can be looked at. */
export function showTyping(): HTMLElement {
  const label = checkboxElement({ name: '', label: 'Show what I type' })
  label.addEventListener('change', ({ target }) => {
    if (!(target instanceof HTMLInputElement)) return
    const type = target.checked ? 'text' : 'password'
    for (const field of target.form?.querySelectorAll('input[name$="assword"]') ?? []) {
      field.setAttribute('type', type)
    }
  })
  return label
}

function fieldElements(field: Field): HTMLElement[] {
  const id = `field-${field.name}`
  const required = field.optional !== true
  const label = element('label', { for: id }, field.label)
  if (field.options !== undefined) {
    const options = field.options.map(([value, shown]) => element('option', { value }, shown))
    return [label, element('select', { id, name: field.name, required }, ...options)]
  }
  return [
    label,
    element('input', {
      id,
      name: field.name,
      type: field.type ?? 'text',
      value: field.value ?? '',
      autocomplete: field.autocomplete ?? 'off',
      spellcheck: 'false',
      autocapitalize: 'none',
      required,
      ...(field.numeric ? { inputmode: 'numeric', maxlength: '10', class: 'digits' } : {}),
    }),
  ]
}

function checkboxElement({ name, label, checked = false }: Checkbox): HTMLLabelElement {
  const box = element('input', { type: 'checkbox', value: 'true', checked, ...(name === '' ? {} : { name }) })
  return element('label', { class: 'check' }, box, element('span', {}, label))
}
