import { inspect } from 'node:util'

const HIDDEN = '[secret]'

/**
 * A secret as a module gets it. Ask `current()` each time it is needed, and a changed file is honoured at once;
 * whoever derives something costly from it (a connection, a set of keys) listens with `onChange`.
 */
export interface Secret<T> {
  current(): T
  /** Called with each new value, never with the first one. Returns how to stop listening. */
  onChange(listener: (value: T) => void): () => void
}

/** The side that the configuration keeps: who holds it may also replace the value. */
export interface SecretHolder<T> extends Secret<T> {
  replace(value: T): void
}

/** The value shows neither in `JSON.stringify`, nor in `util.inspect` and logs, nor in a string. */
export function createSecret<T>(value: T): SecretHolder<T> {
  return new HiddenValue(value)
}

class HiddenValue<T> implements SecretHolder<T> {
  #value: T
  readonly #listeners = new Set<(value: T) => void>()

  constructor(value: T) {
    this.#value = value
  }

  current(): T {
    return this.#value
  }

  onChange(listener: (value: T) => void): () => void {
    this.#listeners.add(listener)
    return () => {
      this.#listeners.delete(listener)
    }
  }

  /** Every listener hears of the new value, whatever another one throws. */
  replace(value: T): void {
    this.#value = value
    const errors: unknown[] = []
    for (const listener of this.#listeners) {
      try {
        listener(value)
      } catch (error) {
        errors.push(error) // thrown below, after the others have heard
      }
    }
    if (errors.length > 0) throw new AggregateError(errors, 'A listener did not take the new secret')
  }

  toString(): string {
    return HIDDEN
  }

  toJSON(): string {
    return HIDDEN
  }

  [inspect.custom](): string {
    return HIDDEN
  }
}
