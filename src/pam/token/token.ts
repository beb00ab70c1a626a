import type { Logger } from '../../observability/logger.ts'
import type { Metrics } from '../../observability/metrics.ts'
import type { UpstreamClock } from '../../upstream/answer-headers.ts'
import type { SealedRecords } from '../shared/sealed-records.ts'
import type { SharedFlight } from '../shared/shared-flight.ts'
import type { OnAccountOf } from '../upstream/pam-call.ts'
import type { MintLimit } from './mint-limit.ts'
import { type IssuedToken, parseStoredToken } from './token-answer.ts'

/**
 * The bearer token of the service user: from memory, else from the store, else minted, once over all replicas. It is
 * renewed in the background before it ends; the old one serves meanwhile, also when that fails (DESIGN §6).
 */
export interface PamToken {
  /** `limit` may refuse to have a token minted for this caller, or to give it one that exists. */
  get(account: OnAccountOf, limit: Pick<MintLimit, 'claim' | 'release'>): Promise<string>
  /** Forgets that very token, here and in the store; a newer one stays. */
  forget(token: string): Promise<void>
  stop(): void
}

export interface PamTokenTunables {
  readonly refreshBeforeMs: number
  readonly refreshBeforeShare: number
  /** By chance a refresh comes earlier by up to this share of the time that it has. */
  readonly jitterShare: number
}

export interface PamTokenParts {
  readonly mint: (account: OnAccountOf) => Promise<IssuedToken>
  readonly clock: UpstreamClock
  readonly records: SealedRecords
  readonly flights: SharedFlight<HeldToken>
  /** Names the token in the store, with the API it is for. */
  readonly name: string
  readonly tunables: PamTokenTunables
  readonly monotonic: () => number
  readonly random: () => number
  readonly log: Logger
  readonly metrics: Metrics
}

/** A token in this process's memory. Times are the API's. */
export interface HeldToken extends IssuedToken {
  /** From here on it is renewed in the background. */
  readonly softEndMs: number
}

/** After a refresh that failed. */
const REFRESH_AGAIN_MS = 15_000
/** Node's timers hold no more than 2^31 ms; looking once an hour costs nothing. */
const LONGEST_TIMER_MS = 3_600_000
/** Refused tokens that may still lie in a store that was away when we forgot them. */
const FORGOTTEN_KEPT = 16

export function createPamToken(parts: PamTokenParts): PamToken {
  const { mint, clock, records, flights, name, tunables, monotonic, random, log, metrics } = parts
  const lockKey = () => records.keyBeside('lock:pam-token', name)
  const forgotten: string[] = []
  let held: HeldToken | undefined
  let refreshNotBefore = Number.NEGATIVE_INFINITY
  let timer: NodeJS.Timeout | undefined
  let stopped = false

  return {
    async get({ background, requestId }, limit) {
      if (held !== undefined && isAlive(held)) {
        if (isDue(held)) refreshSoon(held, requestId)
        const { token } = held
        await limit.claim('send')
        return token
      }
      held = undefined
      const found = await readStored('foreground')
      if (found !== undefined) {
        const { token } = hold(found)
        await limit.claim('send')
        return token
      }
      await limit.claim('mint')
      try {
        const got = await flights.run(lockKey(), {
          background,
          read: () => readStored('foreground'),
          fetch: () => mintAndShare({ background, requestId }),
        })
        return hold(got).token
      } catch (error) {
        await limit.release()
        throw error
      }
    },

    async forget(token) {
      if (held?.token === token) held = undefined
      if (!forgotten.includes(token)) {
        forgotten.unshift(token)
        forgotten.length = Math.min(forgotten.length, FORGOTTEN_KEPT)
        metrics.pamTokens.inc({ outcome: 'forgotten' })
      }
      try {
        const record = await records.read(name, parseStoredToken)
        if (record?.value.token === token) await records.removeIf(record)
      } catch {
        // The store is away: `forgotten` keeps us from taking it up again.
      }
    },

    stop() {
      stopped = true
      clearTimeout(timer)
    },
  }

  /** Before the first answer the API's time is not known: a token from the store is taken, for it leaves the store at its end. */
  function isAlive({ expiresAtMs }: HeldToken): boolean {
    return !clock.isSet() || clock.now() < expiresAtMs
  }

  function isDue({ softEndMs }: HeldToken): boolean {
    return clock.isSet() && clock.now() >= softEndMs
  }

  function hold(token: HeldToken): HeldToken {
    if (held?.token === token.token || forgotten.includes(token.token)) return held ?? token
    held = token
    arm(token.softEndMs - clock.now())
    return token
  }

  function arm(delayMs: number): void {
    clearTimeout(timer)
    if (stopped) return
    const tick = () => {
      if (held === undefined) return
      if (isDue(held)) refreshSoon(held)
      else arm(held.softEndMs - clock.now())
    }
    timer = setTimeout(tick, Math.min(Math.max(delayMs, 1000), LONGEST_TIMER_MS))
    timer.unref()
  }

  function refreshSoon(old: HeldToken, requestId?: string): void {
    if (stopped || monotonic() < refreshNotBefore) return
    refreshNotBefore = monotonic() + REFRESH_AGAIN_MS
    refresh(old, { background: true, requestId }).catch((error: unknown) => {
      metrics.pamTokens.inc({ outcome: 'refresh_failed' })
      log.warn('pam_token_refresh_failed', { requestId, upstream: 'pam' }, error)
      if (held !== undefined) arm(REFRESH_AGAIN_MS)
    })
  }

  async function refresh(old: HeldToken, account: OnAccountOf): Promise<void> {
    const newer = async () => {
      const found = await readStored('background')
      return found !== undefined && found.expiresAtMs > old.expiresAtMs ? found : undefined
    }
    const fetch = () => mintAndShare(account)
    const token = (await newer()) ?? (await flights.run(lockKey(), { background: true, read: newer, fetch }))
    if (held === undefined || held.token === old.token) hold(token)
    refreshNotBefore = Number.NEGATIVE_INFINITY
  }

  async function readStored(by: 'foreground' | 'background'): Promise<HeldToken | undefined> {
    let issued: IssuedToken | undefined
    try {
      issued = (await records.read(name, parseStoredToken))?.value
    } catch {
      return undefined // the store is away: each process mints its own
    }
    if (issued === undefined || forgotten.includes(issued.token)) return undefined
    const token = withSoftEnd(issued)
    if (!isAlive(token)) return undefined
    if (by === 'foreground') metrics.pamTokens.inc({ outcome: 'shared' })
    return token
  }

  async function mintAndShare(account: OnAccountOf): Promise<HeldToken> {
    const issued = await mint(account)
    const { background, requestId } = account
    metrics.pamTokens.inc({ outcome: background ? 'refreshed' : 'minted' })
    log.info('pam_token_minted', { requestId, upstream: 'pam', lifetimeMs: issued.lifetimeMs })
    try {
      await records.write(name, JSON.stringify(issued), issued.expiresAtMs - clock.now())
    } catch {
      // The store is away: the token serves this process alone.
    }
    return withSoftEnd(issued)
  }

  function withSoftEnd(issued: IssuedToken): HeldToken {
    const before = Math.min(tunables.refreshBeforeMs, issued.lifetimeMs * tunables.refreshBeforeShare)
    return { ...issued, softEndMs: issued.expiresAtMs - before * (1 + random() * tunables.jitterShare) }
  }
}
