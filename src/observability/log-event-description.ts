export interface LogEventDescription {
  readonly meaning: string
  /** For an operator; omitted if none is needed. */
  readonly action?: string
}
