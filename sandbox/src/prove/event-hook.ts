import { SENDER } from '../hook-calls.ts'
import { createCaller } from './caller.ts'
import { at, isRecord, type Json, listOf } from './json.ts'
import type { Org, ProofUser } from './org.ts'
import { startRelay } from './relay.ts'
import type { EventHookTarget } from './target.ts'

export interface EventHookOptions {
  readonly org: Pick<Org, 'createEventHook'>
  readonly gatehouseUrl: string
  /** Gatehouse's EVENT_HOOK_SECRET. */
  readonly secret: string
  readonly target: EventHookTarget
  readonly now: () => number
  readonly pause: (ms: number) => Promise<void>
}

/** An event hook of the org, whose deliveries Gatehouse gets. */
export interface EventHook {
  /** Creates the hook at the org, at the first call. */
  listen(): Promise<void>
  /** What was delivered about a user, once there is an event of this type, or it is certain. */
  eventsAbout(user: ProofUser, eventType: string): Promise<readonly Json[]>
  close(): Promise<void>
}

/** The types that Gatehouse is to get (docs/connect-your-okta-org.md, section 10). */
const EVENT_TYPES = [
  'user.lifecycle.suspend',
  'user.account.reset_password',
  'user.account.update_password',
] as const

/** Of Gatehouse. */
const HOOK_PATH = '/hooks/org-events'

/** Passes each delivery on to Gatehouse, and nothing else, and keeps its events. */
export async function startEventHook(options: EventHookOptions): Promise<EventHook> {
  const { org, gatehouseUrl, secret, target, now, pause } = options
  const events: Json[] = []
  const callGatehouse = createCaller({ origin: gatehouseUrl, nextTurn: async () => {}, now })
  const receiver = await startRelay({
    port: target.port,
    async call(request) {
      if (request.path !== HOOK_PATH) throw new Error('not a call of an event hook')
      const headers = { ...request.headers, 'x-forwarded-for': SENDER }
      const reply = await callGatehouse({ ...request, headers })
      if (reply.status < 300) events.push(...listOf(at(request.body, 'data.events')).filter(isRecord))
      return reply
    },
  })
  const uri = (target.url ?? receiver.url) + HOOK_PATH
  let created: Promise<void> | undefined
  return {
    listen() {
      created ??= org.createEventHook({ uri, secret, eventTypes: EVENT_TYPES })
      return created
    },
    async eventsAbout({ id }, eventType) {
      const end = now() + target.waitMs
      const isAbout = ({ target }: Json) => listOf(target).some((each) => at(each, 'id') === id)
      for (;;) {
        const found = events.filter(isAbout)
        if (found.some((event) => event.eventType === eventType) || now() >= end) return found
        await pause(200)
      }
    },
    close: receiver.close,
  }
}
