import { execFileSync, spawn } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { findChromium } from 'gatehouse-test-support/chromium'
import { COMPILERS, errorsIn } from 'gatehouse-test-support/compile-pages'
import { freePort } from 'gatehouse-test-support/gatehouse'
import {
  installOffline,
  pack,
  portalCommands,
  writePortal,
} from '../../../scripts/package/packed-project.mjs'

const folder = mkdtempSync(join(tmpdir(), 'gatehouse-portal-'))
beforeAll(() => {
  writePortal(folder)
  // other tests run what is built
  installOffline(folder, pack(folder, '--ignore-scripts'))
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

test('the tarball has only compiled code, its two type files, the configuration, the licence, the pages, their examples and the starters', () => {
  const files = readdirSync(join(folder, 'node_modules/gatehouse'), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) =>
      join(entry.parentPath, entry.name).slice(folder.length + '/node_modules/gatehouse/'.length),
    )
  const isPage = (path: string) => /\.(md|png)$|^deploy\//.test(path)
  const isStarter = (path: string) => /^examples\/(adapters|express|plain|react)\//.test(path)
  const isOther = (path: string) =>
    !/^(sandbox\/)?dist\/.*\.js$/.test(path) && !isPage(path) && !isStarter(path)
  expect(files.filter(isOther).sort()).toEqual([
    '.env.example',
    'LICENSE',
    'config/default.json',
    'docs/audit-events.schema.json',
    'docs/openapi.json',
    'examples/testing/fixtures.ts',
    'examples/testing/sign-in.spec.ts',
    'examples/testing/sign-in.test.ts',
    'package.json',
    'sandbox/dist/package/sandbox-api.d.ts',
    'sandbox/dist/package/start-sandbox.d.ts',
    'sandbox/sandbox.json',
  ])
  expect(files).toEqual(expect.arrayContaining(['dist/wiring.js', 'sandbox/dist/package/main.js']))
  const sandboxes = ['express/src/sandbox.ts', 'plain/sandbox.ts', 'react/sandbox.ts']
  expect(files).toEqual(expect.arrayContaining(sandboxes.map((path) => `examples/${path}`)))
  expect(
    files.filter((path) =>
      /^(demo|test|bench|scripts|src|sandbox\/(src|test))\/|\/node_modules\//.test(path),
    ),
  ).toEqual([])
})

test('the readme begins with the package: its code runs, and every file that it names is in the tarball', () => {
  const readme = readFileSync(join(folder, 'node_modules/gatehouse/README.md'), 'utf8')
  const [, , language, code] = /^(.*?)```(\w*)\n(.*?)```/s.exec(readme) ?? []
  expect(language).toBe('js')
  const run = `${code}\nconst { status } = await fetch(\`\${sandbox.brokerUrl}/api/v1/sessions/me\`)
    console.log(status)
    await sandbox.stop()`
  const args = ['--input-type=module', '-e', run]
  expect(execFileSync(process.execPath, args, { cwd: folder, encoding: 'utf8' })).toBe('404\n')
  const links = [...readme.matchAll(/(?:\]\(|src=")(?!https?:)([^)#"]+)/g)].map(([, path = '']) => path)
  expect(links).toEqual(expect.arrayContaining(['docs/sandbox.md', 'client/README.md']))
  expect(links.filter((path) => !existsSync(join(folder, 'node_modules/gatehouse', path)))).toEqual([])
})

test('each link of each packed page leads to a packed file or a folder, and to a heading that is there', () => {
  const root = join(folder, 'node_modules/gatehouse')
  const pages = readdirSync(root, { recursive: true, encoding: 'utf8' }).filter((path) =>
    path.endsWith('.md'),
  )
  const dead = pages.flatMap((page) =>
    linksIn(readFileSync(join(root, page), 'utf8'))
      .filter((link) => {
        const [path = '', heading] = link.split('#')
        const target = path === '' ? join(root, page) : join(root, dirname(page), path)
        if (!existsSync(target)) return true
        return heading !== undefined && target.endsWith('.md') && !anchorsOf(target).has(heading)
      })
      .map((link) => `${page}: ${link}`),
  )
  expect(pages.length).toBeGreaterThan(20)
  expect(dead).toEqual([])
})

/** Without those in code, and those to other sites. */
function linksIn(page: string): string[] {
  const text = page.replace(/^ *```.*?^ *```/gms, '').replace(/`[^`\n]*`/g, '')
  const links = text.matchAll(/\]\(<?([^)>\s]+)|^\[[^\]]+\]: (\S+)|(?:src|href)="([^"]+)"/gm)
  return [...links].map(([, ...found]) => found.join('')).filter((link) => !/^(\w+:|\/\/)/.test(link))
}

/** The anchors of a page's headings, as GitHub makes them. */
function anchorsOf(path: string): ReadonlySet<string> {
  const text = readFileSync(path, 'utf8').replace(/^ *```.*?^ *```/gms, '')
  const anchors = new Set([...text.matchAll(/ (?:id|name)="([^"]+)"/g)].map(([, id = '']) => id))
  for (const [, heading = ''] of text.matchAll(/^#+ (.*)$/gm)) {
    const plain = heading.replace(/\[([^\]]*)\]\([^)]*\)/g, '$1').replace(/[`*]/g, '')
    const anchor = plain
      .trim()
      .toLowerCase()
      .replace(/[^\p{L}\p{N}\p{M}_ -]/gu, '')
      .replaceAll(' ', '-')
    const again = [anchor, ...Array.from({ length: 9 }, (_, n) => `${anchor}-${n + 1}`)]
    anchors.add(again.find((each) => !anchors.has(each)) ?? anchor)
  }
  return anchors
}

test('types with moduleResolution node10', () => {
  const [, tsc = ''] = COMPILERS.find(([name]) => name === 'TypeScript 5') ?? []
  const options = { module: 'es2022', moduleResolution: 'node10', target: 'es2022' }
  const page = readFileSync(join(folder, 'types.ts'), 'utf8')
  const old = join(folder, 'node10')
  mkdirSync(old)
  expect(errorsIn(old, { 'types.ts': page }, tsc, { ...options, exactOptionalPropertyTypes: true })).toEqual(
    [],
  )
})

/** The examples of examples/testing; `npm run package:check` runs them on Node 24 too. */
const NAMES = Object.keys(portalCommands({ portalPort: 0, chromium: '' }))
test.each(NAMES)('from the tarball, with this Node: %s', async (name) => {
  const commands = portalCommands({ portalPort: await freePort(), chromium: findChromium() })
  const { args, env } = commands[name] ?? { args: [], env: {} }
  const { PATH, HOME } = process.env
  const child = spawn(process.execPath, args, { cwd: folder, env: { PATH, HOME, ...env } })
  let output = ''
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk) => {
      output += chunk
    })
  const code = await new Promise((resolve) => child.on('close', resolve))
  expect({ code, output }).toEqual({ code: 0, output })
})
