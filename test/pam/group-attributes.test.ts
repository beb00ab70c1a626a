import { afterEach, beforeEach, expect, test } from '@jest/globals'
import { until } from '../support/until.ts'
import { counted, LOGIN, type PamBroker } from './pam-broker.ts'
import { type PamHarness, startPamHarness } from './pam-harness.ts'

const GROUP = '/api/v1/pam/groups/bd300cc8-8e91-5aa5-8fa6-e2287db02835'
const EVERYONE = '/api/v1/pam/groups/f25eceb0-5d6b-5683-89f0-57e62155a668'
const TEAM = '/v1/teams/example-team'
const ATTRIBUTES = `${TEAM}/groups/Production%20Linux%20-%20View/attributes`
const ALL = {
  unix_gid: 60001,
  unix_group_name: 'prod-linux-view',
  windows_group_name: 'Production Linux View',
}
const MINUTE_MS = 61_000

let harness: PamHarness
beforeEach(async () => {
  harness = await startPamHarness()
})
afterEach(() => harness.close())

const asked = (path = ATTRIBUTES) =>
  harness.pam.requestLog.entries.filter((call) => call.path.split('?')[0] === path).length
const askedForAny = () => harness.pam.requestLog.entries.filter((call) => /attributes/.test(call.path)).length
const events = ({ logLines }: PamBroker = harness.broker) =>
  logLines().filter(({ event }) => event === 'pam_attributes_unavailable')
const fault = (list: unknown) =>
  harness.pam.faults.set({ kind: 'status', status: 200, path: ATTRIBUTES, body: { list } })

async function attributesOf(path = GROUP, broker = harness.broker) {
  const { status, body } = await broker.get(path)
  expect(status).toBe(200)
  const { id: _, name: __, roles: ___, meta: ____, ...attributes } = body
  return attributes
}

test('the attributes of one group are read from PAM, once for all requests and replicas', async () => {
  const other = await harness.replica()
  const brokers = Array.from({ length: 20 }, (_, n) => (n % 2 === 0 ? harness.broker : other))
  const answers = await Promise.all(brokers.map((broker) => attributesOf(GROUP, broker)))
  expect(answers).toEqual(brokers.map(() => ALL))
  expect(await attributesOf(GROUP, await harness.replica())).toEqual(ALL)
  expect(asked()).toBe(1)
  expect(harness.pam.control.counts().tokensMinted).toBe(1)
})

test('attributes that were read less than a minute ago need neither PAM nor the store', async () => {
  await attributesOf()
  harness.store.disconnect(new Error('connection lost'))
  const before = harness.pam.requestLog.entries.length
  expect(await attributesOf()).toEqual(ALL)
  expect(harness.pam.requestLog.entries.length).toBe(before)
})

test("lists, and the user's own groups, cause no such request", async () => {
  harness.pam.control.setUserGroups(LOGIN, ['Production Linux - View'])
  expect((await harness.broker.get('/api/v1/pam/me')).body.groups).toHaveLength(1)
  expect((await harness.broker.get('/api/v1/pam/groups')).status).toBe(200)
  expect(askedForAny()).toBe(0)
})

test('a group that contains its attributes causes no such request', async () => {
  harness.pam.control.setGroupForm({ attributes: true })
  expect(await attributesOf()).toEqual(ALL)
  expect(askedForAny()).toBe(0)
})

test('a group without attributes is asked about once a minute', async () => {
  for (let n = 0; n < 3; n++) expect(await attributesOf(EVERYONE)).toEqual({})
  expect(asked(`${TEAM}/groups/Everyone/attributes`)).toBe(1)
  harness.advance(MINUTE_MS)
  await attributesOf(EVERYONE)
  await until(() => asked(`${TEAM}/groups/Everyone/attributes`) === 2)
})

test('attributes on several pages are complete', async () => {
  await harness.broker.get('/api/v1/pam/groups')
  harness.pam.control.setPageSize(1)
  expect(await attributesOf()).toEqual(ALL)
  expect(asked()).toBe(3)
})

test.each([
  ['null', null],
  ['no value', { attribute_name: 'unix_gid' }],
  ['a text for a number', { attribute_name: 'unix_gid', attribute_value: '60001' }],
  ['a fraction', { attribute_name: 'unix_gid', attribute_value: 1.5 }],
  ['a negative number', { attribute_name: 'unix_gid', attribute_value: -1 }],
  ['a number for a text', { attribute_name: 'unix_group_name', attribute_value: 5 }],
  ['an empty text', { attribute_name: 'unix_group_name', attribute_value: '' }],
  ['a long text', { attribute_name: 'unix_group_name', attribute_value: 'x'.repeat(256) }],
  ['an unknown name', { attribute_name: 'roles', attribute_value: ['pam_admin'] }],
  ['no name', { attribute_value: 5 }],
])('a malformed attribute is left out, the others are not: %s', async (_, attribute) => {
  fault([attribute, { attribute_name: 'windows_group_name', attribute_value: 'Operators' }])
  expect(await attributesOf()).toEqual({ windows_group_name: 'Operators' })
  expect(events()).toEqual([])
})

test.each([
  ['forbidden_error', 'forbidden_error', 1],
  ['authorization_error', 'authorization_error', 1],
  ['authentication_error', 'authentication_error', 1],
  ['resource_does_not_exist', 'page_gone', 2],
  ['unknown_error', 'unknown_error', 3],
  ['disabled_team', 'disabled_team', 1],
] as const)(
  'if PAM answers %s, the group has no attributes, and PAM is not asked for a minute',
  async (error, name, calls) => {
    harness.pam.control.failNext({ error, path: ATTRIBUTES, times: 'always' })
    const other = await harness.replica()
    for (const broker of [harness.broker, other, harness.broker])
      expect(await attributesOf(GROUP, broker)).toEqual({})
    expect(asked()).toBe(calls)
    expect(events()).toMatchObject([{ level: 'warn', name }])
    expect(events(other)).toEqual([])
    expect(await counted(harness.broker.metrics, 'pam_attribute_failures_total')).toEqual({ [name]: 1 })
    expect(await counted(harness.broker.metrics, 'pam_errors_total')).toEqual({})
    expect(harness.broker.logText()).not.toContain('pam_call_failed')

    harness.pam.control.clearFailures()
    harness.advance(MINUTE_MS)
    await until(async () => (await attributesOf()).unix_gid === ALL.unix_gid)
    expect(harness.pam.control.counts().tokensMinted).toBe(1) // a refusal does not discard the token
  },
)

test('the same failure of several groups is counted for each, but logged once an hour', async () => {
  harness.pam.control.setAccess('gatehouse', 'groups')
  await attributesOf()
  await attributesOf(EVERYONE)
  expect(await counted(harness.broker.metrics, 'pam_attribute_failures_total')).toEqual({
    forbidden_error: 2,
  })
  expect(events()).toHaveLength(1)
  harness.advance(3_601_000)
  await attributesOf()
  expect(events()).toHaveLength(2)
})

test('after a temporary error, the last attributes are served as stale for 15 minutes', async () => {
  const { headers } = await harness.broker.get(GROUP)
  harness.pam.control.failNext({ error: 'unknown_error', path: ATTRIBUTES, times: 'always' })
  for (let minute = 1; minute <= 14; minute++) {
    harness.advance(60_500)
    expect(await attributesOf()).toEqual(ALL)
    await until(async () => Object.values(await failures()).at(0) === minute)
    await harness.broker.get('/api/v1/pam/groups?maxAge=0') // the list is fresh
  }
  const answer = await harness.broker.get(GROUP)
  expect(answer.body.meta).toMatchObject({ stale: true, fetchedAt: '2026-11-02T08:00:00.000Z' })
  expect(Number(answer.headers.get('age'))).toBe(847)
  expect(answer.headers.get('etag')).not.toBe(headers.get('etag'))
  expect(Object.values(await failures())).toEqual([14]) // PAM is asked once a minute
  harness.advance(60_500)
  expect(await attributesOf()).toEqual({})
})
const failures = () => counted(harness.broker.metrics, 'pam_attribute_failures_total')

test('after a refusal, earlier attributes are not served', async () => {
  await attributesOf()
  harness.pam.control.setAccess('gatehouse', 'groups')
  harness.advance(MINUTE_MS)
  await until(async () => (await attributesOf()).unix_gid === undefined)
})

test('a change in PAM is served after a minute, and at once with maxAge', async () => {
  const other = await harness.replica()
  await attributesOf()
  await attributesOf(GROUP, other)
  const changed = [{ attribute_name: 'unix_gid', attribute_value: 70001 }]
  fault(changed)
  harness.advance(30_000)
  expect(await attributesOf()).toEqual(ALL)
  expect(await attributesOf(`${GROUP}?maxAge=10`)).toEqual({ unix_gid: 70001 })
  expect(await attributesOf()).toEqual({ unix_gid: 70001 })
  expect(await attributesOf(GROUP, other)).toEqual(ALL)
  harness.advance(31_000)
  await until(async () => (await attributesOf(GROUP, other)).unix_gid === 70001)
})

test('with maxAge, attributes that are too old are left out if PAM fails', async () => {
  await attributesOf()
  harness.advance(30_000)
  harness.pam.control.failNext({ error: 'unknown_error', path: ATTRIBUTES, times: 'always' })
  expect(await attributesOf(`${GROUP}?maxAge=10`)).toEqual({})
  expect(await attributesOf()).toEqual(ALL)
})

test('a group is sent without attributes after 2 s, and the next one does not wait', async () => {
  await harness.broker.get('/api/v1/pam/groups')
  const release = harness.pam.faults.hold({ path: ATTRIBUTES })
  const answer = attributesOf()
  await until(() => asked() === 1 && harness.timers() === 1)
  harness.advance(2000)
  expect(await answer).toEqual({})
  expect(await attributesOf()).toEqual({})
  expect(events()).toMatchObject([{ name: 'no_answer' }])
  release()
  expect([asked(), harness.timers()]).toEqual([1, 0])
})

test.each(['..', '.'])('a group whose name is %s is not looked up under another path', async (name) => {
  const id = '00000000-0000-4000-8000-000000000001'
  harness.pam.control.putGroup({ id, name })
  expect(await attributesOf(`/api/v1/pam/groups/${id}`)).toEqual({})
  expect(askedForAny()).toBe(0)
})

test('a name with special characters is one segment of the path', async () => {
  const id = '00000000-0000-4000-8000-000000000001'
  harness.pam.control.putGroup({ id, name: 'a/../b?c#d%2f', unixGid: 5 })
  expect(await attributesOf(`/api/v1/pam/groups/${id}`)).toEqual({ unix_gid: 5 })
})

test('without the store, each process reads the attributes and keeps them', async () => {
  harness.store.disconnect(new Error('connection lost'))
  for (let n = 0; n < 3; n++) expect(await attributesOf()).toEqual(ALL)
  expect(asked()).toBe(1)
})

test('the token of another replica is used', async () => {
  await harness.broker.get('/api/v1/pam/groups')
  expect(await attributesOf(GROUP, await harness.replica())).toEqual(ALL)
  expect(harness.pam.control.counts().tokensMinted).toBe(1)
})

test('a user who may not list groups causes no request', async () => {
  const closed = await harness.replica({ directory: { kind: 'none' } })
  expect((await closed.get(GROUP)).status).toBe(403)
  expect((await closed.get(GROUP, { login: '' })).status).toBe(401)
  expect(harness.pam.requestLog.entries).toEqual([])
})
