/** A configuration that is not valid. The exit code is 78 (EX_CONFIG). */
export class ConfigError extends Error {
  override readonly name = 'ConfigError'
  readonly exitCode = 78
  /**
   * Each begins with the name of a variable. It never contains any part of a value: many are
   * secrets, and all problems are printed.
   */
  readonly problems: readonly string[]

  constructor(...problems: string[]) {
    super(['The configuration is not valid:', ...problems].join('\n  '))
    this.problems = problems
  }
}
