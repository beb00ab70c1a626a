import type { Request, RequestHandler } from 'express'
import { type CannedResponse, type StartTimer, sendFault, waitUnlessClosed } from './fault-responses.ts'
import { type FaultRule, type ParsedFaultRule, parseFaultRule } from './fault-rules.ts'

export type Faults = {
  /** Puts this rule, or this list of rules, in the place of all others. */
  set(rules: FaultRule | readonly FaultRule[]): void
  add(rule: FaultRule): void
  /**
   * From now on requests wait, unanswered, until the function that it returns is called; then they go on to the rules. The
   * call log knows them already: so a test sees that something is under way, and decides when it ends.
   */
  hold(which?: RequestFilter): () => void
  /** No more rules, and whatever is held goes on. */
  clear(): void
  /**
   * Mount it after the call log and the body parser, before the routes.
   * `rateLimited` is how the API at hand says 429; a rule's own body and headers win over it.
   */
  middleware(shapes?: { rateLimited?: (retrySeconds: number) => CannedResponse }): RequestHandler
}

/** All of them, or those of this path (prefix) and method; the first so many. */
export type RequestFilter = Pick<ParsedFaultRule, 'path' | 'method' | 'times'>

/**
 * Faults on request. Rules are tried in the order in which they were added: a `delay`, and an
 * `error-rate` that spares the request, let it go on to the next rule; every other kind answers.
 */
export function createFaults({
  random = seededRandom(1),
  startTimer = startRealTimer,
}: {
  random?: () => number
  startTimer?: StartTimer
} = {}): Faults {
  let rules: { rule: ParsedFaultRule; left: number }[] = []
  let holds: { which: RequestFilter; left: number; gone: Promise<void>; letGo: () => void }[] = []

  function checked(input: FaultRule) {
    const rule = parseFaultRule(input)
    return { rule, left: rule.times ?? Number.POSITIVE_INFINITY }
  }

  return {
    set(input) {
      rules = (Array.isArray(input) ? input : [input]).map((rule: FaultRule) => checked(rule))
    },
    add(input) {
      rules = [...rules, checked(input)]
    },
    hold(which = {}) {
      let resolve = () => {}
      const gone = new Promise<void>((done) => {
        resolve = done
      })
      const letGo = () => {
        holds = holds.filter((one) => one.gone !== gone)
        resolve()
      }
      holds = [...holds, { which, left: which.times ?? Number.POSITIVE_INFINITY, gone, letGo }]
      return letGo
    },
    clear() {
      rules = []
      for (const { letGo } of holds) letGo()
    },
    middleware({ rateLimited = plainRateLimited } = {}) {
      return async function injectFaults(req, res, next) {
        for (const hold of holds) {
          if (hold.left <= 0 || !matches(hold.which, req)) continue
          hold.left -= 1
          await hold.gone
          if (req.socket.destroyed) return
        }
        for (const entry of rules) {
          if (entry.left <= 0 || !matches(entry.rule, req)) continue
          if (entry.rule.kind === 'error-rate' && random() >= entry.rule.share) continue
          entry.left -= 1
          if (entry.rule.kind !== 'delay') return sendFault(entry.rule, { req, res, rateLimited, startTimer })
          if (!(await waitUnlessClosed(entry.rule.ms, res, startTimer))) return
        }
        next()
      }
    },
  }
}

/** A small generator (mulberry32): the same seed gives the same run of numbers in 0..1. */
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

function plainRateLimited(retrySeconds: number): CannedResponse {
  return { status: 429, headers: { 'Retry-After': String(Math.ceil(retrySeconds)) }, body: {} }
}

function startRealTimer(ring: () => void, ms: number): () => void {
  const timer = setTimeout(ring, ms)
  return () => clearTimeout(timer)
}
