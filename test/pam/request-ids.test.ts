import { afterEach, expect, test } from '@jest/globals'
import { until } from '../support/until.ts'
import { type BrokerAnswer, KEY, LOGIN, type PamBroker } from './pam-broker.ts'
import { type Journey, type JourneyOptions, startJourney } from './pam-journey.ts'

/** The id that a caller is told leads to every line that is written on that request's account. */
let journey: Journey
afterEach(() => journey.close())

const LIST = '/v1/teams/example-team/users'

const me = (broker = journey.broker) => broker.get('/api/v1/pam/me')
const idOf = ({ headers }: BrokerAnswer) => headers.get('x-request-id')
const linesOf = (event: string, broker: PamBroker = journey.broker) =>
  broker.logLines().filter((line) => line.event === event)

test.each<[string, JourneyOptions, () => void]>([
  ['pam_token_minted', {}, () => undefined],
  ['pam_key_refused', { keys: () => [{ id: KEY.id, secret: 'wrong' }] }, () => undefined],
  ['pam_token_unusable', {}, () => journey.pam.control.setReportedTeam('other-team')],
  [
    'pam_response_invalid',
    {},
    () => journey.pam.faults.set({ kind: 'status', status: 200, path: LIST, body: { list: 'none' } }),
  ],
  [
    'pam_new_token_refused',
    {},
    () => journey.pam.control.failNext({ error: 'authentication_error', path: LIST, times: 'always' }),
  ],
  [
    'pam_call_failed',
    {},
    () => journey.pam.control.failNext({ error: 'forbidden_error', path: LIST, times: 'always' }),
  ],
  [
    'pam_error',
    {},
    () => journey.pam.control.failNext({ error: 'forbidden_error', path: LIST, times: 'always' }),
  ],
])('%s', async (event, options, prepare) => {
  journey = await startJourney(options)
  journey.pam.control.setUserGroups(LOGIN, ['Everyone'])
  prepare()
  const answer = await me()
  const lines = linesOf(event)
  expect(lines.length).toBeGreaterThan(0)
  for (const { requestId } of lines) expect(requestId).toBe(idOf(answer))
})

test('a shared token is logged with the id of the request that started minting it', async () => {
  journey = await startJourney()
  const ids = (await Promise.all([me(), me(), me()])).map(idOf)
  expect(linesOf('pam_token_minted')).toHaveLength(1)
  expect(ids).toContain(linesOf('pam_token_minted')[0]?.requestId)
})

test('a background refresh is logged with the id of the request that started it', async () => {
  journey = await startJourney()
  journey.pam.control.setUserGroups(LOGIN, ['Everyone'])
  await me()
  journey.advance(100_000)
  journey.pam.faults.set({ kind: 'status', status: 200, path: LIST, body: { list: 'none' } })
  const answer = await me()
  expect(answer.body.meta).toMatchObject({ stale: true })
  await until(() => linesOf('pam_response_invalid').length === 1)
  expect(linesOf('pam_response_invalid')[0]?.requestId).toBe(idOf(answer))
})
