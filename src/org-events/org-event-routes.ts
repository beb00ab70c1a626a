import type { Request } from 'express'
import type { createCallLimits } from '../bearer-auth/call-limits.ts'
import { isSameSecret } from '../crypto/same-secret.ts'
import { invalidField, notFound, wrongHookSecret } from '../errors.ts'
import { createBodyReader } from '../http/body-parser.ts'
import { addressForLimits, getRequestContext, type RequestContext } from '../http/request-context.ts'
import { type Operations, type Route, routesOf } from '../http/route.ts'
import { sendJson } from '../http/send-json.ts'
import { createLogThrottle } from '../observability/log-throttle.ts'
import type { Logger } from '../observability/logger.ts'
import type { Metrics } from '../observability/metrics.ts'
import type { ApplyOrgEvents } from './apply-org-events.ts'
import { Delivery, readDelivery, type UnreadableEvent } from './org-events.ts'

const PATH = '/hooks/org-events'
const MAX_BODY_BYTES = 1_048_576

export const ORG_EVENT_OPERATIONS = {
  verifyEventHook: { method: 'GET', path: PATH, withoutHead: true, kind: 'open' },
  receiveOrgEvents: { method: 'POST', path: PATH, kind: 'event-hook', body: Delivery },
} as const satisfies Operations

export interface OrgEventRoutesOptions {
  /**
   * Each is accepted, so that a rotation refuses no delivery. undefined: there are no event hooks.
   */
  readonly secrets: readonly string[] | undefined
  readonly applyEvents: ApplyOrgEvents
  readonly limits: ReturnType<typeof createCallLimits<keyof typeof EVENT_HOOK_LIMITS>>
  readonly log: Logger
  readonly metrics: Metrics
  readonly now: () => number
}

/**
 * Okta's event hooks. Okta waits for three seconds, repeats a delivery at most once, and not at all
 * after a 4xx: whatever is in a delivery with the right secret, only a body that is none gets a
 * 4xx.
 */
export function createOrgEventRoutes(options: OrgEventRoutesOptions): Route[] {
  const { applyEvents, metrics, now } = options
  const readBody = createBodyReader(MAX_BODY_BYTES) // not before the secret is checked
  const report = createUnreadableReport(options)

  return routesOf(ORG_EVENT_OPERATIONS, {
    async verifyEventHook(req, res) {
      await checkSecret(options, req)
      const challenge = req.headers['x-okta-verification-challenge']
      if (typeof challenge !== 'string' || !/^[\x21-\x7e]{1,1000}$/.test(challenge))
        throw invalidField('X-Okta-Verification-Challenge: missing, or not visible ASCII')
      sendJson(res, { verification: challenge })
    },

    async receiveOrgEvents(req, res) {
      await checkSecret(options, req)
      const { events, unreadable, ignored } = readDelivery(await readBody(req, res), now())
      const context = getRequestContext(req)
      metrics.orgEvents.inc({ result: 'ignored' }, ignored)
      for (const event of unreadable) report(event, context)
      const clearAway = await applyEvents(events, context)
      res.status(204).end()
      clearAway()
    },
  })
}

const MINUTE_MS = 60_000

/** One line a minute for each type and parts. */
function createUnreadableReport({ log, metrics, now }: OrgEventRoutesOptions) {
  const mayLog = createLogThrottle({ periodMs: MINUTE_MS, now })
  return ({ type: operation, parts }: UnreadableEvent, { requestId }: RequestContext): void => {
    metrics.orgEvents.inc({ result: 'unreadable' })
    const reason = parts.join(' ')
    const count = mayLog(`${operation} ${reason}`)
    if (count > 0) log.warn('org_event_unreadable', { requestId, operation, reason, count })
  }
}

/** docs/configuration.md#limits has the reason. The right secret is neither counted nor refused. */
export const EVENT_HOOK_LIMITS = { event_hook_address: { attempts: 20, perSeconds: 600 } } as const

async function checkSecret(options: OrgEventRoutesOptions, req: Request): Promise<void> {
  const { secrets, limits, log, metrics } = options
  if (secrets === undefined) throw notFound('path')
  const given = req.headers.authorization ?? ''
  // compares all: constant time
  if (secrets.map((secret) => isSameSecret(given, secret)).includes(true)) return
  const { requestId, address } = getRequestContext(req)
  metrics.requestsRefused.inc({ reason: 'event_hook_secret' })
  await limits.count('event_hook_address', addressForLimits(address))
  const refusal = wrongHookSecret()
  const { status, code: errorCode } = refusal
  log.audit('event_hook_refused', { requestId, address, status, errorCode })
  throw refusal
}
