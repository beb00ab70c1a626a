import { inspect } from 'node:util'

/** A value that is hidden from `JSON.stringify`, `util.inspect`, logs and string conversion. */
export interface Secret<T> {
  readonly value: T
}

export function createSecret<T>(value: T): Secret<T> {
  const hide = () => '[secret]'
  const hidden = { toString: hide, toJSON: hide, [inspect.custom]: hide }
  return Object.defineProperty(hidden as typeof hidden & Secret<T>, 'value', { get: () => value })
}
