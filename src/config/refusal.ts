/**
 * Thrown by the parser of one variable; `reasons` are half sentences that follow the variable's name.
 * A reason never holds the value, nor a part of it: many values are secrets, and all of this is printed.
 */
export class Refusal extends Error {
  override readonly name = 'Refusal'
  readonly reasons: readonly string[]

  constructor(...reasons: string[]) {
    super(reasons.join('; '))
    this.reasons = reasons
  }
}
