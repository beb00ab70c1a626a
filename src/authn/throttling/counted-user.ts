import type { LoginNames } from '../../login-names.ts'
import type { Attempt } from './attempts.ts'

/**
 * A user as named in an attempt. Users whose logins differ only in the domain (LOGIN_DOMAINS) share
 * a key prefix.
 */
export interface NamedUser {
  /** Names the key prefix. */
  readonly keyName: readonly string[]
  /** The user who has signed in, after a full sign-in with this name. */
  readonly distinct: readonly string[]
  /** All users that the name may mean. A failure counts in the `inARow` window of each. */
  readonly candidates: readonly (readonly string[])[]
}

function soleUser(...name: readonly string[]): NamedUser {
  return { keyName: name, distinct: name, candidates: [name] }
}

export function byUserId(userId: string): NamedUser {
  return soleUser('user', userId)
}

/** Whether Okta has named the user. */
export function isNamedByOkta({ keyName: [kind] }: NamedUser): boolean {
  return kind === 'user'
}

export function byLogin({ canonical, distinct, candidates }: LoginNames, login: string): NamedUser {
  return {
    keyName: ['login', canonical(login)],
    distinct: ['login', distinct(login)],
    candidates: candidates(login).map((name) => ['login', name]),
  }
}

/**
 * A password is counted by login in every step, because primary authentication knows only the
 * login.
 */
export function countedUser(
  logins: LoginNames,
  { kind, userId, login, handle }: Attempt,
): NamedUser | undefined {
  if (userId !== undefined && (kind !== 'password' || login === undefined)) return byUserId(userId)
  if (login !== undefined) return byLogin(logins, login)
  return handle === undefined ? undefined : soleUser('transaction', handle)
}
