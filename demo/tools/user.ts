/** A user of the sandbox, as listed by `/demo/users`. */
export interface User {
  readonly login: string
  readonly name: string
  /** Empty if the user has none yet. */
  readonly password: string
  readonly description: string
  /** As in Okta's Users API. */
  readonly status: string
}
