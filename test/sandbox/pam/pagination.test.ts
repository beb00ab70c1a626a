import { beforeEach, expect, test } from '@jest/globals'
import {
  type Answer,
  KEY,
  linkTo,
  listOf,
  namesOf,
  startPamServer,
  TEAM,
  usePamServer,
  walk,
} from './pam-server.ts'

const server = usePamServer()
let token: string
beforeEach(async () => {
  token = await server.mint()
})

const get = (path: string) => server.send('GET', path, { token })
const groups = (query = '') => get(`${TEAM}/groups${query}`)

const linkFrom = (answer: Answer, rel = 'next') => linkTo(rel, answer, server.origin)
const walkFrom = (path: string, rel?: string) => walk(server, token, path, rel)

const INVALID_QUERIES: [query: string, fields: string[]][] = [
  ['count=0', ['count']],
  ['count=ten', ['count']],
  ['offset=20', ['offset']],
  ['descending=yes&include_deleted=1&prev=', ['prev', 'descending', 'include_deleted']],
  [
    'disconnected_mode_on_only=1&only_include_deleted=no',
    ['only_include_deleted', 'disconnected_mode_on_only'],
  ],
  ['ignore=a&ignore=b&starts_with=&starts_with=', ['ignore', 'starts_with']],
  ['Contains=admin', ['Contains']],
  ['contains[a]=admin', ['contains[a]']],
  ['limit=&role=end_user&count=0', ['limit', 'role', 'count']],
  ['__proto__=1', ['__proto__']],
  ['contains=a&contains=a&id=', ['contains']],
]
test.each(INVALID_QUERIES)('a wrong parameter is refused and named: %s', async (query, fields) => {
  const answer = await groups(`?${query}`)
  expect(answer.status).toBe(400)
  expect((answer.body.error_cause as { path: string }[]).map(({ path }) => path)).toEqual(fields)
})

test('prev leads back through the same pages', async () => {
  const forth = await walkFrom(`${TEAM}/groups?count=6`)
  const last = linkFrom(forth.pages.at(-2) as Answer) as string
  const back = await walkFrom(last, 'prev')
  expect(back.pages.map(namesOf).reverse()).toEqual(forth.pages.map(namesOf))
})

test('every link repeats contains, descending and include_deleted', async () => {
  const { names } = await walkFrom(
    `${TEAM}/groups?count=2&contains=ADMIN&descending=true&include_deleted=true`,
  )
  expect(names).toEqual(['Platform Admins', 'Database Administrators', 'Acquired Company Admins'])
})

test('id selects one group, and contains may have any character', async () => {
  const [group] = listOf(await groups('?contains=toolchain%2C%20e'))
  expect(group?.name).toBe('Toolchain, Early Access')
  expect(namesOf(await groups(`?id=${group?.id}`))).toEqual(['Toolchain, Early Access'])
  expect(namesOf(await groups('?contains=a?b'))).toEqual([])
})

const [OPERATE, VIEW, WINDOWS] = ['Linux - Operate', 'Linux - View', 'Windows - Operate'].map(
  (name) => `Production ${name}`,
)
const IDS = 'b97e354d-adb0-579d-8fda-81beebb9ae8f,a18d3843-0593-5dff-b310-f5c854b775df'
/** The filters of the public reference of the group list. */
test.each([
  ['starts_with=prod', [OPERATE, VIEW, WINDOWS]],
  ['starts_with=linux', []],
  ['starts_with=production&ignore=Production Linux - View', [OPERATE, WINDOWS]],
  ['starts_with=prod&ignore=production linux - view,Production Windows - Operate', [OPERATE, VIEW]],
  ['disconnected_mode_on_only=true', ['Network On Call', 'Site Reliability']],
  ['disconnected_mode_on_only=false&starts_with=network', ['Network Engineering', 'Network On Call']],
  ['only_include_deleted=true&contains=admin', ['Acquired Company Admins']],
  [`id=${IDS}`, ['Platform Admins', 'Security']],
])('%s selects these groups, on every page', async (query, names) => {
  const path = `${TEAM}/groups?${query.replaceAll(' ', '%20')}`
  expect(namesOf(await get(path))).toEqual(names)
  const { names: inPages, pages } = await walkFrom(`${path}&count=1`)
  expect(inPages).toEqual(names)
  expect(pages).toHaveLength(Math.max(1, names.length))
  const everyone = namesOf(await groups('?include_deleted=true'))
  server.control.setUserGroups('ada.lindqvist@example.com', everyone)
  const userPath = `${TEAM}/users/ada.lindqvist%40example.com${path.slice(TEAM.length)}`
  expect(namesOf(await get(userPath))).toEqual(names)
})

test('if the list changes between two pages, the remaining groups are neither skipped nor repeated', async () => {
  const first = await groups('?count=5')
  const gone = namesOf(first)[4] as string
  const rest = namesOf(await groups()).slice(5)
  server.control.deleteGroup(gone)
  server.control.putGroup({ id: '00000000-0000-4000-8000-000000000001', name: 'Aardvarks' })
  const { names } = await walkFrom(linkFrom(first) as string)
  expect(names).toEqual(rest)
})

test('10,000 groups are always the same 100 pages', async () => {
  server.control.setUserGroups('walter.warn@example.test', [])
  server.control.generateGroups(10_000, 'walter.warn@example.test')
  const { names, pages } = await walkFrom(`${TEAM}/users/walter.warn%40example.test/groups`)
  expect(pages).toHaveLength(100)
  expect(new Set(names).size).toBe(10_000)
  const [first] = listOf(pages[0] as Answer)
  server.control.generateGroups(0)
  server.control.generateGroups(10)
  expect(listOf(await groups('?contains=Generated'))[0]).toEqual(first)
  expect(server.control.counts()).toMatchObject({
    userLists: { 'walter.warn@example.test': 1 },
    userPages: { 'walter.warn@example.test': 100 },
    groupLists: 1,
  })
})

test('the API may be served under a base path, and links have it', async () => {
  const other = await startPamServer({ basePath: '/gateway/pam' })
  expect((await other.send('GET', `${TEAM}/groups`)).status).toBe(404)
  const minted = await other.send('POST', `/gateway/pam${TEAM}/service_token`, { body: KEY })
  const token = String(minted.body.bearer_token)
  const answer = await other.send('GET', `/gateway/pam${TEAM}/groups?count=1`, { token })
  expect(new URL(linkFrom(answer) as string).pathname).toBe(`/gateway/pam${TEAM}/groups`)
  other.control.deprecatePath('/v1/teams/{team}/groups')
  expect((await other.send('GET', `/gateway/pam${TEAM}/groups`, { token })).status).toBe(404)
  await other.close()
})
