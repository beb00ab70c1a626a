import { randomUUID } from 'node:crypto'
import type { Metrics } from '../observability/metrics.ts'
import type { UpstreamAnswer } from '../upstream/upstream-client.ts'
import type { PamStore } from './impatient-store.ts'
import type { PamClock } from './pam-clock.ts'
import { PamFailure } from './pam-errors.ts'

/**
 * Holds calls back while the API's rate limit is used up. What one replica reads in `X-RateLimit-*` holds for all,
 * through the store; without the store each process goes by what it saw itself. All times are the API's.
 */
export interface RateLimitGate {
  /** Resolves when a call may go out; throws `too_many_requests` when that would take longer than the budget. */
  enter(caller: GateCaller): Promise<GatePass>
  /** Every answer of the API passes here; `limited` when it is a refusal for the limit's sake. */
  observe(answer: Pick<UpstreamAnswer, 'headers'>, limited: boolean): Promise<void>
}

export interface GateCaller {
  /** Background work never waits, and gives way already when the allowance runs low. */
  readonly background: boolean
  /** What this caller may still spend waiting; counted down. */
  readonly budget: { leftMs: number }
}

export interface GatePass {
  /** To be called when the answer was observed, or there was none. */
  leave(): Promise<void>
}

export interface RateLimitGateParts {
  readonly store: PamStore
  readonly clock: PamClock
  /** Of the team, for the keys; keyed hash. */
  readonly scope: () => string
  /** The most that a call is spread over after the allowance is back, in milliseconds. */
  readonly jitterMs: number
  readonly random: () => number
  readonly sleep: (ms: number) => Promise<void>
  readonly metrics: Metrics
}

/** `closed`: used up until then. `low`: what is left until then is for those who wait for an answer. */
interface GateRecord {
  readonly state: 'closed' | 'low'
  readonly untilMs: number
}

/** Below this share of the allowance, background work gives way. */
const LOW_SHARE = 0.1
/** However far away a reset is said to be: nobody is kept out for longer. */
const MAX_CLOSED_MS = 3_600_000
/** A limit that names no time, or one in the past. */
const DEFAULT_CLOSED_MS = 1000
/** A probe that never came back blocks the gate for so long. */
const PROBE_MS = 15_000
const POLL_MS = 50

export function createRateLimitGate(parts: RateLimitGateParts): RateLimitGate {
  const { store, clock, scope, jitterMs, random, sleep, metrics } = parts
  const recordKey = () => `gatehouse:limit:pam:${scope()}`
  const probeKey = () => `gatehouse:limit:pam-probe:${scope()}`
  let local: { record: GateRecord; saved: boolean } | undefined
  let probingHere = false

  return {
    async enter({ background, budget }) {
      const spreadMs = random() * jitterMs
      let waited = false
      for (;;) {
        const record = await current()
        if (record === undefined) return OPEN
        if (record.state === 'low') {
          if (background && clock.now() < record.untilMs)
            throw refuse('gave_way', record.untilMs - clock.now(), background)
          return OPEN
        }
        let waitMs = record.untilMs + spreadMs - clock.now()
        if (waitMs <= 0) {
          const probe = await startProbe()
          if (probe !== undefined) return probe
          waitMs = POLL_MS
        }
        if (background || waitMs > budget.leftMs)
          throw refuse(background ? 'gave_way' : 'refused', waitMs, background)
        if (!waited) metrics.pamGateWaits.inc({ outcome: 'waited' })
        waited = true
        budget.leftMs -= waitMs
        await sleep(waitMs)
      }
    },

    async observe(answer, limited) {
      const next = recordOf(answer, limited, clock.now())
      if (next === undefined) return reopen()
      const known = local?.record
      if (known?.state === next.state && known.untilMs >= next.untilMs) return
      if (known?.state === 'closed' && next.state === 'low' && clock.now() < known.untilMs) return
      await save(next)
    },
  }

  function refuse(outcome: string, waitMs: number, gaveWay: boolean): PamFailure {
    metrics.pamGateWaits.inc({ outcome })
    return new PamFailure('too_many_requests', { retryAfterMs: waitMs, gaveWay })
  }

  async function current(): Promise<GateRecord | undefined> {
    try {
      const record = parseRecord(await store.get(recordKey()))
      if (record !== undefined) local = { record, saved: true }
      else if (local?.saved) local = undefined
    } catch {
      // The store is away: what this process saw itself still holds.
    }
    return local?.record
  }

  async function save(record: GateRecord): Promise<void> {
    local = { record, saved: false }
    const ttlMs = record.untilMs - clock.now() + (record.state === 'closed' ? jitterMs + PROBE_MS : 0)
    try {
      await store.set(recordKey(), JSON.stringify(record), ttlMs)
      local = { record, saved: true }
    } catch {
      // The store is away: the gate is closed for this process alone.
    }
  }

  /** An answer with allowance left opens the gate, unless it was on its way already when the gate was closed. */
  async function reopen(): Promise<void> {
    const record = local?.record
    if (record === undefined || (record.state === 'closed' && clock.now() < record.untilMs)) return
    local = undefined
    try {
      await store.delete(recordKey())
    } catch {
      // The store is away: the record ends by itself.
    }
  }

  /** After the gate's time one call goes first; the others follow when its answer shows allowance. */
  async function startProbe(): Promise<GatePass | undefined> {
    if (probingHere) return undefined
    probingHere = true
    const claim = randomUUID()
    try {
      if (!(await store.set(probeKey(), claim, PROBE_MS, 'absent'))) {
        probingHere = false
        return undefined
      }
    } catch {
      // The store is away: one probe a process.
    }
    metrics.pamGateWaits.inc({ outcome: 'probe' })
    return {
      async leave() {
        probingHere = false
        try {
          await store.deleteIf(probeKey(), claim)
        } catch {
          // The store is away: the claim ends by itself.
        }
      },
    }
  }
}

const OPEN: GatePass = { leave: async () => {} }

/** What an answer says of the allowance; undefined: there is enough of it, or it says nothing. */
function recordOf(
  { headers }: Pick<UpstreamAnswer, 'headers'>,
  limited: boolean,
  nowMs: number,
): GateRecord | undefined {
  const remaining = numberIn(headers['x-ratelimit-remaining'])
  const retryAtMs = secondsIn(headers['x-ratelimit-retry-at'])
  const resetMs = secondsIn(headers['x-ratelimit-reset'])
  if (limited || remaining === 0) {
    const retryAfterSeconds = numberIn(headers['retry-after'])
    const told =
      retryAtMs ?? resetMs ?? (retryAfterSeconds === undefined ? undefined : nowMs + retryAfterSeconds * 1000)
    const untilMs = told === undefined || told <= nowMs ? nowMs + DEFAULT_CLOSED_MS : told
    return { state: 'closed', untilMs: Math.min(untilMs, nowMs + MAX_CLOSED_MS) }
  }
  const limit = numberIn(headers['x-ratelimit-limit'])
  const untilMs = retryAtMs ?? resetMs
  if (remaining === undefined || limit === undefined || untilMs === undefined || untilMs <= nowMs)
    return undefined
  if (remaining > limit * LOW_SHARE) return undefined
  return { state: 'low', untilMs: Math.min(untilMs, nowMs + MAX_CLOSED_MS) }
}

function secondsIn(header: string | string[] | undefined): number | undefined {
  const seconds = numberIn(header)
  return seconds === undefined ? undefined : seconds * 1000
}

function numberIn(header: string | string[] | undefined): number | undefined {
  return typeof header === 'string' && /^\d{1,15}$/.test(header.trim()) ? Number(header) : undefined
}

function parseRecord(text: string | undefined): GateRecord | undefined {
  if (text === undefined) return undefined
  const data: unknown = JSON.parse(text)
  if (typeof data !== 'object' || data === null || !('state' in data) || !('untilMs' in data))
    return undefined
  const { state, untilMs } = data
  if ((state !== 'closed' && state !== 'low') || typeof untilMs !== 'number') return undefined
  return { state, untilMs }
}
