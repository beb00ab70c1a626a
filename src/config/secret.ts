import { inspect } from 'node:util'

/**
 * A secret as a module gets it. Call `current()` for each use, so that a changed file takes effect at once, or use
 * `onChange` if something expensive is derived from the value (a connection, a set of keys).
 */
export type Secret<T> = Pick<SecretHolder<T>, 'current' | 'onChange'>

export function createSecret<T>(value: T): Secret<T> & Pick<SecretHolder<T>, 'replace'> {
  return new SecretHolder(value)
}

const HIDDEN = '[secret]'

/**
 * For the configuration, which replaces the value. It is hidden from `JSON.stringify`, `util.inspect`, logs and string
 * conversion.
 */
class SecretHolder<T> {
  #value: T
  readonly #listeners = new Set<(value: T) => void>()

  constructor(value: T) {
    this.#value = value
  }

  /** Can be passed on without its object. */
  readonly current = () => this.#value
  toString = () => HIDDEN
  toJSON = () => HIDDEN;
  [inspect.custom] = () => HIDDEN

  /** Calls the listener with each new value, not with the current one. Returns a function that stops it. */
  onChange(listener: (value: T) => void): () => void {
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }

  /** Calls every listener, even if one throws. */
  replace(value: T): void {
    this.#value = value
    const errors: unknown[] = []
    for (const listener of this.#listeners) {
      try {
        listener(value)
      } catch (error) {
        errors.push(error) // thrown below, after all listeners were called
      }
    }
    if (errors.length > 0) throw new AggregateError(errors, 'A listener failed to use the new secret')
  }
}
