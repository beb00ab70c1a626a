/**
 * The configuration is not valid. Each of `problems` begins with the name of a variable (or with the path in
 * `config/default.json`), and none contains a value. The exit code is 78 (EX_CONFIG).
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
 * Thrown by the parser of one variable. `reasons` are half sentences that follow the variable's name. They never contain the value or
 * a part of it: many values are secrets, and all reasons are printed.
 */
export class InvalidValue extends Error {
  override readonly name = 'InvalidValue'
  readonly reasons: readonly string[]

  constructor(...reasons: string[]) {
    super(reasons.join('; '))
    this.reasons = reasons
  }
}
