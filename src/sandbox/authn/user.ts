import type { FactorConfig, FactorType, UserConfig } from '../sandbox-config.ts'
import { idFromSeed } from './issued-tokens.ts'

/** One enrolled (or half enrolled) factor with what is needed to check it. */
export type Factor = {
  id: string
  factorType: FactorType
  provider: string
  /** undefined: this type shows none. */
  profile: Record<string, unknown> | undefined
  config: FactorConfig
  wrongCodes: number
  /** Time steps whose code was used already. */
  usedSteps: Set<number>
  /** Security keys: the public key as JWK text. */
  publicKey: string | undefined
  /** Security keys: the site they were enrolled on, as SHA-256 of its host name; undefined: any. */
  relyingPartyHash: Buffer | undefined
}

/** What the org remembers of a device that brought this deviceToken. */
export type DeviceMemory = { mfaAtMs: number | undefined; rememberedUntilMs: number | undefined }

export type User = {
  id: string
  login: string
  config: UserConfig
  password: string | undefined
  passwordChanged: string
  passwordExpired: boolean
  passwordExpiresInDays: number | undefined
  lockedOut: boolean
  wrongPasswords: number
  activated: boolean
  factors: Factor[]
  recoveryPhone: string | undefined
  devices: Map<string, DeviceMemory>
  lastDeviceToken: string | undefined
  fingerprints: Set<string>
  autoPush: boolean
  sessionsRevoked: number
}

/** `factors/` fills in what a factor of this type shows of itself. */
export type NewFactor = (config: FactorConfig, user: { login: string; id: string }, seed: string) => Factor

export function createUser(config: UserConfig, newFactor: NewFactor): User {
  const id = idFromSeed('00u', `person ${config.login}`)
  const factors = config.factors.map((factor, at) =>
    newFactor(factor, { login: config.login, id }, `${config.login} ${factor.type} ${factor.provider} ${at}`),
  )
  return {
    id,
    login: config.login,
    config,
    password: config.password,
    passwordChanged: config.passwordChanged,
    passwordExpired: config.passwordExpired,
    passwordExpiresInDays: config.passwordExpiresInDays,
    lockedOut: config.lockedOut,
    wrongPasswords: 0,
    activated: !config.activation,
    factors,
    recoveryPhone: config.recoveryPhone ?? config.factors.find((one) => one.type === 'sms')?.phoneNumber,
    devices: new Map(),
    lastDeviceToken: undefined,
    fingerprints: new Set(),
    autoPush: false,
    sessionsRevoked: 0,
  }
}

export type Users = {
  all(): User[]
  /** By the full sign-in name or an unambiguous short one, in any letter case. */
  findByUsername(username: string): User | undefined
  findById(id: string): User | undefined
  reset(): void
}

export function createUsers(configs: readonly UserConfig[], newFactor: NewFactor): Users {
  let users = configs.map((config) => createUser(config, newFactor))
  let index = indexOf(users)
  return {
    all: () => users,
    findByUsername: (username) => index.get(username.trim().toLowerCase()),
    findById: (id) => users.find((user) => user.id === id),
    reset() {
      users = configs.map((config) => createUser(config, newFactor))
      index = indexOf(users)
    },
  }
}

function indexOf(users: readonly User[]): Map<string, User> {
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
