import type { Store } from './store.ts'

/** The default of `REDIS_KEY_PREFIX`. */
export const KEY_PREFIX = 'gatehouse:'

/** One kind of key in Redis. */
export interface KeyKind {
  /**
   * After the prefix of all keys. Each `*` is a name, which consists of letters, digits, `-` and
   * `_`.
   */
  readonly pattern: string
  /** What the names are, in their order. An HMAC shows no reader of Redis whom a key is about. */
  readonly names: readonly string[]
  readonly content: string
  readonly life: string
}

/**
 * Appended to the key of a user's windows: those of 30 days, so that the other key expires sooner.
 */
export const IN_A_ROW_SUFFIX = ':in_a_row'

/**
 * All keys in Redis. A `{…}` is the hash tag: keys with the same one are in the same slot of a
 * cluster, so that one script can use them together. Patterns never change: a replica must find
 * what an older version has written.
 */
export const KEYS = {
  session: {
    pattern: 'sess:*',
    names: ['the id in the cookie, which is of no use without its signature, and a tag of the user'],
    content: 'a session, sealed',
    life: '`SESSION_IDLE_MINUTES` without use, at most `SESSION_ABSOLUTE_HOURS`',
  },
  userSessions: {
    pattern: 'user-sess:*',
    names: ['HMAC of the user id or of the device id'],
    content: 'of a user: a hash of the sessions, sealed. Of a device: its session, sealed',
    life: 'the longest life of a session',
  },
  voidTime: {
    pattern: 'event:void:*',
    names: ['the tag of the user'],
    content: 'older sessions of the user are void: milliseconds since 1970',
    life: 'the longest life of a session',
  },
  orgEvent: {
    pattern: 'event:*',
    names: ['HMAC of the event and the user'],
    content: 'exists if the event of the org has been applied',
    life: '1 day',
  },
  recheck: {
    pattern: 'recheck:*',
    names: ['HMAC of the user id'],
    content: 'exists until the next check of the user is due',
    life: '`SESSION_RECHECK_MINUTES`',
  },
  transaction: {
    pattern: 'txn:{*}',
    names: ['HMAC of the handle'],
    content: 'a transaction, sealed',
    life: 'as at Okta: 5 minutes after the last step, if Okta does not say',
  },
  stepLock: {
    pattern: 'lock:{*}',
    names: ['HMAC of the handle'],
    content: 'the step lock: a random token of its holder',
    life: 'the longest duration of a step',
  },
  sharedResult: {
    pattern: 'lock:{*}:*',
    names: ['as in the step lock', 'HMAC of the step'],
    content: 'the result of the step, for identical requests at other replicas; sealed',
    life: '5 seconds',
  },
  transactionsOfUser: {
    pattern: 'txn:user:*',
    names: ['HMAC of the user id'],
    content: 'a hash of the keys of the user’s open transactions',
    life: 'that of the transactions',
  },
  revocationTime: {
    pattern: 'txn:ended:*',
    names: ['HMAC of the user id'],
    content: 'when all sessions of the user were last ended: milliseconds since 1970',
    life: '1 day',
  },
  importedToken: {
    pattern: 'imported:*',
    names: ['HMAC of the state token'],
    content: 'the name of the transaction that began with this state token of a step-up',
    life: '6 minutes',
  },
  offeredResource: {
    pattern: 'offer:*',
    names: ['HMAC of the device id and the path'],
    content: 'a GET that Okta offered, sealed',
    life: 'that of the transaction',
  },
  ssoToken: {
    pattern: 'sso:*',
    names: ['HMAC of the SSO token'],
    content: 'Okta’s session token, sealed',
    life: '5 minutes',
  },
  handOverCode: {
    pattern: 'handover:*',
    names: ['HMAC of the code'],
    content: 'a hand-over to an application on another host, sealed',
    life: '1 minute',
  },
  limit: {
    pattern: 'limit:{*}',
    names: ['HMAC of the user, address, backend, operator or bound session'],
    content: 'a hash of windows: attempts of this user, address, session or caller',
    life: 'that of the longest window',
  },
  limitInARow: {
    pattern: `limit:{*}${IN_A_ROW_SUFFIX}`,
    names: ['HMAC of the user'],
    content: 'a hash of windows: failures in a row',
    life: '30 days',
  },
  knownDevice: {
    pattern: 'known:{*}:*',
    names: ['HMAC of the user', 'HMAC of the device id and the user'],
    content: 'exists if the device is known for the user',
    life: '90 days',
  },
  signedIn: {
    pattern: 'signed-in:{*}',
    names: ['HMAC of the user'],
    content: 'exists if a user has signed in with this login',
    life: '90 days',
  },
  devicesOfUser: {
    pattern: 'known:user:*',
    names: ['HMAC of the user id'],
    content: 'a hash of the keys of the user’s known devices',
    life: '90 days',
  },
  recoverySent: {
    pattern: 'limit:recovery-sent:*',
    names: ['HMAC of the login and the factor type'],
    content: 'exists during the cooldown between two codes',
    life: '`authn.recovery.resendAfterMs`',
  },
  pamToken: {
    pattern: 'pam-token:*',
    names: ['HMAC of API and team'],
    content: 'the service user’s token, sealed',
    life: 'that of the token',
  },
  pamTokenLock: {
    pattern: 'lock:pam-token:*',
    names: ['HMAC of API and team'],
    content: 'one replica requests a token',
    life: '3 seconds, renewed meanwhile',
  },
  pamKeyPause: {
    pattern: 'limit:pam-key:*',
    names: ['HMAC of API, team, key and purpose'],
    content: 'no token is requested with this key until it expires',
    life: '10 seconds to 15 minutes',
  },
  pamRateLimit: {
    pattern: 'pam-limit:*',
    names: ['HMAC of API and team'],
    content: 'until when PAM’s rate limit is used up: milliseconds since 1970 by PAM’s clock',
    life: 'at most 5 minutes',
  },
  pamGroups: {
    pattern: 'pam-groups:*',
    names: ['HMAC of API, team, list and generations'],
    content: 'a list of groups, or the pages of a read that was interrupted; sealed',
    life: 'the longest age of a list',
  },
  pamGroupsLock: {
    pattern: 'lock:pam-groups:*',
    names: ['HMAC of API, team and list'],
    content: 'one replica reads the list',
    life: '3 seconds, renewed meanwhile',
  },
  pamGeneration: {
    pattern: 'limit:pam-purge:*',
    names: ['HMAC of API, team and list, or of API and team'],
    content: 'the generation of the lists: older ones are not found any more',
    life: '1 day',
  },
  pamTeamPause: {
    pattern: 'limit:pam-team:*',
    names: ['HMAC of API and team'],
    content: 'exists while the team is disabled: no list is read',
    life: '5 minutes',
  },
  keyRegistry: {
    pattern: 'keys',
    names: [],
    content: 'a hash with a sealed value for each of `SECRET_KEYS` in use',
    life: 'the longest life of a session',
  },
  readinessProbe: {
    pattern: 'ping:*',
    names: ['random'],
    content: 'a key of the readiness check, which deletes it',
    life: '10 seconds',
  },
  doctorProbe: {
    pattern: 'doctor:{*}',
    names: ['random'],
    content: 'a key of `--doctor`, which deletes it. A broker that answers at `PUBLIC_URL` reads it',
    life: '10 seconds',
  },
  closing: {
    pattern: 'close',
    names: [],
    content: 'never written: a replica that ends reads it, to wait for the replies to all commands before',
    life: 'none',
  },
} as const satisfies Readonly<Record<string, KeyKind>>

/** One string for each `*`. */
type NamesIn<Pattern extends string> = Pattern extends `${string}*${infer Rest}`
  ? readonly [string, ...NamesIn<Rest>]
  : readonly []

type Prefixed = Pick<Store, 'keyPrefix'>

/** The key of this kind and these names. */
export function keyOf<Pattern extends string>(
  { keyPrefix }: Prefixed,
  { pattern }: { readonly pattern: Pattern },
  ...names: NamesIn<Pattern>
): string {
  const given: readonly string[] = names
  let next = 0
  return keyPrefix + pattern.replace(/\*/g, () => given[next++] ?? '')
}

/** The start of all keys of this kind, up to the first name. */
export function startOf({ keyPrefix }: Prefixed, { pattern }: KeyKind): string {
  return keyPrefix + pattern.replace(/\*.*$/, '')
}

/**
 * The start of the keys of all windows of one user, address or caller, for the attempt counters.
 */
export const limitKeyPrefix = (store: Prefixed, hmac: string) => keyOf(store, KEYS.limit, hmac)
