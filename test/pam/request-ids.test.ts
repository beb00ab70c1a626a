import { afterEach, expect, test } from '@jest/globals'
import { until } from '../support/until.ts'
import { type BrokerAnswer, KEY, LOGIN, type PamBroker } from './pam-broker.ts'
import { type PamHarness, type PamHarnessOptions, startPamHarness } from './pam-harness.ts'

/** The request id in a response leads to every log line of that request. */
let harness: PamHarness
afterEach(() => harness.close())

const LIST = '/v1/teams/example-team/users'

const me = (broker = harness.broker) => broker.get('/api/v1/pam/me')
const idOf = ({ headers }: BrokerAnswer) => headers.get('x-request-id')
const linesOf = (event: string, broker: PamBroker = harness.broker) =>
  broker.logLines().filter((line) => line.event === event)

test.each<[string, PamHarnessOptions, () => void]>([
  ['pam_token_minted', {}, () => undefined],
  ['pam_key_refused', { key: { id: KEY.id, secret: 'wrong' } }, () => undefined],
  ['pam_token_unusable', {}, () => harness.pam.control.setReportedTeam('other-team')],
  [
    'pam_response_invalid',
    {},
    () => harness.pam.faults.set({ kind: 'status', status: 200, path: LIST, body: { list: 'none' } }),
  ],
  [
    'pam_new_token_refused',
    {},
    () => harness.pam.control.failNext({ error: 'authentication_error', path: LIST, times: 'always' }),
  ],
  [
    'pam_call_failed',
    {},
    () => harness.pam.control.failNext({ error: 'forbidden_error', path: LIST, times: 'always' }),
  ],
  [
    'pam_error',
    {},
    () => harness.pam.control.failNext({ error: 'forbidden_error', path: LIST, times: 'always' }),
  ],
])('%s', async (event, options, prepare) => {
  harness = await startPamHarness(options)
  harness.pam.control.setUserGroups(LOGIN, ['Everyone'])
  prepare()
  const answer = await me()
  const lines = linesOf(event)
  expect(lines.length).toBeGreaterThan(0)
  for (const { requestId } of lines) expect(requestId).toBe(idOf(answer))
})

test('a shared token is logged with the id of the request that started minting it', async () => {
  harness = await startPamHarness()
  const ids = (await Promise.all([me(), me(), me()])).map(idOf)
  expect(linesOf('pam_token_minted')).toHaveLength(1)
  expect(ids).toContain(linesOf('pam_token_minted')[0]?.requestId)
})

test('a background refresh is logged with the id of the request that started it', async () => {
  harness = await startPamHarness()
  harness.pam.control.setUserGroups(LOGIN, ['Everyone'])
  await me()
  harness.advance(100_000)
  harness.pam.faults.set({ kind: 'status', status: 200, path: LIST, body: { list: 'none' } })
  const answer = await me()
  expect(answer.body.meta).toMatchObject({ stale: true })
  await until(() => linesOf('pam_response_invalid').length === 1)
  expect(linesOf('pam_response_invalid')[0]?.requestId).toBe(idOf(answer))
})
