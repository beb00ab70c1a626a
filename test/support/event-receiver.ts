import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'
import { beforeEach } from '@jest/globals'
import type { Sandbox } from 'gatehouse-sandbox/sandbox'
import { useFixture } from './fixture.ts'

/** The part of an event that tests read. */
interface ReceivedEvent {
  readonly uuid: string
  readonly published: string
  readonly eventType: string
}

/** A receiver of event hooks. */
export interface EventReceiver {
  readonly address: { readonly url: string; readonly secret: string }
  readonly deliveries: readonly {
    readonly headers: IncomingHttpHeaders
    readonly body: { readonly data: { readonly events: readonly ReceivedEvent[] } }
  }[]
  readonly verifications: readonly IncomingHttpHeaders[]
  /** The types of the received events, in order. */
  eventTypes(): (string | undefined)[]
  /** Answers the next deliveries so, then with 204. */
  answerWith(...answers: readonly ReceiverAnswer[]): void
  /** The body of the answers to verifications. Default: the challenge, as Okta wants it. */
  verifyWith(body?: string): void
  reset(): void
  close(): Promise<void>
}

export type ReceiverAnswer = number | 'never' | 'cut'

/** The receiver of a test file, which gets the events of this sandbox. */
export function useEventReceiver(client: { readonly sandbox: Sandbox }): EventReceiver {
  const receiver = useFixture({
    start: startEventReceiver,
    reset: (started) => started.reset(),
    stop: (started) => started.close(),
  })
  beforeEach(async () => {
    await client.sandbox.eventHook.register(receiver.address)
    receiver.reset() // forgets the verification
  })
  return receiver
}

export async function startEventReceiver(): Promise<EventReceiver> {
  const deliveries: EventReceiver['deliveries'][number][] = []
  const verifications: IncomingHttpHeaders[] = []
  let answers: ReceiverAnswer[] = []
  let verification: string | undefined
  const server = createServer({ keepAliveTimeout: 600_000 }, async (req, res) => {
    const { headers } = req
    if (req.method === 'GET') {
      verifications.push(headers)
      const challenge = headers['x-okta-verification-challenge']
      res.end(verification ?? JSON.stringify({ verification: challenge }))
      return
    }
    deliveries.push({ headers, body: (await json(req)) as EventReceiver['deliveries'][number]['body'] })
    const answer = answers.shift() ?? 204
    if (answer === 'cut') req.socket.destroy()
    else if (answer !== 'never') res.writeHead(answer, { location: '/elsewhere' }).end()
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  return {
    address: {
      url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hooks/org-events`,
      secret: 'event-hook-secret-1-not-a-secret',
    },
    deliveries,
    verifications,
    eventTypes: () => deliveries.map(({ body }) => body.data.events[0]?.eventType),
    answerWith: (...next) => {
      answers = [...next]
    },
    verifyWith: (body) => {
      verification = body
    },
    reset() {
      deliveries.length = 0
      verifications.length = 0
      answers = []
      verification = undefined
    },
    async close() {
      server.close()
      server.closeAllConnections()
      await once(server, 'close')
    },
  }
}
