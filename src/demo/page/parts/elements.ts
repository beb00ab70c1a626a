/** Creates elements from data, never from HTML text. */

export type Child = Node | string | false | undefined
/** The content of a title, a button or a message. */
export type Words = string | readonly Child[]
export type Attributes = Readonly<Record<string, string | boolean>>

export function element<Name extends keyof HTMLElementTagNameMap>(
  name: Name,
  attributes: Attributes,
  ...children: readonly Child[]
): HTMLElementTagNameMap[Name] {
  const made = document.createElement(name)
  for (const [attribute, value] of Object.entries(attributes)) {
    if (value !== false) made.setAttribute(attribute, value === true ? '' : value)
  }
  made.append(...children.filter((child) => child !== undefined && child !== false))
  return made
}

export function actions(...buttons: readonly Child[]): HTMLElement {
  return element('div', { class: 'actions' }, ...buttons)
}

export function paragraph(...children: readonly Child[]): HTMLParagraphElement {
  return element('p', {}, ...children)
}

/** Text of the org, or of a user: it has its own direction. */
export function foreign(text: string): HTMLElement {
  return element('bdi', {}, text)
}

/** A text with its `{placeholders}` filled in. The direction of the values does not change the sentence's. */
export function fill(
  text: string,
  values: Readonly<Record<string, Node | string | number | undefined>>,
): readonly Child[] {
  return text.split(/\{(\w+)\}/).map((part, index) => {
    const value = values[part]
    if (index % 2 === 0) return part
    return value instanceof Node ? value : foreign(`${value ?? ''}`)
  })
}

/** The same as plain text, for attributes. */
export function fillText(text: string, values: Readonly<Record<string, string | number>>): string {
  return textOf(fill(text, values))
}

export function textOf(words: Words): string {
  return element('span', {}, ...[words].flat()).textContent
}

export function byId(id: string): HTMLElement {
  const found = document.getElementById(id)
  if (found === null) throw new Error(`the page has no element ${id}`)
  return found
}
