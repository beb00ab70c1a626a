/**
 * The configuration is not valid. Each problem begins with the name of a variable or with a path in
 * `config/default.json`, and contains no value. The exit code is 78 (EX_CONFIG).
 */
export class ConfigError extends Error {
  override readonly name = 'ConfigError'
  readonly problems: readonly string[]
  readonly exitCode = 78

  constructor(problems: readonly string[]) {
    super(['The configuration is not valid:', ...problems].join('\n  '))
    this.problems = problems
  }
}

/**
 * Thrown by the parser of a variable. Each reason is a predicate to the variable's name, such as `must be https`. It
 * never contains any part of the value: many values are secrets, and all reasons are printed.
 */
export class InvalidValue extends Error {
  override readonly name = 'InvalidValue'
  readonly reasons: readonly string[]

  constructor(...reasons: string[]) {
    super(reasons.join('; '))
    this.reasons = reasons
  }
}
