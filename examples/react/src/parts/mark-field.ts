type Field = HTMLInputElement | HTMLSelectElement

/**
 * Marks and focuses the field that a cause names ("profile.phoneNumber: …"), else the one with this
 * name, else the last one.
 */
export function markField(form: HTMLFormElement, causes: readonly string[], name?: string): void {
  const fields = fieldsOf(form)
  const field =
    causes.map((cause) => named(form, cause)).find(Boolean) ??
    fields.find((one) => one.name === name) ??
    fields.at(-1)
  field?.setAttribute('aria-invalid', 'true')
  field?.addEventListener('input', () => field.removeAttribute('aria-invalid'), { once: true })
  field?.focus()
  if (field instanceof HTMLInputElement) field.select()
}

/** Empties and focuses the field with this name, for another input. */
export function emptyField(form: HTMLFormElement, name: string | undefined): void {
  const field = fieldsOf(form).find((one) => one.name === name)
  if (!field) return
  field.value = ''
  field.focus()
}

/** The cause with the field's label instead of its name. */
export function labelled(form: HTMLFormElement, cause: string): string {
  const label = named(form, cause)?.labels?.[0]?.firstChild?.textContent
  return label ? cause.replace(/^[\w.]+/, label) : cause
}

function named(form: HTMLFormElement, cause: string): Field | undefined {
  const [, name] = /^(?:\w+\.)*(\w+): /.exec(cause) ?? []
  return fieldsOf(form).find((field) => field.name === name)
}

function fieldsOf(form: HTMLFormElement): Field[] {
  return [...form.querySelectorAll<Field>('[required]')]
}
