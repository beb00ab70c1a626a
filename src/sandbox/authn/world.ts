import type { Outbox } from '../outbox.ts'
import { createOutbox } from '../outbox.ts'
import type { SandboxConfig } from '../sandbox-config.ts'
import type { Caller } from './caller.ts'
import { factorFromConfig } from './factors/factor-kinds.ts'
import { createIssuedTokens, type IssuedTokens, type RandomBytes } from './issued-tokens.ts'
import { createPeople, type People, type Person } from './person.ts'
import { createRateLimit, type RateLimit } from './rate-limit.ts'
import { createTokenBook, type TokenBook } from './token-book.ts'
import { createTransactions, type Transactions } from './transaction.ts'

export type Recovery = {
  person: Person
  recoveryType: 'PASSWORD' | 'UNLOCK'
  relayState: string | undefined
}

/** One attempt at primary authentication and what the sandbox saw of the client. */
export type SignIn = Caller & { at: number; login: string; outcome: string }

/** Shapes of the wild that answers can be switched to. */
export type Settings = {
  /** `factors` is what recordings show; `factor` is the form of the written specification. */
  factorListName: 'factors' | 'factor'
  /** The name of the link that resets a password; both are met. */
  resetPasswordName: 'resetPassword' | 'password'
  /** How a code is refused that was used before or is out of its time: as a factorResult, or as E0000082 and E0000083. */
  refusedCodes: 'factorResult' | 'error'
}

const SETTINGS: Omit<Settings, 'factorListName'> = {
  resetPasswordName: 'resetPassword',
  refusedCodes: 'factorResult',
}

/** Everything that the org remembers. */
export type World = {
  config: SandboxConfig
  now: () => number
  random: RandomBytes
  settings: Settings
  apiTokens: Set<string>
  tokens: IssuedTokens
  people: People
  transactions: Transactions
  recoveries: TokenBook<Recovery>
  activations: TokenBook<Person>
  /** Session tokens not yet exchanged. */
  sessionTokens: TokenBook<Person>
  /** Sessions at the org itself, by the value of its `sid` cookie. */
  sessions: TokenBook<Person>
  pushLinks: TokenBook<string>
  outbox: Outbox
  rateLimit: RateLimit
  signIns: SignIn[]
  reset(): void
}

const SESSION_MINUTES = 120

export function createWorld({
  config,
  now,
  random,
}: {
  config: SandboxConfig
  now: () => number
  random: RandomBytes
}): World {
  const { lifetimes } = config
  const tokens = createIssuedTokens({ random })
  const book = <Value>(lifetimeMinutes: number) => createTokenBook<Value>({ now, lifetimeMinutes })
  const world: World = {
    config,
    now,
    random,
    settings: { factorListName: config.factorListName, ...SETTINGS },
    apiTokens: new Set(config.apiTokens),
    tokens,
    people: createPeople(config.people, factorFromConfig),
    transactions: createTransactions({ now, tokens, lifetimeMinutes: lifetimes.transactionMinutes }),
    recoveries: book<Recovery>(lifetimes.recoveryTokenMinutes),
    activations: book<Person>(lifetimes.activationTokenMinutes),
    sessionTokens: book<Person>(lifetimes.sessionTokenMinutes),
    sessions: book<Person>(SESSION_MINUTES),
    pushLinks: book<string>(lifetimes.transactionMinutes),
    outbox: createOutbox({ now }),
    rateLimit: createRateLimit({ limits: config.rateLimits, now }),
    signIns: [],
    reset() {
      Object.assign(world.settings, { factorListName: config.factorListName, ...SETTINGS })
      world.apiTokens.clear()
      for (const token of config.apiTokens) world.apiTokens.add(token)
      for (const store of [
        world.tokens,
        world.transactions,
        world.recoveries,
        world.activations,
        world.sessionTokens,
        world.sessions,
        world.pushLinks,
        world.outbox,
        world.rateLimit,
      ])
        store.clear()
      world.people.reset()
      world.signIns.length = 0
    },
  }
  return world
}

/** Keeps the last 10,000. */
export function recordSignIn(world: World, caller: Caller, login: string, outcome: string): void {
  world.signIns.push({ at: world.now(), login, outcome, ...caller })
  if (world.signIns.length > 10_000) world.signIns.shift()
}
