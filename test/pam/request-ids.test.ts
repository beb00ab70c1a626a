import { expect, test } from '@jest/globals'
import type { PamErrorName } from '../../src/pam/upstream/pam-errors.ts'
import { until } from '../support/until.ts'
import { type BrokerAnswer, KEY, LOGIN } from './pam-broker.ts'
import { usePamHarness } from './pam-harness.ts'

/** The request id in a response leads to every log line of that request. */
const harness = usePamHarness(({ pam }) => pam.control.setUserGroups(LOGIN, ['Everyone']))

const LIST = '/v1/teams/example-team/users'

const me = () => harness.broker.get('/api/v1/pam/me')
const idOf = ({ headers }: BrokerAnswer) => headers.get('x-request-id')
const linesOf = (event: string) => harness.broker.logLines().filter((line) => line.event === event)
const invalidList = () =>
  harness.pam.faults.set({ kind: 'status', status: 200, path: LIST, body: { list: 'none' } })

test.each<[event: string, prepare: () => void]>([
  ['pam_key_refused', () => harness.pam.control.removeKey(KEY.id)],
  ['pam_token_unusable', () => harness.pam.control.setReportedTeam('other-team')],
  ['pam_response_invalid', invalidList],
  ['pam_new_token_refused', () => fail('authentication_error')],
  ['pam_call_failed', () => fail('forbidden_error')],
  ['pam_error', () => fail('forbidden_error')],
])('%s', async (event, prepare) => {
  prepare()
  const answer = await me()
  expect(linesOf(event).length).toBeGreaterThan(0)
  for (const { requestId } of linesOf(event)) expect(requestId).toBe(idOf(answer))
})
function fail(error: PamErrorName) {
  harness.pam.control.failNext({ error, path: LIST, times: 'always' })
}

test('a shared token is logged with the id of the request that started minting it', async () => {
  const ids = (await Promise.all([me(), me(), me()])).map(idOf)
  expect(linesOf('pam_token_minted')).toHaveLength(1)
  expect(ids).toContain(linesOf('pam_token_minted')[0]?.requestId)
})

test('a background refresh is logged with the id of the request that started it', async () => {
  await me()
  harness.advance(100_000)
  invalidList()
  const answer = await me()
  expect(answer.body.meta).toMatchObject({ stale: true })
  await until(() => linesOf('pam_response_invalid').length === 1)
  expect(linesOf('pam_response_invalid')[0]?.requestId).toBe(idOf(answer))
})
