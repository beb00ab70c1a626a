import { expect, test } from '@jest/globals'
import { type Answer, DEVICE, OTHER_DEVICE, useSandbox } from './sandbox-client.ts'

/** https://developer.okta.com/docs/reference/system-log-query: events name the request, and what Okta takes for the client. */
const client = useSandbox()

const trusted = () => ({ authorization: `SSWS ${client.sandbox.apiToken}` })
const logs = (query: Record<string, string>, headers: Record<string, string> = trusted()) =>
  client.get(`/api/v1/logs?${new URLSearchParams(query)}`, headers)

async function eventsOf(answer: Answer): Promise<unknown> {
  const response = await logs({ filter: `transaction.id eq "${answer.headers.get('x-okta-request-id')}"` })
  return response.json()
}

const signIn = (login: string, deviceToken?: string) =>
  client.signIn(login, deviceToken === undefined ? {} : { context: { deviceToken } }, {
    ...trusted(),
    'x-forwarded-for': '198.51.100.7',
  })

test('a sign-in has an event with its request, address and a hash of its device token', async () => {
  const answers = [await signIn('amelia.stone', DEVICE), await signIn('tomas.berg', DEVICE)]
  const other = await signIn('amelia.stone', OTHER_DEVICE)
  const [first, second, third] = [
    await eventsOf(answers[0] as Answer),
    await eventsOf(answers[1] as Answer),
    await eventsOf(other),
  ]
  const event = (login: string, dtHash: unknown) => [
    expect.objectContaining({
      actor: { type: 'User', alternateId: login },
      client: expect.objectContaining({ ipAddress: '198.51.100.7' }),
      debugContext: { debugData: expect.objectContaining({ dtHash }) },
    }),
  ]
  const hash = (first as [{ debugContext: { debugData: { dtHash: string } } }])[0].debugContext.debugData
    .dtHash
  expect(first).toEqual(event('amelia.stone@example.test', hash))
  expect(second).toEqual(event('tomas.berg@example.test', hash))
  expect(third).toEqual(event('amelia.stone@example.test', expect.not.stringContaining(hash)))
})

test('a failed sign-in has an event; without a device token it has no hash', async () => {
  const answer = await client.signIn('amelia.stone', { password: 'wrong' })
  const [event] = (await eventsOf(answer)) as [object]
  expect(event).toMatchObject({ outcome: { result: 'FAILURE' } })
  expect(JSON.stringify(event)).not.toContain('dtHash')
})

test('events before `since` are left out; another filter is refused, and so is a request without a token', async () => {
  const answer = await signIn('amelia.stone')
  const filter = `transaction.id eq "${answer.headers.get('x-okta-request-id')}"`
  const later = new Date(client.now() + 1).toISOString()
  expect(await (await logs({ filter, since: later })).json()).toEqual([])
  expect((await logs({ filter, since: 'yesterday' })).status).toBe(400)
  expect((await logs({ filter: 'actor.id eq "x"' })).status).toBe(400)
  expect((await logs({ filter }, {})).status).toBe(401)
})
