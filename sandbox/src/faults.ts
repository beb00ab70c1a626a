import type { Request, RequestHandler } from 'express'
import { type CannedResponse, type StartTimer, sendFault, waitUnlessClosed } from './fault-responses.ts'
import { type FaultRule, type ParsedFaultRule, parseFaultRule } from './fault-rules.ts'

export type Faults = {
  /** Replaces all rules. */
  set(rules: FaultRule | readonly FaultRule[]): void
  add(rule: FaultRule): void
  /**
   * Holds matching requests until the returned function is called; then the rules apply to them.
   * Held requests are already in the request log, so a test can see that a request is in flight and
   * decide when it ends.
   */
  hold(filter?: RequestFilter): () => void
  /** Removes all rules and releases all held requests. */
  clear(): void
  /**
   * Mount it after the request log and the body parser, before the routes.
   * `rateLimited` builds the API's own 429 response; the rule's body and headers override it.
   */
  middleware(options?: { rateLimited?: (retrySeconds: number) => CannedResponse }): RequestHandler
}

/** All requests, or those with this path prefix and method; at most `times` of them. */
export type RequestFilter = Pick<ParsedFaultRule, 'path' | 'method' | 'times'>

/**
 * Injects faults into responses. Rules apply in the order in which they were added. After a
 * `delay`, or an `error-rate` that does not fail this request, the next rule applies. All other
 * kinds send a response.
 */
export function createFaults({
  random = seededRandom(1),
  startTimer = startRealTimer,
}: {
  random?: () => number
  startTimer?: StartTimer
} = {}): Faults {
  let rules: { rule: ParsedFaultRule; remaining: number }[] = []
  let holds: { filter: RequestFilter; remaining: number; released: Promise<void>; release: () => void }[] = []

  function toEntry(input: FaultRule) {
    const rule = parseFaultRule(input)
    return { rule, remaining: rule.times ?? Number.POSITIVE_INFINITY }
  }

  return {
    set(input) {
      rules = (Array.isArray(input) ? input : [input]).map((rule: FaultRule) => toEntry(rule))
    },
    add(input) {
      rules = [...rules, toEntry(input)]
    },
    hold(filter = {}) {
      let resolve = () => {}
      const released = new Promise<void>((onRelease) => {
        resolve = onRelease
      })
      const release = () => {
        holds = holds.filter((hold) => hold.released !== released)
        resolve()
      }
      holds = [...holds, { filter, remaining: filter.times ?? Number.POSITIVE_INFINITY, released, release }]
      return release
    },
    clear() {
      rules = []
      for (const { release } of holds) release()
    },
    middleware({ rateLimited = defaultRateLimited } = {}) {
      return async function injectFaults(req, res, next) {
        for (const hold of holds) {
          if (hold.remaining <= 0 || !matches(hold.filter, req)) continue
          hold.remaining -= 1
          await hold.released
          if (req.socket.destroyed) return
        }
        for (const entry of rules) {
          if (entry.remaining <= 0 || !matches(entry.rule, req)) continue
          if (entry.rule.kind === 'error-rate' && random() >= entry.rule.share) continue
          entry.remaining -= 1
          if (entry.rule.kind !== 'delay') return sendFault(entry.rule, { req, res, rateLimited, startTimer })
          if (!(await waitUnlessClosed(entry.rule.ms, res, startTimer))) return
        }
        next()
      }
    },
  }
}

/** The mulberry32 generator: the same seed gives the same sequence of numbers from 0 to 1. */
export function seededRandom(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}

function matches({ method, path }: RequestFilter, req: Request): boolean {
  return (
    (method === undefined || method === req.method) &&
    (path === undefined || req.originalUrl.startsWith(path))
  )
}

function defaultRateLimited(retrySeconds: number): CannedResponse {
  return { status: 429, headers: { 'Retry-After': String(Math.ceil(retrySeconds)) }, body: {} }
}

function startRealTimer(callback: () => void, ms: number): () => void {
  const timer = setTimeout(callback, ms)
  return () => clearTimeout(timer)
}
