/** The parts of an upstream answer that rules look at. */
export interface Answer {
  readonly status: string
  readonly factorResult: string | undefined
  readonly stateToken: string | undefined
  /** The real one: it goes no further than the sealed record of an SSO token. */
  readonly sessionToken: string | undefined
  readonly type: string | undefined
  readonly user: AnsweredUser | undefined
  readonly factorTypes: Readonly<Record<string, string>>
  /** Of a list of factors to set up: those that are active already. */
  readonly activeFactors: readonly string[]
  readonly expiresAt: string | undefined
}

export interface AnsweredUser {
  readonly id: string
  readonly profile: Readonly<Record<string, unknown>>
}
