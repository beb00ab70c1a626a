/**
 * The configuration is not sound. `problems` holds every trouble that was found, each beginning with the
 * variable's name (or the path in `config/default.json`) and none holding a value. The exit code is 78 (EX_CONFIG).
 */
export class ConfigError extends Error {
  override readonly name = 'ConfigError'
  readonly problems: readonly string[]
  readonly exitCode = 78

  constructor(problems: readonly string[]) {
    super(['The configuration is not sound:', ...problems].join('\n  '))
    this.problems = problems
  }
}
