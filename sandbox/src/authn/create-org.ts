import { createManagedObjects } from '../management/managed-objects.ts'
import type { OrgEvent } from '../org-events.ts'
import { createOutbox } from '../outbox.ts'
import type { SandboxConfig } from '../sandbox-config.ts'
import { factorFromConfig } from './factors/factor-handlers.ts'
import { createIssuedTokens, type RandomBytes } from './issued-tokens.ts'
import type { Org, Recovery, Settings } from './org.ts'
import { createRateLimit } from './rate-limit.ts'
import { createTokenStore } from './token-store.ts'
import { createTransactions } from './transaction.ts'
import { createUsers, type User } from './user.ts'

function settingsOf(config: SandboxConfig): Settings {
  const { factorListName, pipeline, identityEngine, refusals } = config
  const { directoryAgent, blockedZones, suspectedAddresses } = config
  const refused = { ...refusals, directoryAgent, blockedZones, suspectedAddresses }
  const answers = {
    factorListName,
    resetPasswordName: 'resetPassword',
    refusedCodes: 'factorResult',
    recoveryLoggedAt: 'start',
    breachedSignIn: 'expired',
    breachDetected: 'always',
    wrongOldPassword: 'recorded',
    sessionTokenReplacesSession: false,
  } as const
  const recovery = {
    tokenRecoveryResets: true,
    usedLink: 'E0000105',
    federatedRecovery: 'E0000006',
    tokenManagesFactors: false,
    sendLimit: null,
  } as const
  const againstTheRows = {
    forwardedForNeedsToken: false,
    remembersUnasked: false,
    verifyNeedsToken: false,
  }
  return { ...answers, ...recovery, ...againstTheRows, ...refused, pipeline, ...identityEngine }
}

const SESSION_MINUTES = 120

export function createOrg({
  config,
  now,
  random,
  sendEvent,
  events,
}: {
  config: SandboxConfig
  now: () => number
  random: RandomBytes
  sendEvent: Org['sendEvent']
  events: OrgEvent[]
}): Org {
  const { lifetimes } = config
  const tokens = createIssuedTokens({ random })
  const tokenStore = <Value>(lifetimeMinutes: number) => createTokenStore<Value>({ now, lifetimeMinutes })
  const org: Org = {
    config,
    now,
    random,
    settings: settingsOf(config),
    apiTokens: new Set([...config.apiTokens, ...config.adminTokens]),
    tokens,
    users: createUsers(config.users, factorFromConfig, now),
    transactions: createTransactions({
      now,
      tokens,
      lifetimeMinutes: lifetimes.transactionMinutes,
      recoveryMinutes: lifetimes.recoveryTransactionMinutes,
    }),
    recoveries: tokenStore<Recovery>(lifetimes.recoveryTokenMinutes),
    activations: tokenStore<User>(lifetimes.activationTokenMinutes),
    sessionTokens: tokenStore(lifetimes.sessionTokenMinutes),
    sessions: tokenStore<User>(SESSION_MINUTES),
    pushLinks: tokenStore<string>(lifetimes.transactionMinutes),
    rsaTokens: new Map(),
    outbox: createOutbox({ now }),
    rateLimit: createRateLimit({ limits: config.rateLimits, now }),
    signIns: [],
    sendEvent,
    events,
    managed: createManagedObjects(),
    reset() {
      Object.assign(org.settings, settingsOf(config))
      org.apiTokens.clear()
      for (const token of [...config.apiTokens, ...config.adminTokens]) org.apiTokens.add(token)
      for (const store of [
        org.tokens,
        org.transactions,
        org.recoveries,
        org.activations,
        org.sessionTokens,
        org.sessions,
        org.pushLinks,
        org.rsaTokens,
        org.outbox,
        org.rateLimit,
        org.managed,
      ])
        store.clear()
      org.users.reset()
      org.signIns.length = 0
      org.events.length = 0
    },
  }
  return org
}
