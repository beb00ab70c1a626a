import type { Logger } from '../../observability/logger.ts'
import type { Metrics } from '../../observability/metrics.ts'
import type { UpstreamClock } from '../../upstream/answer-headers.ts'
import type { OnAccountOf, PamCall } from '../upstream/pam-call.ts'
import { PamFailure, type PamTrouble } from '../upstream/pam-errors.ts'
import type { KeyPauses, PamKey } from './key-pauses.ts'
import { type IssuedToken, parseIssuedToken } from './token-answer.ts'

export interface MintParts {
  readonly call: PamCall
  readonly clock: UpstreamClock
  /** The current key, then the standby; read each time, so that a changed file counts at once. */
  readonly keys: () => readonly PamKey[]
  readonly pauses: KeyPauses
  /** `PAM_TEAM`; a token for another team is refused. */
  readonly team: string
  /** Of the issuing operation, `{team_name}` filled in. */
  readonly path: string
  readonly maxWaitMs: number
  readonly timeoutMs: number
  readonly log: Logger
  readonly metrics: Metrics
}

/** What pauses a key, and the event that says so. */
const PAUSES_KEY: Readonly<Partial<Record<PamTrouble, 'pam_key_refused' | 'pam_token_unusable'>>> = {
  authentication_error: 'pam_key_refused',
  forbidden_error: 'pam_key_refused',
  other_team: 'pam_token_unusable',
}

/** Exchanges a key for a token: tries the keys in turn, without those that are paused. Throws `PamFailure`. */
export function createMint(parts: MintParts): (account: OnAccountOf) => Promise<IssuedToken> {
  const { call, clock, keys, pauses, team, path, maxWaitMs, timeoutMs, log, metrics } = parts

  return async function mint(account) {
    let first: PamFailure | undefined
    for (const key of keys()) {
      const pausedBy = await pauses.pausedBy(key)
      if (pausedBy !== undefined) {
        first ??= new PamFailure(pausedBy, { reason: 'minting is paused' })
        continue
      }
      try {
        const issued = await mintWith(key, account)
        await pauses.accept(key)
        return issued
      } catch (error) {
        const failure = await pauseAfter(error, key, account)
        first ??= failure
      }
    }
    throw first ?? new PamFailure('authentication_error', { reason: 'there is no key' })
  }

  async function mintWith(key: PamKey, account: OnAccountOf): Promise<IssuedToken> {
    const answer = await call({
      method: 'POST',
      path,
      headers: { 'Content-Type': 'application/json' },
      body: { key_id: key.id, key_secret: key.secret },
      subject: 'token',
      ...account,
      budget: { leftMs: maxWaitMs },
      timeoutMs,
    })
    return parseIssuedToken(answer, team, clock.now())
  }

  /** Throws the error again unless it is the key's. */
  async function pauseAfter(error: unknown, key: PamKey, { requestId }: OnAccountOf): Promise<PamFailure> {
    const event = error instanceof PamFailure ? PAUSES_KEY[error.trouble] : undefined
    metrics.pamTokens.inc({ outcome: event === 'pam_key_refused' ? 'refused' : 'failed' })
    if (!(error instanceof PamFailure)) throw error
    const { trouble } = error
    if (trouble === 'other_team' || trouble === 'unreadable') metrics.pamErrors.inc({ name: trouble })
    if (trouble === 'unreadable')
      log.error('pam_token_unusable', { requestId, upstream: 'pam', name: trouble }, error)
    if (event === undefined) throw error
    const retryAfterSeconds = Math.ceil((await pauses.pause(key, trouble)) / 1000)
    log.error(event, { requestId, upstream: 'pam', name: trouble, retryAfterSeconds })
    return error
  }
}
