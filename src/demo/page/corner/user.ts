/** A user of the sandbox, as `/demo/users` lists them. */
export interface User {
  readonly login: string
  readonly name: string
  /** Empty: none yet. */
  readonly password: string
  readonly says: string
}
