import { afterEach, beforeEach, expect, test } from '@jest/globals'
import type { Group } from '../../src/pam/upstream/group.ts'
import { until } from '../support/until.ts'
import { LOGIN } from './pam-broker.ts'
import { type Journey, startJourney } from './pam-journey.ts'

/** DESIGN §6: "does not exist" on a later page of a list says nothing about the user or the team. */
const ME = '/api/v1/pam/me'
const DIRECTORY = '/api/v1/pam/groups?limit=1000'
const LATER_PAGES = {
  [ME]: `/v1/teams/example-team/users/${encodeURIComponent(LOGIN)}/groups?`,
  [DIRECTORY]: '/v1/teams/example-team/groups?',
}
const GROUPS = 250

let journey: Journey
beforeEach(async () => {
  journey = await startJourney()
  journey.pam.control.generateGroups(GROUPS, LOGIN)
})
afterEach(() => journey.close())

const fail = (path: keyof typeof LATER_PAGES, times: number | 'always') =>
  journey.pam.control.failNext({ error: 'resource_does_not_exist', path: LATER_PAGES[path], times })
const get = (path: string) => journey.broker.get(path)
const sizeOf = (body: Record<string, unknown>) => ((body.groups ?? body.list) as Group[]).length
const errorLines = () => journey.broker.logLines().filter(({ level }) => level === 'error')

test.each([ME, DIRECTORY] as const)(
  '%s: after one such error, the list is read again from the first page',
  async (path) => {
    fail(path, 1)
    const { status, body } = await get(path)
    expect(status).toBe(200)
    expect(sizeOf(body)).toBeGreaterThanOrEqual(GROUPS)
    const { groupLists, userLists } = journey.pam.control.counts()
    expect(path === ME ? userLists[LOGIN] : groupLists).toBe(2)
  },
)

test.each([ME, DIRECTORY] as const)(
  '%s: repeated errors are pam_unavailable, and nothing is cached',
  async (path) => {
    fail(path, 'always')
    const { status, body } = await get(path)
    expect([status, body.errorCode]).toEqual([502, 'pam_unavailable'])
    const { groupLists, userLists } = journey.pam.control.counts()
    expect(path === ME ? userLists[LOGIN] : groupLists).toBe(2)
    expect(errorLines()).toEqual([])
    expect([...journey.store.entries.keys()].filter((key) => key.startsWith('gatehouse:pam-groups'))).toEqual(
      [],
    )
    journey.pam.control.clearFailures()
    expect((await get(path)).status).toBe(200)
  },
)

test('a cached list is served meanwhile', async () => {
  await get(DIRECTORY)
  journey.advance(700_000)
  fail(DIRECTORY, 'always')
  const { status, body } = await get(DIRECTORY)
  expect([status, body.meta]).toMatchObject([200, { stale: true }])
})

test('a user who is deleted during the read is unknown, because the first page is read again', async () => {
  const letGo = journey.pam.faults.hold({ path: LATER_PAGES[ME], times: 1 })
  const asking = get(ME)
  await until(() => journey.pam.requestLog.entries.length === 3) // the token, two pages
  journey.pam.control.setUserGroups(LOGIN, null)
  letGo()
  expect((await asking).body.errorCode).toBe('pam_user_unknown')
  const calls = journey.pam.requestLog.entries.length
  expect((await get(ME)).body.errorCode).toBe('pam_user_unknown')
  expect(journey.pam.requestLog.entries.length).toBe(calls) // remembered
})

test('resource_deprecated on a later page is pam_deprecated', async () => {
  journey.pam.control.failNext({ error: 'resource_deprecated', path: LATER_PAGES[ME] })
  const { status, body } = await get(ME)
  expect([status, body.errorCode]).toEqual([502, 'pam_deprecated'])
})
