import type { UpstreamResponse } from '../upstream/upstream-client.ts'
import { type PagesOptions, readPages } from './lists/pages.ts'
import { isOneSegment } from './pam-user-name.ts'
import { fieldsOf, unreadable } from './upstream/pam-errors.ts'

/** A service user's key, as PAM lists it. Times are by PAM's clock. */
export interface KeyDetails {
  readonly id: string
  /** undefined: it does not expire. */
  readonly expiresAtMs: number | undefined
  /** undefined: it was never used. */
  readonly lastUsedMs: number | undefined
}

export interface KeyDetailsOptions extends Omit<PagesOptions<unknown>, 'limits' | 'parse'> {
  readonly keyId: string
  /** The path of the team, without a slash at the end. */
  readonly teamPath: string
  /** Sends a GET request with a token of the key. @throws PamFailure */
  readonly get: (path: string) => Promise<UpstreamResponse>
}

const LIMITS = { maxPages: 10, maxItems: 1000, maxTotalMs: 30_000, maxLinkHeaderBytes: 16_384 }

/**
 * Finds the key among those of its service user, whose name belongs to the token.
 *
 * @throws PamFailure, such as `forbidden_error`: listing keys may need another role than listing groups
 */
export async function readKeyDetails(options: KeyDetailsOptions): Promise<KeyDetails> {
  const { keyId, teamPath, get } = options
  const name = parseName((await get(`${teamPath}/current_user`)).json)
  const path = `${teamPath}/service_users/${encodeURIComponent(name)}/keys`
  const keys = await readPages(path, get, { ...options, limits: LIMITS, parse: parseKey })
  const own = keys.find(({ id }) => id.toLowerCase() === keyId.toLowerCase())
  if (own === undefined) throw unreadable('the key is not listed')
  return own
}

function parseName(json: unknown): string {
  const { name } = fieldsOf(json)
  if (typeof name !== 'string' || !isOneSegment(name)) throw unreadable('current_user: name')
  return name
}

/** undefined if it is malformed, which matters only for this broker's key. */
function parseKey(data: unknown): KeyDetails | undefined {
  const { id, expires_at, last_used } = fieldsOf(data)
  const expiresAtMs = parseTime(expires_at)
  if (typeof id !== 'string' || Number.isNaN(expiresAtMs)) return undefined
  const lastUsedMs = parseTime(last_used)
  return { id, expiresAtMs, lastUsedMs: Number.isNaN(lastUsedMs) ? undefined : lastUsedMs }
}

/** undefined: null, empty or year 1, which is how the API writes a time that is not set. NaN: not a time. */
function parseTime(value: unknown): number | undefined {
  if (value === null || value === '') return undefined
  const ms = typeof value === 'string' ? Date.parse(value) : Number.NaN
  return ms < 0 ? undefined : ms
}
