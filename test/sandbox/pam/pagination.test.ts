import { beforeEach, expect, test } from '@jest/globals'
import { HOSTILE_LINK_FORMS, LEGAL_LINK_FORMS } from '../../../src/sandbox/pam/pam-links.ts'
import {
  type Answer,
  KEY,
  listOf,
  namesOf,
  parseLinks,
  startPamServer,
  TEAM,
  usePamServer,
} from './pam-server.ts'

const server = usePamServer()
let token: string
beforeEach(async () => {
  token = await server.mint()
})

const get = (path: string) => server.send('GET', path, { token })
const groups = (query = '') => get(`${TEAM}/groups${query}`)

function linkTo(rel: string, answer: Answer): string | undefined {
  const link = parseLinks(answer.headers.get('link') ?? '').find(({ rels }) => rels.includes(rel))
  return link && new URL(link.target, server.origin).href
}

async function walk(path: string, rel = 'next'): Promise<{ names: string[]; pages: Answer[] }> {
  const pages = [await get(path)]
  for (let url = linkTo(rel, pages[0] as Answer); url !== undefined; ) {
    const page = await get(url)
    pages.push(page)
    url = linkTo(rel, page)
    if (pages.length > 500) throw new Error('this list never ends')
  }
  return { names: pages.flatMap(namesOf), pages }
}

const INVALID_QUERIES: [query: string, fields: string[]][] = [
  ['count=0', ['count']],
  ['count=-1', ['count']],
  ['count=ten', ['count']],
  ['offset=20', ['offset']],
  ['descending=yes&include_deleted=1&prev=', ['prev', 'descending', 'include_deleted']],
  [
    'disconnected_mode_on_only=1&only_include_deleted=no',
    ['only_include_deleted', 'disconnected_mode_on_only'],
  ],
  ['ignore=a&ignore=b&starts_with=&starts_with=', ['ignore', 'starts_with']],
  ['search=admin', ['search']],
  ['Contains=admin', ['Contains']],
  ['contains[a]=admin', ['contains[a]']],
  ['contains%5B%5D=admin', ['contains[]']],
  ['limit=&role=end_user&count=0', ['limit', 'role', 'count']],
  ['__proto__=1', ['__proto__']],
  ['=1', ['']],
  ['count=5&count=6', ['count']],
  ['contains=a&contains=a&id=', ['contains']],
]
test.each(INVALID_QUERIES)('a wrong parameter is refused and named: %s', async (query, fields) => {
  const answer = await groups(`?${query}`)
  expect(answer.status).toBe(400)
  expect((answer.body.error_cause as { path: string }[]).map(({ path }) => path)).toEqual(fields)
})

test('the groups of a user have the same parameters', async () => {
  const path = `${TEAM}/users/ada.lindqvist%40example.com/groups`
  server.control.setUserGroups('ada.lindqvist@example.com', ['Security', 'Everyone'])
  expect(namesOf(await get(`${path}?contains=sec`))).toEqual(['Security'])
  const answer = await get(`${path}?search=sec`)
  expect([answer.status, answer.body.error]).toEqual([400, 'invalid_request'])
})

test('operations that are not lists have no parameters', async () => {
  const created = { name: 'New group', roles: [] }
  for (const [path, body] of [
    [`${TEAM}/service_token`, KEY],
    [`${TEAM}/groups`, created],
  ] as const) {
    const answer = await server.send('POST', `${path}?count=1`, { token, body })
    expect([answer.status, answer.body.error]).toEqual([400, 'invalid_request'])
    expect(answer.body.error_cause).toEqual([
      { path: 'count', message: 'is not a parameter of this operation' },
    ])
  }
  expect(server.control.groups().some(({ name }) => name === created.name)).toBe(false)
})

test('a group cannot be created with an unknown role', async () => {
  const create = (name: string, roles: string[]) =>
    server.send('POST', `${TEAM}/groups`, { token, body: { name, roles } })
  const answer = await create('New group', ['end_user', 'Resource_Admin', 'superuser'])
  expect(answer.status).toBe(400)
  expect(answer.body.error_cause).toEqual([
    { path: 'roles', message: 'unknown role "Resource_Admin"' },
    { path: 'roles', message: 'unknown role "superuser"' },
  ])
  expect((await create('New group', ['end_user', 'devops_admin'])).status).toBe(201)
})

test.each([1, 2, 3, 7, 24, 25, 26, 100])('pages of %i contain every group once, in order', async (count) => {
  const all = namesOf(await groups())
  const { names, pages } = await walk(`${TEAM}/groups?count=${count}`)
  expect(names).toEqual(all)
  expect(pages).toHaveLength(Math.ceil(25 / count))
})

test('prev leads back through the same pages', async () => {
  const forth = await walk(`${TEAM}/groups?count=6`)
  const last = linkTo('next', forth.pages.at(-2) as Answer) as string
  const back = await walk(last, 'prev')
  expect(back.pages.map(namesOf).reverse()).toEqual(forth.pages.map(namesOf))
})

test('every link repeats contains, descending and include_deleted', async () => {
  const { names } = await walk(`${TEAM}/groups?count=2&contains=ADMIN&descending=true&include_deleted=true`)
  expect(names).toEqual(['Platform Admins', 'Database Administrators', 'Acquired Company Admins'])
})

test('id selects one group, and contains may have any character', async () => {
  const [group] = listOf(await groups('?contains=toolchain%2C%20e'))
  expect(group?.name).toBe('Toolchain, Early Access')
  expect(namesOf(await groups(`?id=${group?.id}`))).toEqual(['Toolchain, Early Access'])
  expect(namesOf(await groups('?contains=a?b'))).toEqual([])
})

/** The filters of the public reference of the group list. */
const FILTERS: [query: string, names: string[]][] = [
  [
    'starts_with=prod',
    ['Production Linux - Operate', 'Production Linux - View', 'Production Windows - Operate'],
  ],
  ['starts_with=linux', []],
  [
    'starts_with=production&ignore=Production Linux - View',
    ['Production Linux - Operate', 'Production Windows - Operate'],
  ],
  [
    'starts_with=prod&ignore=production linux - view,Production Windows - Operate',
    ['Production Linux - Operate', 'Production Linux - View'],
  ],
  ['disconnected_mode_on_only=true', ['Network On Call', 'Site Reliability']],
  ['disconnected_mode_on_only=true&contains=network', ['Network On Call']],
  ['disconnected_mode_on_only=false&starts_with=network', ['Network Engineering', 'Network On Call']],
  ['only_include_deleted=true&contains=admin', ['Acquired Company Admins']],
  [
    'id=b97e354d-adb0-579d-8fda-81beebb9ae8f,a18d3843-0593-5dff-b310-f5c854b775df',
    ['Platform Admins', 'Security'],
  ],
]
test.each(FILTERS)('%s selects these groups, on every page', async (query, names) => {
  const path = `${TEAM}/groups?${query.replaceAll(' ', '%20')}`
  expect(namesOf(await get(path))).toEqual(names)
  const { names: inPages, pages } = await walk(`${path}&count=1`)
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
  const { names } = await walk(linkTo('next', first) as string)
  expect(names).toEqual(rest)
})

test('10,000 groups are always the same 100 pages', async () => {
  server.control.setUserGroups('walter.warn@example.test', [])
  server.control.generateGroups(10_000, 'walter.warn@example.test')
  const { names, pages } = await walk(`${TEAM}/users/walter.warn%40example.test/groups`)
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

test.each(LEGAL_LINK_FORMS)('links in the legal form %s lead through the complete list', async (form) => {
  const all = namesOf(await groups())
  server.control.setLinkForm(form)
  const { names, pages } = await walk(`${TEAM}/groups?count=10`)
  expect(names).toEqual(all)
  expect(linkTo('prev', pages[2] as Answer)).toBeDefined()
})

test('links have the origin of the request, or the configured one', async () => {
  expect(new URL(linkTo('next', await groups('?count=1')) as string).origin).toBe(server.origin)
  const other = await startPamServer({ linkOrigin: 'https://pam.example.test' })
  const answer = await other.send('GET', `${TEAM}/groups?count=1`, { token: await other.mint() })
  expect(new URL(linkTo('next', answer) as string).origin).toBe('https://pam.example.test')
  await other.close()
})

test('the API may be served under a base path, and links have it', async () => {
  const other = await startPamServer({ basePath: '/gateway/pam' })
  expect((await other.send('GET', `${TEAM}/groups`)).status).toBe(404)
  const minted = await other.send('POST', `/gateway/pam${TEAM}/service_token`, { body: KEY })
  const token = String(minted.body.bearer_token)
  const answer = await other.send('GET', `/gateway/pam${TEAM}/groups?count=1`, { token })
  expect(new URL(linkTo('next', answer) as string).pathname).toBe(`/gateway/pam${TEAM}/groups`)
  other.control.deprecatePath('/v1/teams/{team}/groups')
  expect((await other.send('GET', `/gateway/pam${TEAM}/groups`, { token })).status).toBe(404)
  await other.close()
})

const TARGET = { origin: 'http://127.0.0.1:9', path: '/v1/teams/example-team/users' }
const HOSTILE: Record<(typeof HOSTILE_LINK_FORMS)[number], (link: string, url: string) => void> = {
  'other-origin': (link) => expect(link).toContain(`<http://127.0.0.1:9${TEAM}/groups?offset=`),
  'other-scheme': (link) => expect(link).toContain('<https://127.0.0.1:'),
  'other-port': (link) => expect(link).toContain(`<http://127.0.0.1:1${TEAM}/groups?`),
  'lookalike-host': (link) =>
    expect(link).toContain(`<${server.origin}.collector.example.org${TEAM}/groups?`),
  'other-path': (link) => expect(link).toContain(`<${server.origin}${TARGET.path}?offset=`),
  'dot-segments': (link) => expect(link).toContain('/groups/../../other-team/groups?'),
  userinfo: (link) => expect(link).toContain('<http://svc:secret@127.0.0.1:'),
  itself: (link, url) => expect(link).toBe(`<${url}>; rel="next"`),
  loop: (link) => expect(link).toMatch(/count=[12]>; rel="next"$/),
  endless: (link) => expect(link).toMatch(/count=1?1>; rel="next"$/),
  malformed: (link) => expect(link).not.toContain('>'),
  'single-quotes': (link) => expect(link).toMatch(/>; rel='next'$/),
  'no-relation': (link) => expect(link).not.toContain('rel'),
  'not-a-url': (link) => expect(URL.canParse(/<(.*)>/.exec(link)?.[1] ?? '')).toBe(false),
  long: (link) => expect(link.length).toBeGreaterThan(9 * 1024),
  'two-next': (link) => expect(new Set(link.match(/offset=\w+/g)).size).toBe(2),
}
test.each(HOSTILE_LINK_FORMS)('links in the hostile form %s are sent on every page', async (form) => {
  server.control.setLinkForm(form, TARGET)
  for (const query of ['?count=10', '?contains=Security']) {
    const answer = await groups(query)
    expect(answer.status).toBe(200)
    HOSTILE[form](answer.headers.get('link') ?? '', `${server.origin}${TEAM}/groups${query}`)
  }
})

test('the loop returns to its start after three links, and the endless list never does', async () => {
  const seen = async (form: 'loop' | 'endless') => {
    server.control.setLinkForm(form)
    const urls: (string | undefined)[] = [`${server.origin}${TEAM}/groups`]
    for (let at = 0; at < 7; at += 1) urls.push(linkTo('next', await get(urls[at] as string)))
    return new Set(urls).size
  }
  expect(await seen('loop')).toBe(4)
  expect(await seen('endless')).toBe(8)
})

test('the Link header can be set to any text', async () => {
  server.control.setLinkForm({
    raw: ['<{next}>; rel="next"; anchor="#elsewhere"', '<{origin}{path}>; rel="up"'],
  })
  const link = (await groups('?count=10')).headers.get('link')
  expect(link).toMatch(/^<http:.*&count=10>; rel="next"; anchor="#elsewhere", <http:.*\/groups>; rel="up"$/)
})
