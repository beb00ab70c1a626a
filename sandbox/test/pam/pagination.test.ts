import { beforeEach, expect, test } from '@jest/globals'
import { type Answer, linkTo, namesOf, TEAM, usePamServer, walk } from 'gatehouse-test-support/pam-server'

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
// sandbox shows: F-7.5, P-9.3
test.each(INVALID_QUERIES)('a wrong parameter is refused and named: %s', async (query, fields) => {
  const answer = await groups(`?${query}`)
  expect(answer.status).toBe(400)
  expect((answer.body.error_cause as { path: string }[]).map(({ path }) => path)).toEqual(fields)
})

// sandbox shows: F-7.5
test('every link repeats contains, descending and include_deleted', async () => {
  const { names } = await walkFrom(
    `${TEAM}/groups?count=2&contains=ADMIN&descending=true&include_deleted=true`,
  )
  expect(names).toEqual(['Platform Admins', 'Database Administrators', 'Acquired Company Admins'])
})

// sandbox shows: F-7.6
test('if the list changes between two pages, the remaining groups are neither skipped nor repeated', async () => {
  const first = await groups('?count=5')
  const gone = namesOf(first)[4] as string
  const rest = namesOf(await groups()).slice(5)
  server.control.deleteGroup(gone)
  server.control.putGroup({ id: '00000000-0000-4000-8000-000000000001', name: 'Aardvarks' })
  const { names } = await walkFrom(linkFrom(first) as string)
  expect(names).toEqual(rest)
})
