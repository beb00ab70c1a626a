/** A few lines instead of a framework: elements from data, never from HTML text. */

type Child = Node | string | false | undefined

export function element<Name extends keyof HTMLElementTagNameMap>(
  name: Name,
  attributes: Readonly<Record<string, string | boolean>>,
  ...children: Child[]
): HTMLElementTagNameMap[Name] {
  const made = document.createElement(name)
  for (const [attribute, value] of Object.entries(attributes)) {
    if (typeof value === 'string') made.setAttribute(attribute, value)
    else if (value) made.setAttribute(attribute, '')
  }
  made.append(...children.filter((child) => child !== undefined && child !== false))
  return made
}

export interface Field {
  readonly name: string
  readonly label: string
  readonly type?: 'text' | 'password'
  readonly autocomplete?: string
  readonly numeric?: boolean
  readonly value?: string
}

export interface FormParts {
  readonly fields: readonly Field[]
  readonly submit: string
  readonly checkbox?: { readonly name: string; readonly label: string }
  readonly others?: readonly HTMLElement[]
  readonly onSubmit: (values: Record<string, string>) => Promise<void>
}

/** A form that is busy while it is sent, says what went wrong, and puts the cursor where typing goes on. */
export function form(parts: FormParts): HTMLFormElement {
  const trouble = element('p', { class: 'trouble', role: 'alert' })
  const submit = element('button', { type: 'submit' }, parts.submit)
  const made = element(
    'form',
    { novalidate: true },
    trouble,
    ...parts.fields.flatMap(fieldElements),
    parts.checkbox &&
      element(
        'label',
        { class: 'check' },
        element('input', { type: 'checkbox', name: parts.checkbox.name, value: 'true' }),
        parts.checkbox.label,
      ),
    element('p', { class: 'actions' }, submit, ...(parts.others ?? [])),
  )
  made.addEventListener('submit', async (event) => {
    event.preventDefault()
    trouble.textContent = ''
    submit.disabled = true
    try {
      await parts.onSubmit(
        Object.fromEntries([...new FormData(made)].map(([name, value]) => [name, String(value)])),
      )
    } catch (error) {
      trouble.textContent = messageOf(error)
      made.querySelector('input')?.focus()
    } finally {
      submit.disabled = false
    }
  })
  return made
}

export function button(label: string, onClick: () => Promise<void> | void): HTMLButtonElement {
  const made = element('button', { type: 'button', class: 'quiet' }, label)
  made.addEventListener('click', () => onClick())
  return made
}

export function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return 'Something went wrong.'
  const causes = 'causes' in error && Array.isArray(error.causes) ? error.causes : []
  return [error.message, ...causes].join(' · ')
}

function fieldElements(field: Field): HTMLElement[] {
  const id = `field-${field.name}`
  return [
    element('label', { for: id }, field.label),
    element('input', {
      id,
      name: field.name,
      type: field.type ?? 'text',
      value: field.value ?? '',
      autocomplete: field.autocomplete ?? 'off',
      spellcheck: 'false',
      autocapitalize: 'none',
      ...(field.numeric ? { inputmode: 'numeric', maxlength: '10' } : {}),
    }),
  ]
}
