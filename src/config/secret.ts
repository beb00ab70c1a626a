import { inspect } from 'node:util'

/**
 * A secret as a module gets it. A module calls `current()` each time, so that a changed file takes effect at once, or listens with
 * `onChange` if it derives something costly from the value (a connection, a set of keys).
 */
export interface Secret<T> {
  /** Bound: it can be passed on as it is. */
  readonly current: () => T
  /** Called with each new value, never with the first one. Returns a function that stops it. */
  onChange(listener: (value: T) => void): () => void
}

/** For the configuration, which may replace the value. */
export interface SecretHolder<T> extends Secret<T> {
  /** Every listener gets the new value, even if another one throws. */
  replace(value: T): void
}

/** The value shows neither in `JSON.stringify`, nor in `util.inspect` and logs, nor in a string. */
export function createSecret<T>(value: T): SecretHolder<T> {
  return new HiddenValue(value)
}

const HIDDEN = '[secret]'

class HiddenValue<T> implements SecretHolder<T> {
  #value: T
  readonly #listeners = new Set<(value: T) => void>()

  constructor(value: T) {
    this.#value = value
  }

  current = () => this.#value
  toString = () => HIDDEN
  toJSON = () => HIDDEN;
  [inspect.custom] = () => HIDDEN

  onChange(listener: (value: T) => void): () => void {
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }

  replace(value: T): void {
    this.#value = value
    const errors: unknown[] = []
    for (const listener of this.#listeners) {
      try {
        listener(value)
      } catch (error) {
        errors.push(error) // thrown below, once all listeners were called
      }
    }
    if (errors.length > 0) throw new AggregateError(errors, 'A listener did not take the new secret')
  }
}
