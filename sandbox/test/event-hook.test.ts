import { randomBytes } from 'node:crypto'
import { expect, test } from '@jest/globals'
import { type ReceiverAnswer, useEventReceiver } from 'gatehouse-test-support/event-receiver'
import { createDeliveryFaults } from '../src/delivery-faults.ts'
import { createEventHook, type EventHook } from '../src/event-hook.ts'
import { type DeliveryFaultRule, InvalidFaultRule } from '../src/fault-rules.ts'
import { START, useSandbox } from './authn/sandbox-client.ts'

const client = useSandbox()
const receiver = useEventReceiver(client)

test('a delivery has the shape of Okta’s, with the secret', async () => {
  await client.sandbox.changeLifecycle('amelia.stone', 'suspend')
  const uuid = expect.stringMatching(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
  const person = { id: expect.stringMatching(/^00u\w{17}$/), type: 'User', alternateId: expect.any(String) }
  const time = new Date(START).toISOString()
  expect(receiver.deliveries[0]?.headers).toMatchObject({
    authorization: receiver.address.secret,
    'content-type': 'application/json',
  })
  expect(receiver.deliveries[0]?.body).toEqual({
    eventType: 'com.okta.event_hook',
    eventTypeVersion: '1.0',
    cloudEventsVersion: '0.1',
    source: expect.stringMatching(new RegExp(`^${client.url}/api/v1/eventHooks/who\\w{17}$`)),
    eventId: uuid,
    eventTime: time,
    contentType: 'application/json',
    data: {
      events: [
        {
          uuid,
          published: time,
          eventType: 'user.lifecycle.suspend',
          version: '0',
          severity: 'INFO',
          actor: { ...person, displayName: 'Sandbox Administrator' },
          outcome: { result: 'SUCCESS', reason: null },
          target: [
            {
              ...person,
              id: client.sandbox.user('amelia.stone').id,
              alternateId: 'amelia.stone@example.test',
              displayName: 'Amelia Stone',
            },
          ],
        },
      ],
    },
  })
})

test('an unverified receiver gets no event; each event tries the verification again', async () => {
  const { eventHook } = client.sandbox
  for (const wrong of ['{"verification":"other"}', '{}', 'no JSON']) {
    receiver.verifyWith(wrong)
    await eventHook.register(receiver.address)
  }
  await expect(client.sandbox.changeLifecycle('amelia.stone', 'suspend')).rejects.toThrow(
    'was not sent, because its receiver did not return the challenge: 200',
  )
  expect(receiver.deliveries).toEqual([])
  expect(receiver.verifications).toHaveLength(4)
  expect(receiver.verifications[0]).toMatchObject({ authorization: receiver.address.secret })
  receiver.verifyWith()
  await client.sandbox.changeLifecycle('amelia.stone', 'unsuspend')
  await client.sandbox.changeLifecycle('amelia.stone', 'suspend')
  expect(receiver.eventTypes()).toEqual(['user.lifecycle.unsuspend', 'user.lifecycle.suspend'])
  expect(receiver.verifications).toHaveLength(5)
})

test('an event hook of the management API gets events of its types, between its verification and its end', async () => {
  const manage = async (method: string, path: string, body?: object) => {
    const headers = {
      authorization: `SSWS ${client.sandbox.adminToken}`,
      'content-type': 'application/json',
    }
    const init = { method, headers, ...(body && { body: JSON.stringify(body) }) }
    const response = await fetch(`${client.url}/api/v1/eventHooks${path}`, init)
    return { status: response.status, body: response.status === 204 ? {} : Object(await response.json()) }
  }
  const suspendAndBack = async () => {
    for (const operation of ['suspend', 'unsuspend'] as const)
      await client.sandbox.changeLifecycle('amelia.stone', operation)
  }
  const authScheme = { type: 'HEADER', key: 'authorization', value: 'the secret of the second hook' }
  const { body: hook } = await manage('POST', '', {
    name: 'second',
    events: { type: 'EVENT_TYPE', items: ['user.lifecycle.suspend'] },
    channel: { type: 'HTTP', version: '1.0.0', config: { uri: receiver.address.url, authScheme } },
  })
  await suspendAndBack()
  expect((await manage('POST', `/${hook.id}/lifecycle/verify`)).body.verificationStatus).toBe('VERIFIED')
  await suspendAndBack()
  expect((await manage('DELETE', `/${hook.id}`)).status).toBe(400)
  expect((await manage('POST', `/${hook.id}/lifecycle/deactivate`)).body.status).toBe('INACTIVE')
  await suspendAndBack()
  const ofSecond = receiver.deliveries.filter(({ headers }) => headers.authorization === authScheme.value)
  expect(ofSecond.map(({ body }) => body.data.events[0]?.eventType)).toEqual(['user.lifecycle.suspend'])
  expect((await manage('DELETE', `/${hook.id}`)).status).toBe(204)
  expect((await manage('GET', '')).body).toEqual([])
})

type Attempts = EventHook['calls'][number]['answers']
const listed = <One>(text: string) => text.split(',').map((one) => Number(one) || one) as One
test.each([
  ['204', '204'],
  ['200', '200'],
  ['400', '400'],
  ['401,204', '401'],
  ['307,204', '307'],
  ['500,204', '500,204'],
  ['503,503,204', '503,503'],
  ['cut,204', 'no connection,204'],
  ['never,never,204', 'timeout,timeout'],
])('a receiver that answers %s: the attempts end with %s', async (answers, ends) => {
  const attempts = listed<Attempts>(ends)
  const hook = createEventHook({
    now: client.now,
    random: randomBytes,
    originOf: () => client.url,
    faults: createDeliveryFaults(),
    timeoutMs: answers.includes('never') ? 1000 : 60_000,
  })
  await hook.register(receiver.address)
  receiver.answerWith(...listed<ReceiverAnswer[]>(answers))
  await hook.send('user.session.clear', client.sandbox.user('amelia.stone'))
  expect(hook.calls.at(-1)).toEqual({ at: START, eventType: 'user.session.clear', answers: attempts })
  expect(receiver.deliveries).toHaveLength(attempts.length)
})

const SUSPEND = 'user.lifecycle.suspend'
const UNSUSPEND = 'user.lifecycle.unsuspend'
const CLEAR = 'user.session.clear'
test.each<[rules: DeliveryFaultRule[], delivered: string[]]>([
  [[], [SUSPEND, UNSUSPEND, CLEAR]],
  [[{ kind: 'silence', times: 2 }], [CLEAR]],
  [[{ kind: 'silence' }], []],
  [[{ kind: 'late', ms: 3_600_000, times: 1 }], [UNSUSPEND, CLEAR]],
  [[{ kind: 'twice', times: 1 }], [SUSPEND, SUSPEND, UNSUSPEND, CLEAR]],
  [[{ kind: 'out-of-order', times: 1 }], [UNSUSPEND, SUSPEND, CLEAR]],
  [[{ kind: 'out-of-order' }], [UNSUSPEND, SUSPEND]],
  [
    [{ kind: 'silence', times: 1 }, { kind: 'twice' }],
    [UNSUSPEND, UNSUSPEND, CLEAR, CLEAR],
  ],
])('with the faults %j, three events are delivered as %j', async (rules, delivered) => {
  const { sandbox } = client
  sandbox.faults.events.set(rules)
  for (const operation of ['suspend', 'unsuspend', 'clear_sessions'] as const)
    await sandbox.changeLifecycle('amelia.stone', operation)
  expect(receiver.eventTypes()).toEqual(delivered)
})

test('POST /sandbox/faults: a wrong secret; GET /sandbox/deliveries: the answers', async () => {
  const body = JSON.stringify({ api: 'events', rules: [{ kind: 'wrong-secret', times: 1 }] })
  await fetch(`${client.url}/sandbox/faults`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body,
  })
  receiver.answerWith(401)
  await client.sandbox.changeLifecycle('amelia.stone', 'suspend')
  await client.sandbox.changeLifecycle('amelia.stone', 'unsuspend')
  const { secret } = receiver.address
  expect(receiver.deliveries.map(({ headers }) => headers.authorization)).toEqual([`not ${secret}`, secret])
  const calls = (await (await client.get('/sandbox/deliveries')).json()) as unknown[]
  expect(calls.slice(1)).toEqual([
    { at: START, eventType: SUSPEND, answers: [401] },
    { at: START, eventType: UNSUSPEND, answers: [204] },
  ])
})

test.each([{ kind: 'late' }, { kind: 'lost' }, { kind: 'twice', times: 0 }])(
  'an invalid rule is refused: %j',
  (rule) => {
    expect(() => createDeliveryFaults().set([rule as DeliveryFaultRule])).toThrow(InvalidFaultRule)
  },
)

test('a reset drops overtaken deliveries, calls and faults, and keeps the registration', async () => {
  const { sandbox } = client
  sandbox.faults.events.set([{ kind: 'out-of-order' }])
  await sandbox.changeLifecycle('amelia.stone', 'suspend')
  sandbox.reset()
  await sandbox.changeLifecycle('amelia.stone', 'suspend')
  expect(receiver.eventTypes()).toEqual([SUSPEND])
  expect(sandbox.eventHook.calls).toEqual([{ at: START, eventType: SUSPEND, answers: [204] }])
})
