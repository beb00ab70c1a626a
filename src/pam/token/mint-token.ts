import { z } from 'zod'
import { fieldsOf, type UpstreamResponse } from '../../upstream/http-api.ts'
import { isSameTeam } from '../upstream/group.ts'
import type { CallContext, PamCall } from '../upstream/pam-call.ts'
import type { PamDeps } from '../upstream/pam-deps.ts'
import { isPamOutcome, PamFailure, type PamOutcome, unreadable } from '../upstream/pam-errors.ts'

/** A service user's key, as the token request contains it. */
export interface PamKey {
  readonly id: string
  readonly secret: string
}

/** As stored. Times are by the API's clock. */
export const IssuedToken = z.object({
  version: z.literal(1),
  token: z.string(),
  expiresAtMs: z.number(),
  lifetimeMs: z.number(),
})
export type IssuedToken = Readonly<z.output<typeof IssuedToken>>

/**
 * `replacement`: PAM has refused the token in use. Such tokens have their own limit, so the first
 * refusal is never an error.
 */
export type MintPurpose = 'first or next' | 'replacement'

export interface MintOptions extends PamDeps {
  readonly call: PamCall
  readonly key: PamKey
  /** The path of the token-issuing operation, with the team's name. */
  readonly path: string
}

/** Over all replicas. PAM may refuse a lookup with every token; then a new one does not help. */
export const MINT_EVERY_MS = 10_000
const [MIN_PAUSE_MS, MAX_PAUSE_MS] = [60_000, 15 * 60_000] as const

/** The outcomes that pause a key for a growing time, with their log event. */
const PAUSES_KEY: Readonly<Partial<Record<PamOutcome, 'pam_key_refused' | 'pam_token_unusable'>>> = {
  authentication_error: 'pam_key_refused',
  forbidden_error: 'pam_key_refused',
  other_team: 'pam_token_unusable',
}

/** Nothing was issued or refused. PAM has said when to try again, or has not answered. */
const NOT_COUNTED: ReadonlySet<PamOutcome> = new Set(['too_many_requests', 'held_back', 'no_answer'])

/**
 * The limits and the pauses apply to this id and secret on all replicas, so a replica that starts
 * with another key mints at once.
 */
export function createMint(options: MintOptions) {
  const { call, key, path, team, store, clock, log, metrics } = options
  const keyOf = (name: string) => options.keyOf('pamKeyPause', [name, key.id, key.secret])
  const pausedKey = keyOf('paused')
  const lastPauseKey = keyOf('last pause')

  async function handleFailure(error: PamFailure, { requestId }: CallContext): Promise<void> {
    const { outcome: name } = error
    const fields = { requestId, upstream: 'pam', name } as const
    const event = PAUSES_KEY[name]
    metrics.pamTokens.inc({ outcome: event === 'pam_key_refused' ? 'refused' : 'failed' })
    if (name === 'other_team' || name === 'unreadable') metrics.pamErrors.inc({ name })
    if (name === 'unreadable') log.error('pam_token_unusable', fields, error)
    if (NOT_COUNTED.has(name)) return
    const pauseMs = event === undefined ? MINT_EVERY_MS : await growPause(store, lastPauseKey)
    await store.set(pausedKey, name, pauseMs)
    if (event !== undefined) log.error(event, { ...fields, retryAfterSeconds: Math.ceil(pauseMs / 1000) })
  }

  /**
   * Exchanges a key for a token. undefined: less than 10 s ago, a token was issued for the same
   * purpose.
   *
   * @throws PamFailure; while the key is paused, the failure that paused it
   */
  return async (context: CallContext, purpose: MintPurpose): Promise<IssuedToken | undefined> => {
    const outcome = await store.get(pausedKey)
    if (outcome !== undefined && isPamOutcome(outcome))
      throw new PamFailure(outcome, { reason: 'minting is paused' })
    if ((await store.get(keyOf(purpose))) !== undefined) return undefined
    try {
      const body = { key_id: key.id, key_secret: key.secret }
      const answer = await call({ path, body, subject: 'token', ...context })
      const issued = parseIssuedToken(answer, team, clock.now())
      await store.set(keyOf(purpose), '', MINT_EVERY_MS)
      await store.delete(lastPauseKey)
      return issued
    } catch (error) {
      if (error instanceof PamFailure) await handleFailure(error, context)
      throw error
    }
  }
}

/** The pause grows with each refusal in a row. Returns its length. */
async function growPause(store: PamDeps['store'], lastPauseKey: string): Promise<number> {
  const lastMs = Number((await store.get(lastPauseKey)) ?? 0)
  const pauseMs = Math.min(Math.max(lastMs * 2, MIN_PAUSE_MS), MAX_PAUSE_MS)
  // the next refusal reads it
  await store.set(lastPauseKey, String(pauseMs), pauseMs + MAX_PAUSE_MS)
  return pauseMs
}

/** If `expires_at` is missing, unreadable or past. A token that PAM refuses earlier is replaced. */
const DEFAULT_LIFETIME_MS = 60_000
/** The visible characters of a header field's value (RFC 9110, section 5.5). */
const BEARER = /^[\x21-\x7e]{1,8192}$/

/** `nowMs` is by the API's clock. */
export function parseIssuedToken({ json }: UpstreamResponse, team: string, nowMs: number): IssuedToken {
  const { bearer_token: token, team_name, expires_at } = fieldsOf(json)
  if (typeof token !== 'string' || !BEARER.test(token)) throw unreadable('bearer_token')
  if (typeof team_name !== 'string' || !isSameTeam(team_name, team)) throw new PamFailure('other_team')
  const expiresAtMs = typeof expires_at === 'string' ? Date.parse(expires_at) : Number.NaN
  const lifetimeMs = expiresAtMs > nowMs ? expiresAtMs - nowMs : DEFAULT_LIFETIME_MS
  return { version: 1, token, expiresAtMs: nowMs + lifetimeMs, lifetimeMs }
}
