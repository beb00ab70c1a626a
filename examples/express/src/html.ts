/** HTML whose values are escaped. */
export class Html {
  readonly text: string
  constructor(text: string) {
    this.text = text
  }
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

/** A template whose values are escaped, unless they are HTML themselves. */
export function html(texts: TemplateStringsArray, ...values: (string | Html | readonly Html[])[]): Html {
  return new Html(String.raw({ raw: texts }, ...values.map((value) => [value].flat().map(escaped).join(''))))
}

function escaped(value: string | Html): string {
  return value instanceof Html
    ? value.text
    : value.replace(/[&<>"']/g, (character) => ENTITIES[character] ?? '')
}
