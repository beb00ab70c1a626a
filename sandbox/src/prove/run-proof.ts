import { randomBytes } from 'node:crypto'
import { createAuthnClient } from './authn.ts'
import { createCaller, RateLimitReached } from './caller.ts'
import {
  type Check,
  type CheckResult,
  NEEDS,
  type Need,
  notTestable,
  resultOf,
  type Seen,
  unclear,
} from './check.ts'
import type { Context } from './context.ts'
import { startEventHook } from './event-hook.ts'
import { startGatehouse } from './gatehouse.ts'
import { NotTestable } from './not-testable.ts'
import { createOrgClient } from './org.ts'
import type { Journal } from './owned-objects.ts'
import { createPace, createPhoneTurn } from './pace.ts'
import { openPortal } from './portal.ts'
import { createPseudonyms, type Pseudonyms } from './pseudonyms.ts'
import { createRecordings, type Recordings } from './recordings.ts'
import type { RunReport } from './report.ts'
import type { Target } from './target.ts'

export interface ProofOptions {
  readonly target: Target
  readonly checks: readonly Check[]
  readonly journal: Journal
  readonly isSandbox: boolean
  onResult(result: CheckResult): void
  readonly now: () => number
  /** Rejects if the signal is aborted meanwhile. */
  readonly pause: (ms: number, signal?: AbortSignal) => Promise<void>
  readonly signal: AbortSignal
}

export interface Proof {
  readonly report: RunReport
  readonly recordings: Recordings
  readonly pseudonyms: Pseudonyms
}

/** Mail to it goes nowhere (RFC 2606), and without --mail-domain none is asked for. */
const NO_MAIL_DOMAIN = 'example.com'

/**
 * Runs the checks one after the other, and deletes whatever they created, however they end. Checks
 * after an abort, or after the org's limit is used up, are not run.
 */
export async function runProof(options: ProofOptions): Promise<Proof> {
  const { target, checks, journal, now, signal, isSandbox, onResult } = options
  const pseudonyms = createPseudonyms(target.orgUrl)
  learnTarget(pseudonyms, target)
  const recordings = createRecordings(pseudonyms)
  let current = 'start'
  let isCleaningUp = false
  const pause = (ms: number) => options.pause(ms, isCleaningUp ? undefined : signal)
  const pace = createPace({ callsPerMinute: target.callsPerMinute, now, pause })
  const nextTurn = async () => {
    if (!isCleaningUp) signal.throwIfAborted()
    await pace.nextTurn()
  }
  const call = createCaller({
    origin: target.orgUrl,
    nextTurn,
    now,
    onExchange: (exchange) => recordings.add(current, exchange),
  })
  const pam = createCaller({
    origin: target.pam?.url ?? target.orgUrl,
    nextTurn,
    now,
    onExchange: ({ reply }) => pseudonyms.learnFrom(reply.data),
  })
  const unique = () => randomBytes(16).toString('hex')
  const org = createOrgClient({
    call,
    apiToken: target.apiToken,
    run: randomBytes(4).toString('hex'),
    mailDomain: target.mailDomain ?? NO_MAIL_DOMAIN,
    journal,
    // has no part of the names of its users: many password policies want that
    password: () => `Xy7-${randomBytes(12).toString('hex')}`,
    now,
    pause,
    settleMs: target.settleMs,
  })
  const apiToken = target.brokerToken ?? target.apiToken
  const authn = createAuthnClient({ call, apiToken })
  const results: CheckResult[] = []
  let stopped: string | undefined
  let engine: Context['engine'] = 'classic'
  const closers: (() => Promise<void>)[] = []
  try {
    await org.requireToken(target.apiToken, 'PROVE_API_TOKEN')
    if (target.brokerToken !== undefined) await org.requireToken(target.brokerToken, 'PROVE_BROKER_TOKEN')
    const hookSecret = unique()
    const gatehouse = await startGatehouse({
      orgUrl: target.orgUrl,
      apiToken,
      portalOrigin: target.portalOrigin,
      pam: target.pam,
      recoveryAnswerMs: target.recoveryAnswerMs,
      hookSecret,
      call,
      room: pace.room,
    })
    closers.push(gatehouse.close)
    const eventHook =
      target.eventHook &&
      (await startEventHook({
        org,
        gatehouseUrl: gatehouse.url,
        secret: hookSecret,
        target: target.eventHook,
        now,
        pause,
      }))
    if (eventHook !== undefined) closers.push(eventHook.close)
    engine = (await org.pipeline()) === 'idx' ? 'identity' : 'classic'
    const context: Context = {
      target,
      org,
      authn,
      openPortal: () => openPortal(gatehouse),
      eventHook,
      wait: () => pause(target.pollMs),
      phoneTurn: createPhoneTurn({ gapMs: target.phoneGapMs, now, pause }),
      pam,
      engine,
      once: createOnce(),
      unique,
      now,
    }
    for (const check of checks) {
      current = check.id
      const startedAt = performance.now()
      const seen = await look(check, context, signal)
      const ms = performance.now() - startedAt
      const result = { check, result: resultOf(seen), seen: pseudonyms.replace(seen.seen), ms }
      results.push(result)
      onResult(result)
    }
  } catch (error) {
    stopped = signal.aborted ? 'it was interrupted' : messageOf(error)
  }
  isCleaningUp = true
  const left = await org.deleteAll()
  const moved = await org.movedPolicies()
  for (const close of closers.toReversed()) await close()
  return { report: { results, engine, isSandbox, stopped, left, moved }, recordings, pseudonyms }
}

function createOnce(): Context['once'] {
  const found = new Map<string, Promise<boolean>>()
  return (what, find) => {
    const known = found.get(what) ?? find()
    found.set(what, known)
    return known
  }
}

/** A failure of one check is no failure of the run, unless the org has no calls left. */
async function look(check: Check, context: Context, signal: AbortSignal): Promise<Seen> {
  const missing = check.needs.find((need) => !isThere(need, context))
  if (missing !== undefined) return notTestable(NEEDS[missing])
  try {
    return await check.run(context)
  } catch (error) {
    if (error instanceof NotTestable) return notTestable(error.message)
    if (error instanceof RateLimitReached || signal.aborted) throw error
    return unclear(messageOf(error))
  }
}

function isThere(need: Need, { target, engine }: Context): boolean {
  switch (need) {
    case 'mail':
      return target.mailDomain !== undefined
    case 'phone':
      return target.phone !== undefined
    case 'inbox':
    case 'person':
      return target.person !== undefined
    case 'portal':
      return target.portalOrigin !== undefined
    case 'eventHook':
      return target.eventHook !== undefined
    case 'pam':
      return target.pam !== undefined
    case 'pamUser':
      return target.pam?.user !== undefined
    case 'brokerToken':
      return target.brokerToken !== undefined
    case 'classicEngine':
      return engine === 'classic'
    case 'identityEngine':
      return engine === 'identity'
  }
}

function learnTarget(
  pseudonyms: Pseudonyms,
  { apiToken, brokerToken, pam, phone, mailDomain, portalOrigin, eventHook }: Target,
) {
  for (const token of [apiToken, brokerToken]) if (token !== undefined) pseudonyms.learn('token', token)
  for (const secret of [pam?.keyId, pam?.keySecret, pam?.team, pam?.user, mailDomain])
    if (secret !== undefined) pseudonyms.learn('secret', secret)
  if (pam !== undefined) pseudonyms.learn('secret', new URL(pam.url).host)
  if (portalOrigin !== undefined) pseudonyms.learn('secret', new URL(portalOrigin).host)
  if (eventHook?.url !== undefined) pseudonyms.learn('secret', new URL(eventHook.url).host)
  if (phone !== undefined) pseudonyms.learn('phone', phone)
}

function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown error'
  const { cause } = error
  return cause instanceof Error ? `${error.message}: ${cause.message}` : error.message
}
