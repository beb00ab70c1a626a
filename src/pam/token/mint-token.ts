import { z } from 'zod'
import type { UpstreamResponse } from '../../upstream/upstream-client.ts'
import { isSameTeam } from '../upstream/group.ts'
import type { CallContext, PamCall } from '../upstream/pam-call.ts'
import type { PamDeps } from '../upstream/pam-deps.ts'
import { fieldsOf, PamFailure, type PamOutcome, unreadable } from '../upstream/pam-errors.ts'
import type { KeyPauses, PamKey } from './key-pauses.ts'

/** As stored. Times are by the API's clock. */
export const IssuedToken = z.object({ token: z.string(), expiresAtMs: z.number(), lifetimeMs: z.number() })
export type IssuedToken = Readonly<z.output<typeof IssuedToken>>

/**
 * Exchanges a key for a token.
 *
 * @throws PamFailure
 */
export type Mint = (context: CallContext) => Promise<IssuedToken>

export interface MintOptions extends Pick<PamDeps, 'team' | 'clock' | 'log' | 'metrics'> {
  readonly call: PamCall
  /** The current key, then the standby. Called each time, so that a changed file takes effect at once. */
  readonly keys: () => readonly PamKey[]
  readonly pauses: KeyPauses
  /** The path of the token-issuing operation, with the team's name. */
  readonly path: string
}

/** The outcomes that pause a key, with their log event. */
const PAUSES_KEY: Readonly<Partial<Record<PamOutcome, 'pam_key_refused' | 'pam_token_unusable'>>> = {
  authentication_error: 'pam_key_refused',
  forbidden_error: 'pam_key_refused',
  other_team: 'pam_token_unusable',
}

/** Tries the keys in order, and skips paused ones. If none succeeds, it throws the failure of the first key. */
export function createMint(options: MintOptions): Mint {
  const { keys, pauses } = options

  return async function mint(context) {
    let first: PamFailure | undefined
    for (const key of keys()) {
      const pauseReason = await pauses.getPauseReason(key)
      if (pauseReason !== undefined) {
        first ??= new PamFailure(pauseReason, { reason: 'minting is paused' })
        continue
      }
      try {
        const issued = await mintWith(options, key, context)
        await pauses.clear(key)
        return issued
      } catch (error) {
        const failure = await handleFailure(options, error, key, context)
        first ??= failure
      }
    }
    throw first ?? new PamFailure('authentication_error', { reason: 'there is no key' })
  }
}

async function mintWith(options: MintOptions, key: PamKey, context: CallContext): Promise<IssuedToken> {
  const { call, path, team, clock } = options
  const body = { key_id: key.id, key_secret: key.secret }
  const answer = await call({ path, body, subject: 'token', ...context })
  return parseIssuedToken(answer, team, clock.now())
}

/** Pauses the key and returns the failure if the next key should be tried. Otherwise throws the error again. */
async function handleFailure(
  { pauses, log, metrics }: MintOptions,
  error: unknown,
  key: PamKey,
  { requestId }: CallContext,
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
  return { token, expiresAtMs: nowMs + lifetimeMs, lifetimeMs }
}
