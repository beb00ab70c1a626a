/** Creates elements from data, never from HTML text. */

export type Child = Node | string | false | undefined
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

export function byId(id: string): HTMLElement {
  const found = document.getElementById(id)
  if (found === null) throw new Error(`the page has no element ${id}`)
  return found
}
