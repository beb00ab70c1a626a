import { expect, test } from '@jest/globals'
import type { Group } from '../../src/pam/upstream/group.ts'
import { LOGIN } from './pam-broker.ts'
import { usePamHarness } from './pam-harness.ts'

/** PAM behind a gateway that adds a path. */
const BASE_PATH = '/gateway/pam'
const ME = '/api/v1/pam/me'
const DIRECTORY = '/api/v1/pam/groups'
const GROUPS = 250

const harness = usePamHarness(({ pam }) => pam.control.generateGroups(GROUPS, LOGIN), {
  sandbox: { basePath: BASE_PATH },
})

const calledPaths = () => harness.pam.requestLog.entries.map(({ path }) => path)

// shows: P-2.10, P-2.11
test('tokens, lists and their further pages are fetched under the path of PAM_BASE_URL', async () => {
  for (const path of [ME, DIRECTORY]) {
    const { status, body } = await harness.broker.get(`${path}${path === DIRECTORY ? '?limit=1000' : ''}`)
    expect(status).toBe(200)
    expect(((body.groups ?? body.list) as Group[]).length).toBeGreaterThanOrEqual(GROUPS)
  }
  expect(calledPaths().filter((path) => !path.startsWith(`${BASE_PATH}/v1/teams/example-team/`))).toEqual([])
  expect(harness.pam.control.counts()).toMatchObject({ tokensMinted: 1, userLists: { [LOGIN]: 1 } })
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
