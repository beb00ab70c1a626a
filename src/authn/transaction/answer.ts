/** The parts of an Okta answer that the rules need. */
export interface Answer {
  readonly status: string
  readonly factorResult: string | undefined
  readonly stateToken: string | undefined
  /** Okta's own: stored only in the sealed record of an SSO token. */
  readonly sessionToken: string | undefined
  readonly type: string | undefined
  readonly user: AnsweredUser | undefined
  readonly factorTypes: Readonly<Record<string, string>>
  /** The active factors in a list of factors to enroll. */
  readonly activeFactors: readonly string[]
  readonly expiresAt: string | undefined
}

export interface AnsweredUser {
  readonly id: string
  readonly profile: Readonly<Record<string, unknown>>
}
