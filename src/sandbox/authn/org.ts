import type { Outbox } from '../outbox.ts'
import type { SandboxConfig } from '../sandbox-config.ts'
import type { ClientContext } from './client-context.ts'
import type { IssuedTokens, RandomBytes } from './issued-tokens.ts'
import type { RateLimit } from './rate-limit.ts'
import type { TokenStore } from './token-store.ts'
import type { Transactions } from './transaction.ts'
import type { User, Users } from './user.ts'

export type Recovery = {
  user: User
  recoveryType: 'PASSWORD' | 'UNLOCK'
  relayState: string | undefined
}

/** One attempt at primary authentication and what the sandbox saw of the client. */
export type SignIn = ClientContext & { at: number; login: string; outcome: string }

/** Shapes of the wild that answers can be switched to. */
export type Settings = {
  /** `factors` is what recordings show; `factor` is the form of the written specification. */
  factorListName: 'factors' | 'factor'
  /** The name of the link that resets a password; both are met. */
  resetPasswordName: 'resetPassword' | 'password'
  /** How a code is refused that was used before or is out of its time: as a factorResult, or as E0000082 and E0000083. */
  refusedCodes: 'factorResult' | 'error'
}

/** Everything that the org remembers. */
export type Org = {
  config: SandboxConfig
  now: () => number
  random: RandomBytes
  settings: Settings
  apiTokens: Set<string>
  tokens: IssuedTokens
  users: Users
  transactions: Transactions
  recoveries: TokenStore<Recovery>
  activations: TokenStore<User>
  /** Session tokens not yet exchanged. */
  sessionTokens: TokenStore<User>
  /** Sessions at the org itself, by the value of its `sid` cookie. */
  sessions: TokenStore<User>
  pushLinks: TokenStore<string>
  outbox: Outbox
  rateLimit: RateLimit
  signIns: SignIn[]
  reset(): void
}

/** Keeps the last 10,000. */
export function recordSignIn(org: Org, client: ClientContext, login: string, outcome: string): void {
  org.signIns.push({ at: org.now(), login, outcome, ...client })
  if (org.signIns.length > 10_000) org.signIns.shift()
}
