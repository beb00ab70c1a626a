import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { expect, test } from '@jest/globals'

const root = new URL('../../', import.meta.url)
const pages = [
  'README.md',
  'CONTRIBUTING.md',
  'SECURITY.md',
  'CHANGELOG.md',
  'client/README.md',
  'demo/README.md',
  'examples/README.md',
  'sandbox/README.md',
  'deploy/proxies/README.md',
  ...['docs', 'docs/decisions'].flatMap((folder) =>
    readdirSync(new URL(folder, root))
      .filter((name) => name.endsWith('.md'))
      .map((name) => `${folder}/${name}`),
  ),
]
const read = (page: string) => readFileSync(new URL(page, root), 'utf8')
/** From the top folder, or from the page's own. */
const exists = (page: string, path: string) =>
  existsSync(new URL(path, root)) || existsSync(new URL(path, new URL(page, root)))

test('the first screen of the README has the commands of the demo and of the tests', () => {
  const [screen = ''] = read('README.md').split('\n| goal')
  const commands = [...screen.matchAll(/```sh\n(.+)\n```/g)].map(([, command]) => command)
  expect(commands).toEqual(['npm install && npm run demo', 'npm install && npm run setup && npm test'])
})

test('every file and folder of the repository that a page names exists', () => {
  const named = pages.flatMap((page) =>
    [
      ...read(page).matchAll(
        /`((?:src|test|scripts|docs|config|deploy|sandbox|demo|client|examples|openapi|bench|tools)\/[\w./-]*)`/g,
      ),
    ].map(([, path = '']) => [page, path]),
  )
  expect(named.length).toBeGreaterThan(100)
  expect(named.filter(([page = '', path = '']) => !exists(page, path))).toEqual([])
})

test('every source file that a page names without its folder exists', () => {
  const folders = [
    'src',
    'test',
    'scripts',
    'sandbox/src',
    'sandbox/test',
    'demo/src',
    'client/src',
    'examples',
  ]
  const files = folders.flatMap((folder) =>
    readdirSync(new URL(folder, root), { recursive: true }).map((path) => `/${path}`),
  )
  const named = pages.flatMap((page) =>
    [...read(page).matchAll(/`((?:[\w-]+\/)*[\w-]+\.ts)`/g)].map(([, path = '']) => ({ page, path })),
  )
  const isAbsent = ({ page, path }: { page: string; path: string }) =>
    !exists(page, path) && !files.some((file) => file.endsWith(`/${path}`))
  expect(named.filter(isAbsent)).toEqual([])
})

test('every link to a page leads to an existing page and heading', () => {
  const links = pages.flatMap((page) =>
    [...read(page).matchAll(/\]\((?!https?:)([^)#\s]*)(?:#([^)\s]+))?\)/g)].map(([, path = '', heading]) => ({
      page,
      url: new URL(path, new URL(page, root)),
      heading,
    })),
  )
  expect(links.length).toBeGreaterThan(30)
  const broken = links.filter(({ page, url, heading }) => {
    const target = url.href === new URL('.', new URL(page, root)).href ? new URL(page, root) : url
    if (!existsSync(target)) return true
    return heading !== undefined && !anchorsOf(readFileSync(target, 'utf8')).includes(heading)
  })
  expect(
    broken.map(({ page, url, heading }) => `${page} → ${url.href.slice(root.href.length)}#${heading}`),
  ).toEqual([])
})

/** Markdown takes the first of two references with one name, without a warning. */
test('every numbered reference of a page is defined once, and used', () => {
  const wrong = pages.flatMap((page) => {
    const text = read(page)
    const used = [...text.matchAll(/\]\[(\d+)\]/g)].map(([, name = '']) => name)
    const defined = [...text.matchAll(/^\[(\d+)\]: /gm)].map(([, name = '']) => name)
    return [...new Set([...used, ...defined])]
      .filter((name) => !used.includes(name) || defined.filter((one) => one === name).length !== 1)
      .map((name) => `${page} [${name}]`)
  })
  expect(wrong).toEqual([])
})

/** The anchors that GitHub makes from the headings of a page. */
function anchorsOf(text: string): string[] {
  return [...text.matchAll(/^#+ (.+)$/gm)].map(([, title = '']) =>
    title
      .toLowerCase()
      .replace(/[^\w\- ]/g, '')
      .replaceAll(' ', '-'),
  )
}
