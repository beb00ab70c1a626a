import type { FactorConfig, FactorType, UserConfig } from '../sandbox-config.ts'
import { idFromSeed } from './issued-tokens.ts'

/** A factor that is enrolled or being enrolled. */
export type Factor = {
  id: string
  factorType: FactorType
  provider: string
  /** undefined if this factor type has no profile. */
  profile: Record<string, unknown> | undefined
  config: FactorConfig
  wrongCodes: number
  /** TOTP time steps or HOTP counters whose code is used. */
  usedSteps: Set<number>
  /** Security keys: the public key as serialized JWK. */
  publicKey: string | undefined
  /**
   * Security keys: SHA-256 of the relying party id that the key was enrolled for; undefined: any.
   */
  relyingPartyHash: Buffer | undefined
}

/** The org's record of a device token. */
export type DeviceMemory = { mfaAtMs: number | undefined; rememberedUntilMs: number | undefined }

export type User = {
  id: string
  login: string
  config: UserConfig
  password: string | undefined
  passwordChanged: string
  passwordExpired: boolean
  /** The password is in a list of breached ones, which Okta finds at the next sign-in. */
  passwordBreached: boolean
  breachWasFound: boolean
  passwordExpiresInDays: number | undefined
  lockedOut: boolean
  wrongPasswords: number
  wrongRecoveryAnswers: number
  activated: boolean
  /** As an administrator set it; undefined: not set. The user cannot sign in. */
  adminStatus: 'SUSPENDED' | 'DEPROVISIONED' | 'RECOVERY' | undefined
  factors: Factor[]
  recoveryPhone: string | undefined
  devices: Map<string, DeviceMemory>
  lastDeviceToken: string | undefined
  fingerprints: Set<string>
  sessionsRevoked: number
}

/** A parameter, because `factors/` depends on this file. */
export type NewFactor = (config: FactorConfig, user: { login: string; id: string }, seed: string) => Factor

function createUser(config: UserConfig, newFactor: NewFactor, now: () => number): User {
  const id = idFromSeed('00u', `person ${config.login}`)
  const factors = config.factors.map((factor, index) =>
    newFactor(
      factor,
      { login: config.login, id },
      `${config.login} ${factor.type} ${factor.provider} ${index}`,
    ),
  )
  return {
    id,
    login: config.login,
    config,
    password: config.password,
    passwordChanged: passwordChangedOf(config, now()),
    passwordExpired: config.passwordExpired,
    passwordBreached: config.passwordBreached,
    breachWasFound: false,
    passwordExpiresInDays: config.passwordExpiresInDays,
    lockedOut: config.lockedOut,
    wrongPasswords: 0,
    wrongRecoveryAnswers: 0,
    activated: !config.activation && !config.staged,
    adminStatus: undefined,
    factors,
    recoveryPhone: config.recoveryPhone ?? config.factors.find(({ type }) => type === 'sms')?.phoneNumber,
    devices: new Map(),
    lastDeviceToken: undefined,
    fingerprints: new Set(),
    sessionsRevoked: 0,
  }
}

function passwordChangedOf({ passwordChanged, passwordChangedMinutesAgo }: UserConfig, nowMs: number) {
  return passwordChangedMinutesAgo === undefined
    ? passwordChanged
    : new Date(nowMs - passwordChangedMinutesAgo * 60_000).toISOString()
}

/** The address to which the org sends emails. */
export function emailOf({ login, config }: User): string {
  return config.email ?? login
}

export type Users = {
  all(): User[]
  /** By full login or unambiguous short name, case-insensitive. */
  findByUsername(username: string): User | undefined
  /** A recovery also finds the user by the primary or secondary email (R9). */
  findForRecovery(username: string): User | undefined
  findById(id: string): User | undefined
  /** A user who was not configured. `reset` removes it. */
  add(config: UserConfig): User
  remove(user: User): void
  reset(): void
}

export function createUsers(configs: readonly UserConfig[], newFactor: NewFactor, now: () => number): Users {
  const createAll = () => configs.map((config) => createUser(config, newFactor, now))
  let users = createAll()
  let index = indexByUsername(users)
  const findByUsername = (username: string) => index.get(username.trim().toLowerCase())
  return {
    all: () => users,
    findByUsername,
    findForRecovery(username) {
      const address = username.trim().toLowerCase()
      return (
        findByUsername(username) ??
        users.find((user) =>
          [emailOf(user), user.config.secondaryEmail].some((email) => email?.toLowerCase() === address),
        )
      )
    },
    findById: (id) => users.find((user) => user.id === id),
    add(config) {
      const user = createUser(config, newFactor, now)
      users = [...users, user]
      index = indexByUsername(users)
      return user
    },
    remove(user) {
      users = users.filter((each) => each !== user)
      index = indexByUsername(users)
    },
    reset() {
      users = createAll()
      index = indexByUsername(users)
    },
  }
}

function indexByUsername(users: readonly User[]): Map<string, User> {
  const index = new Map<string, User>()
  const ambiguous = new Set<string>()
  for (const user of users) {
    const short = user.login.replace(/@.*/, '').toLowerCase()
    if (index.has(short)) ambiguous.add(short)
    index.set(short, user)
  }
  for (const short of ambiguous) index.delete(short)
  for (const user of users) index.set(user.login.toLowerCase(), user)
  return index
}
