import { afterEach, beforeEach, expect, test } from '@jest/globals'
import type { Group } from '../../src/pam/upstream/group.ts'
import { LOGIN } from './pam-broker.ts'
import { type PamHarness, startPamHarness } from './pam-harness.ts'

/** PAM behind a gateway that adds a path. */
const BASE_PATH = '/gateway/pam'
const ME = '/api/v1/pam/me'
const DIRECTORY = '/api/v1/pam/groups'
const GROUPS = 250

let harness: PamHarness
beforeEach(async () => {
  harness = await startPamHarness({ sandbox: { basePath: BASE_PATH } })
  harness.pam.control.generateGroups(GROUPS, LOGIN)
})
afterEach(() => harness.close())

const calledPaths = () => harness.pam.requestLog.entries.map(({ path }) => path)

test('tokens, lists and their further pages are fetched under the path of PAM_BASE_URL', async () => {
  for (const path of [ME, DIRECTORY]) {
    const { status, body } = await harness.broker.get(`${path}${path === DIRECTORY ? '?limit=1000' : ''}`)
    expect(status).toBe(200)
    expect(((body.groups ?? body.list) as Group[]).length).toBeGreaterThanOrEqual(GROUPS)
  }
  expect(calledPaths().filter((path) => !path.startsWith(`${BASE_PATH}/v1/teams/example-team/`))).toEqual([])
  expect(harness.pam.control.counts()).toMatchObject({ tokensMinted: 1, userLists: { [LOGIN]: 1 } })
})

test('a relative link to the next page is resolved under that path', async () => {
  harness.pam.control.setLinkForm('relative')
  expect((await harness.broker.get(ME)).status).toBe(200)
})

test.each([
  '<{origin}/v1/teams/example-team/groups?o=1>; rel=next',
  '<{origin}/gateway/v1/teams/example-team/groups?o=1>; rel=next',
  '<{origin}/gateway/pam/../other/v1/teams/example-team/groups?o=1>; rel=next',
  '<{origin}/gateway%2fpam/v1/teams/example-team/groups?o=1>; rel=next',
])('a next link that leaves the path fails the list: %s', async (raw) => {
  harness.pam.control.setLinkForm({ raw })
  const { status, body } = await harness.broker.get(DIRECTORY)
  expect([status, body.errorCode]).toEqual([502, 'pam_unexpected'])
  expect(calledPaths().length).toBe(2) // the token, the first page
})

test('another path is another API: it shares neither token nor lists', async () => {
  await harness.broker.get(DIRECTORY)
  const before = calledPaths().length
  for (const path of ['', '/gateway']) {
    const other = await harness.replica({ baseUrl: `${harness.pam.origin}${path}` })
    expect((await other.get(DIRECTORY)).status).toBe(502)
  }
  expect(calledPaths().length).toBe(before) // the API received no request
})
