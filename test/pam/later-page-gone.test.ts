import { expect, test } from '@jest/globals'
import { until } from '../support/until.ts'
import { LOGIN } from './pam-broker.ts'
import { usePamHarness } from './pam-harness.ts'

/**
 * docs/conformance.md D-6.10: resource_does_not_exist for a later page of a list does not mean that
 * the user or the team is unknown.
 */
const ME = '/api/v1/pam/me'
const DIRECTORY = '/api/v1/pam/groups?limit=1000'
const LATER_PAGES = {
  [ME]: `/v1/teams/example-team/users/${encodeURIComponent(LOGIN)}/groups?`,
  [DIRECTORY]: '/v1/teams/example-team/groups?',
}
const GROUPS = 250

const harness = usePamHarness(({ pam }) => pam.control.generateGroups(GROUPS, LOGIN))

const fail = (path: keyof typeof LATER_PAGES, times: number | 'always') =>
  harness.pam.control.failNext({ error: 'resource_does_not_exist', path: LATER_PAGES[path], times })
const get = (path: string) => harness.broker.get(path)
const errorLines = () => harness.broker.logLines().filter(({ level }) => level === 'error')

// shows: P-12.9, D-6.10
test.each([ME, DIRECTORY] as const)(
  '%s: repeated errors are pam_unavailable, and nothing is cached',
  async (path) => {
    fail(path, 'always')
    const { status, body } = await get(path)
    expect([status, body.errorCode]).toEqual([502, 'pam_unavailable'])
    const { groupLists, userLists } = harness.pam.control.counts()
    expect(path === ME ? userLists[LOGIN] : groupLists).toBe(2)
    expect(errorLines()).toEqual([])
    expect([...harness.store.entries.keys()].filter((key) => key.startsWith('gatehouse:pam-groups'))).toEqual(
      [],
    )
    harness.pam.control.clearFailures()
    expect((await get(path)).status).toBe(200)
  },
)

// shows: D-6.9
test('a user who is deleted during the read is unknown, because the first page is read again', async () => {
  const release = harness.pam.faults.hold({ path: LATER_PAGES[ME], times: 1 })
  const asking = get(ME)
  await until(() => harness.pam.requestLog.entries.length === 3) // the token, two pages
  harness.pam.control.setUserGroups(LOGIN, null)
  release()
  expect((await asking).body.errorCode).toBe('pam_user_unknown')
  const calls = harness.pam.requestLog.entries.length
  expect((await get(ME)).body.errorCode).toBe('pam_user_unknown')
  expect(harness.pam.requestLog.entries.length).toBe(calls) // cached
})
