import type { Signer } from '../../crypto/keys.ts'
import { networksForLimits } from '../../http/request-context.ts'
import type { LoginNames } from '../../login-names.ts'
import {
  type CountRequest,
  type CountResult,
  type LimitWindow,
  SHORT,
  type WindowKey,
} from '../../store/attempt-counters.ts'
import { IN_A_ROW_SUFFIX, KEYS, keyOf, limitKeyPrefix } from '../../store/keys.ts'
import { type LimitConfig, limitWindow } from '../../store/limits.ts'
import type { Store } from '../../store/store.ts'
import type { Client } from '../browser/client.ts'
import { ATTEMPT_KINDS, type Attempt, type AttemptKind } from './attempts.ts'
import { byLogin, byUserId, countedUser, isNamedByOkta, type NamedUser } from './counted-user.ts'

export type AttemptLimits = Readonly<Record<AttemptKind, Readonly<Partial<Record<Scope, Windows>>>>>

/**
 * Whose attempts are counted together. For a known device, only the `perKnown…` limits and
 * `perTransaction` apply.
 */
type Scope = keyof typeof SCOPE_NAMES

/**
 * Part of the names of stored windows. `person` is a user: another name would reset all counts at
 * an upgrade.
 */
const SCOPE_NAMES = {
  perAddress: 'address',
  perUser: 'person',
  perDevice: 'device',
  perTransaction: 'transaction',
  perKnownDevice: 'known_device',
  perKnownUser: 'known_person',
} as const

/** All windows of a scope apply, so that slow brute-force attempts are limited like fast ones. */
type Windows = Readonly<Partial<Record<(typeof WINDOWS)[number], LimitConfig | undefined>>>

/** `inARow` counts consecutive failures: the user's next full sign-in ends that window. */
const WINDOWS = ['burst', 'sustained', 'inARow'] as const

export interface LimitsDeps {
  readonly store: Pick<Store, 'keyPrefix'>
  /** Their values: attempt-limits.ts */
  readonly limits: AttemptLimits
  readonly nameSigner: Signer
  readonly logins: LoginNames
}

export interface AttemptWindows extends CountRequest {
  /**
   * While SECRET_KEYS are rotated: the keys that mark the device as known, made with the older
   * ones.
   */
  readonly formerKnownDeviceKeys?: readonly string[]
}

/** Windows of names with which nobody has signed in here are at most this long. */
const DAY_MS = 86_400_000

export interface ReachedLimit {
  /** The label of `gatehouse_limit_hits_total`. */
  readonly label: string
  readonly max: number
  readonly leftMs: number
}

export interface WindowGroup {
  readonly keyPrefix: string
  readonly windows: readonly WindowKey[]
}

export interface UserNames {
  readonly userId: string
  /** As typed, and as Okta writes it. */
  readonly logins: readonly string[]
}

/** The windows of the networks of an address in which every call is counted. They need no user. */
export function windowsOfCall(deps: LimitsDeps, attempt: Attempt, client: Client): AttemptWindows[] {
  return ofAddress(deps, { ...attempt, kind: 'call' }, client)
}

/**
 * The windows of the attempt's kind: those of its user, if it names one, and those of its networks.
 */
export function windowsOfAttempt(deps: LimitsDeps, attempt: Attempt, client: Client): AttemptWindows[] {
  if (attempt.kind === 'call') return []
  return [...ofUser(deps, attempt, client), ...ofAddress(deps, attempt, client)]
}

/** The windows that count instead of those of the address if the device is known. */
export function windowsIfKnown(deps: LimitsDeps, attempt: Attempt, client: Client): AttemptWindows[] {
  return ofUser(deps, { ...attempt, kind: 'call' }, client)
}

export function isOfCall({ name }: WindowKey): boolean {
  return name.startsWith('call:')
}

/** For each name of the user: the windows that a full sign-in ends, and the keys that it sets. */
export function windowsEndedBySignIn(
  deps: LimitsDeps,
  user: UserNames,
  client: Client,
): readonly (WindowGroup & { readonly knownDeviceKey: string; readonly signedInKey?: string })[] {
  const users = [byUserId(user.userId), ...user.logins.map((login) => byLogin(deps.logins, login))]
  const distinct = new Map(users.map((named) => [JSON.stringify(named.distinct), named]))
  return [...distinct.values()].map((named) => endedUnder(deps, named, client))
}

/**
 * A user's windows over all devices, for each name of the user and each of SECRET_KEYS. Windows of
 * a device or transaction are not included, because no index lists them.
 */
export function windowsOfUser(deps: LimitsDeps, user: UserNames): readonly WindowGroup[] {
  const { limits, nameSigner, logins } = deps
  // logins with and without a domain share one key prefix
  const byLogins = user.logins.map((login) => byLogin(logins, logins.canonical(login)))
  return [byUserId(user.userId), ...byLogins].flatMap(({ keyName, candidates }) => {
    const ids = [...new Set(['', ...candidates.map((name) => idIn(nameSigner, keyName, name))])]
    const windows = ATTEMPT_KINDS.flatMap((kind) => [
      ...windowsIn(limits[kind], kind, 'perUser', '', ids).flatMap(withShort),
      ...ids.flatMap((id) => windowsIn(limits[kind], kind, 'perKnownUser', id)),
    ])
    return nameSigner
      .signAll(JSON.stringify(keyName))
      .map((signed) => ({ keyPrefix: limitKeyPrefix(deps.store, signed), windows }))
  })
}

/**
 * The limit that is used up, if any. If several are, the store names the one that lasts longest.
 */
export function reachedLimits(attempt: AttemptWindows, { overridden, full }: CountResult): ReachedLimit[] {
  const windows = overridden && attempt.override ? attempt.override.windows : attempt.windows
  const window = full && windows[full.index]
  if (full === undefined || window === undefined) return []
  // A longer time would show that somebody has signed in with this login.
  const leftMs = overridden || attempt.shorten === undefined ? full.leftMs : Math.min(full.leftMs, DAY_MS)
  // such as `password_user`; the stored name says `person`
  const label = window.name.split(':').slice(0, 2).join('_').replace('person', 'user')
  return [{ label, max: window.maxAttempts, leftMs }]
}

function ofUser(deps: LimitsDeps, attempt: Attempt, client: Client): AttemptWindows[] {
  const { nameSigner, logins } = deps
  const user = countedUser(logins, attempt)
  if (user === undefined) return []
  const { keyPrefix, device, known, signedIn } = deviceKeys(deps, user, client)
  const { kind, handle } = attempt
  const inARow = user.candidates.map((candidate) => idIn(nameSigner, user.keyName, candidate))
  const windowsOf = (scope: Scope, id = '', ids = [id]) => windowsIn(deps.limits[kind], kind, scope, id, ids)
  const ofName = (scope: Scope, ...name: string[]) =>
    deps.limits[kind][scope] === undefined ? [] : windowsOf(scope, hmac(nameSigner, ...name))
  const perTransaction = handle === undefined ? [] : ofName('perTransaction', 'transaction', handle)
  const perDevice = ofName('perDevice', 'device', client.device.id, ...user.keyName)
  const windows = [...windowsOf('perUser', '', inARow), ...perDevice, ...perTransaction]
  const ifKnown = [
    ...windowsIn(deps.limits.call, 'call', 'perKnownDevice', device),
    ...(kind === 'call' ? [] : windowsOf('perKnownDevice', device)),
    ...windowsOf('perKnownUser', idIn(nameSigner, user.keyName, user.distinct)),
    ...perTransaction,
  ]
  const [ifKeyExists, ...formerKnownDeviceKeys] = known
  // Anyone can make up names, but not the ids of Okta's users.
  const shorten = isNamedByOkta(user) ? undefined : { unlessKeyExists: signedIn, toTtlMs: DAY_MS }
  return [
    {
      keyPrefix,
      windows,
      override: { ifKeyExists, windows: ifKnown },
      ...(shorten && { shorten }),
      formerKnownDeviceKeys,
    },
  ]
}

/**
 * One request for each network: an IPv6 address has three, which are counted in the same round
 * trip.
 */
function ofAddress(
  { store, limits, nameSigner }: LimitsDeps,
  { kind }: Attempt,
  client: Client,
): AttemptWindows[] {
  const windows = windowsIn(limits[kind], kind, 'perAddress')
  if (windows.length === 0) return []
  return networksForLimits(client.address).map(({ name, factor }) => ({
    keyPrefix: limitKeyPrefix(store, hmac(nameSigner, 'address', name)),
    windows: windows.map((window) => ({ ...window, maxAttempts: window.maxAttempts * factor })),
  }))
}

function endedUnder(deps: LimitsDeps, user: NamedUser, client: Client) {
  const { keyPrefix, device, known, signedIn } = deviceKeys(deps, user, client)
  const id = idIn(deps.nameSigner, user.keyName, user.distinct)
  const windows = (['password', 'code'] as const).flatMap((kind) => [
    ...withShort(windowName(kind, 'perUser', id, 'inARow')),
    windowName(kind, 'perKnownDevice', device, 'inARow'),
    windowName(kind, 'perKnownUser', id, 'inARow'),
  ])
  const ended = { keyPrefix, windows, knownDeviceKey: known[0] }
  return isNamedByOkta(user) ? ended : { ...ended, signedInKey: signedIn }
}

/** A window, and where it is if it is shortened. */
function withShort(window: WindowKey): WindowKey[] {
  return window.keySuffix === SHORT.keySuffix ? [window] : [window, { ...window, ...SHORT }]
}

/**
 * The windows of one scope. `id` separates windows under one key prefix; each id of `inARow` has
 * its own window.
 */
function windowsIn(
  limits: AttemptLimits[AttemptKind],
  kind: AttemptKind,
  scope: Scope,
  id = '',
  inARow: readonly string[] = [id],
): LimitWindow[] {
  return WINDOWS.flatMap((window) => {
    const limit = limits[scope]?.[window]
    if (limit === undefined) return []
    const ids = window === 'inARow' ? inARow : [id]
    return ids.map((id) => limitWindow(windowName(kind, scope, id, window), limit))
  })
}

/**
 * 120 bits of an HMAC. Redis stores a hash compactly only while its field names have at most 64
 * bytes.
 */
const ID_CHARS = 20

function windowName(kind: AttemptKind, scope: Scope, id: string, window: keyof Windows): WindowKey {
  const ids = id === '' ? [] : [id.slice(0, ID_CHARS)]
  return {
    keySuffix: window === 'inARow' ? IN_A_ROW_SUFFIX : '',
    name: [kind, SCOPE_NAMES[scope], ...ids, window].join(':'),
  }
}

/**
 * One of the keys in `known` exists if the device is known, `signedIn` if any device of the login
 * is or was within 90 days.
 */
function deviceKeys(
  { store, nameSigner }: Pick<LimitsDeps, 'store' | 'nameSigner'>,
  { keyName, distinct }: NamedUser,
  client: Client,
) {
  const users = nameSigner.signAll(JSON.stringify(keyName))
  const devices = nameSigner.signAll(JSON.stringify(['device', client.device.id, ...distinct]))
  const knownKey = (user: string, key: number) => keyOf(store, KEYS.knownDevice, user, devices[key] ?? '')
  const [newest, ...former] = users
  const known = [knownKey(newest, 0), ...former.map((user, n) => knownKey(user, n + 1))] as const
  const signedIn = keyOf(store, KEYS.signedIn, newest)
  return { keyPrefix: limitKeyPrefix(store, newest), device: devices[0], known, signedIn }
}

/** Separates users who share a key prefix. Empty for the user whose name is that of the prefix. */
function idIn(nameSigner: Signer, keyName: readonly string[], name: readonly string[]): string {
  return name.join() === keyName.join() ? '' : hmac(nameSigner, ...name)
}

function hmac(nameSigner: Signer, ...parts: string[]): string {
  return nameSigner.sign(JSON.stringify(parts))
}
