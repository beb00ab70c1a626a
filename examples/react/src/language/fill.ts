import { createElement, Fragment, type ReactNode } from 'react'

/**
 * A text with its `{placeholders}` filled in. The direction of the values does not change the
 * sentence's.
 */
export function fill(text: string, values: Readonly<Record<string, ReactNode>>): ReactNode {
  const parts = partsOf(text).map(([part, isName]) =>
    isName ? createElement('bdi', null, values[part]) : part,
  )
  return createElement(Fragment, null, ...parts)
}

/** The same as plain text, for attributes and lists. */
export function fillText(text: string, values: Readonly<Record<string, unknown>>): string {
  return partsOf(text)
    .map(([part, isName]) => (isName ? (values[part] ?? '') : part))
    .join('')
}

function partsOf(text: string): (readonly [part: string, isName: boolean])[] {
  return text.split(/\{(\w+)\}/).map((part, index) => [part, index % 2 === 1])
}
