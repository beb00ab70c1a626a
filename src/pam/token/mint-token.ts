import { z } from 'zod'
import type { UpstreamResponse } from '../../upstream/upstream-client.ts'
import { isSameTeam } from '../upstream/group.ts'
import type { OnAccountOf, PamCall } from '../upstream/pam-call.ts'
import type { PamDeps } from '../upstream/pam-deps.ts'
import { PamFailure, type PamOutcome } from '../upstream/pam-errors.ts'
import type { KeyPauses, PamKey } from './key-pauses.ts'

/** A token as PAM issued it, and as it is stored. Times are the API's. */
export const IssuedToken = z.object({ token: z.string(), expiresAtMs: z.number(), lifetimeMs: z.number() })
export type IssuedToken = Readonly<z.output<typeof IssuedToken>>

/** Exchanges a key for a token. Throws `PamFailure`. */
export type Mint = (account: OnAccountOf) => Promise<IssuedToken>

export interface MintOptions extends Pick<PamDeps, 'team' | 'clock' | 'tunables' | 'log' | 'metrics'> {
  readonly call: PamCall
  /** The current key, then the standby; read each time, so that a changed file takes effect at once. */
  readonly keys: () => readonly PamKey[]
  readonly pauses: KeyPauses
  /** Of the token-issuing operation, with the team's name in it. */
  readonly path: string
}

/** What pauses a key, and the event that reports it. */
const PAUSES_KEY: Readonly<Partial<Record<PamOutcome, 'pam_key_refused' | 'pam_token_unusable'>>> = {
  authentication_error: 'pam_key_refused',
  forbidden_error: 'pam_key_refused',
  other_team: 'pam_token_unusable',
}

/** Tries the keys in turn, except those that are paused. If none succeeds, the failure of the first is thrown. */
export function createMint(options: MintOptions): Mint {
  const { keys, pauses } = options

  return async function mint(account) {
    let first: PamFailure | undefined
    for (const key of keys()) {
      const pausedBy = await pauses.pausedBy(key)
      if (pausedBy !== undefined) {
        first ??= new PamFailure(pausedBy, { reason: 'minting is paused' })
        continue
      }
      try {
        const issued = await mintWith(options, key, account)
        await pauses.accept(key)
        return issued
      } catch (error) {
        const failure = await pauseAfter(options, error, key, account)
        first ??= failure
      }
    }
    throw first ?? new PamFailure('authentication_error', { reason: 'there is no key' })
  }
}

async function mintWith(options: MintOptions, key: PamKey, account: OnAccountOf): Promise<IssuedToken> {
  const { call, path, team, clock, tunables } = options
  const answer = await call({
    method: 'POST',
    path,
    headers: { 'Content-Type': 'application/json' },
    body: { key_id: key.id, key_secret: key.secret },
    subject: 'token',
    ...account,
    budget: { leftMs: tunables.rateLimit.maxWaitMs },
    timeoutMs: tunables.lists.maxTotalMs,
  })
  return parseIssuedToken(answer, team, clock.now())
}

/** Returns the failure if the next key may be tried, and throws the error again otherwise. */
async function pauseAfter(
  { pauses, log, metrics }: MintOptions,
  error: unknown,
  key: PamKey,
  { requestId }: OnAccountOf,
): Promise<PamFailure> {
  const event = error instanceof PamFailure ? PAUSES_KEY[error.outcome] : undefined
  metrics.pamTokens.inc({ outcome: event === 'pam_key_refused' ? 'refused' : 'failed' })
  if (!(error instanceof PamFailure)) throw error
  const { outcome } = error
  if (outcome === 'other_team' || outcome === 'unreadable') metrics.pamErrors.inc({ name: outcome })
  if (outcome === 'unreadable')
    log.error('pam_token_unusable', { requestId, upstream: 'pam', name: outcome }, error)
  if (event === undefined) throw error
  const retryAfterSeconds = Math.ceil((await pauses.pause(key, outcome)) / 1000)
  log.error(event, { requestId, upstream: 'pam', name: outcome, retryAfterSeconds })
  return error
}

/** If the end is missing, unreadable or past. A token that is refused earlier is minted anew. */
const DEFAULT_LIFETIME_MS = 60_000
/** What an Authorization header may contain (RFC 9110, field-content), without spaces. */
const BEARER = /^[\x21-\x7e]{1,8192}$/

/** Reads the answer of the token-issuing operation; `nowMs` is the API's time of that answer. */
function parseIssuedToken({ json }: UpstreamResponse, team: string, nowMs: number): IssuedToken {
  const fields = typeof json === 'object' && json !== null ? (json as Record<string, unknown>) : {}
  const { bearer_token: token, team_name, expires_at } = fields
  if (typeof token !== 'string' || !BEARER.test(token))
    throw new PamFailure('unreadable', { reason: 'bearer_token' })
  if (typeof team_name !== 'string' || !isSameTeam(team_name, team)) throw new PamFailure('other_team')
  const endMs = typeof expires_at === 'string' ? Date.parse(expires_at) : Number.NaN
  const lifetimeMs = endMs > nowMs ? endMs - nowMs : DEFAULT_LIFETIME_MS
  return { token, expiresAtMs: nowMs + lifetimeMs, lifetimeMs }
}
