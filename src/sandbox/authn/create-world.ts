import { createOutbox } from '../outbox.ts'
import type { SandboxConfig } from '../sandbox-config.ts'
import { factorFromConfig } from './factors/factor-kinds.ts'
import { createIssuedTokens, type RandomBytes } from './issued-tokens.ts'
import { createPeople, type Person } from './person.ts'
import { createRateLimit } from './rate-limit.ts'
import { createTokenBook } from './token-book.ts'
import { createTransactions } from './transaction.ts'
import type { Recovery, Settings, World } from './world.ts'

const SETTINGS: Omit<Settings, 'factorListName'> = {
  resetPasswordName: 'resetPassword',
  refusedCodes: 'factorResult',
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
