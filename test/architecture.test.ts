import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join, posix, relative } from 'node:path'
import { describe, expect, test } from '@jest/globals'
import { parseSync } from '@swc/core'
import unitTests from '../jest.unit.config.mjs'

/**
 * The import rules: the diagrams of docs/architecture.md, and for modules the narrower table below.
 * The checker is a function over sources, so that made-up violations can test each rule.
 */
interface Source {
  /** Relative to the project, such as `src/http/route.ts`. */
  readonly path: string
  readonly text: string
}

/** The modules that each module may import, in addition to itself. Type-only imports count too. */
const MAY_IMPORT: Readonly<Record<string, readonly string[]>> = {
  main: ['wiring', 'doctor', 'config', 'login-names', 'http', 'observability', 'errors'],
  doctor: ['config', 'pam', 'http', 'upstream', 'store', 'crypto', 'observability', 'okta-errors'],
  wiring: [
    'app',
    'ops',
    'config',
    'authn',
    'pam',
    'org-events',
    'forward-auth',
    'revocation',
    'session',
    'login-names',
    'bearer-auth',
    'http',
    'upstream',
    'store',
    'crypto',
    'observability',
    'errors',
    'factor-types',
  ],
  app: [
    'authn',
    'org-events',
    'forward-auth',
    'session',
    'http',
    'store',
    'crypto',
    'observability',
    'errors',
  ],
  ops: [
    'revocation',
    'session',
    'bearer-auth',
    'http',
    'store',
    'crypto',
    'observability',
    'errors',
    'user-id',
  ],
  authn: [
    'forward-auth',
    'revocation',
    'session',
    'login-names',
    'http',
    'upstream',
    'store',
    'crypto',
    'observability',
    'errors',
    'factor-types',
    'okta-errors',
    'user-id',
  ],
  pam: [
    'forward-auth',
    'session',
    'login-names',
    'bearer-auth',
    'http',
    'upstream',
    'store',
    'crypto',
    'observability',
    'errors',
  ],
  'org-events': [
    'revocation',
    'session',
    'bearer-auth',
    'http',
    'upstream',
    'store',
    'crypto',
    'observability',
    'errors',
    'user-id',
  ],
  'forward-auth': ['session', 'http', 'store', 'crypto', 'observability', 'errors'],
  revocation: ['session', 'store', 'crypto', 'observability', 'errors'],
  session: ['login-names', 'http', 'store', 'crypto', 'observability', 'errors'],
  'login-names': ['crypto'],
  'user-id': [],
  'bearer-auth': ['store', 'crypto', 'observability', 'errors'],
  http: ['observability', 'errors'],
  upstream: ['observability', 'errors'],
  store: ['crypto', 'observability', 'errors'],
  crypto: [],
  observability: ['errors'],
  errors: [],
  'factor-types': [],
  'okta-errors': [],
  config: ['pam', 'store', 'upstream', 'observability', 'errors', 'factor-types'],
  embed: ['wiring', 'config', 'http', 'okta-errors'],
}

/**
 * The arrows of the diagrams in docs/architecture.md: what each module and each folder may import,
 * directly or through others. Type-only imports count too.
 */
const ARROWS = readArrows(readFileSync(new URL('../docs/architecture.md', import.meta.url), 'utf8'))

/** Every module, and every folder of those that have a diagram. */
const DRAWN = new Set([...ARROWS].flatMap(([from, targets]) => [from, ...targets]))

function readArrows(page: string): Map<string, Set<string>> {
  const arrows = new Map<string, Set<string>>()
  const diagrams = page.matchAll(/^## (?:Modules|.*`src\/(\w+)\/`)\n[^#]*?```mermaid\n([^`]*)/gm)
  for (const [, module, diagram = ''] of diagrams) {
    const unitsOf = (names = '') =>
      names.split(' & ').map((name) => (module === undefined || name === module ? name : `${module}/${name}`))
    for (const [, froms, targets] of diagram.matchAll(/^ {2}(.+) --> (.+)$/gm))
      for (const from of unitsOf(froms))
        arrows.set(from, new Set([...(arrows.get(from) ?? []), ...unitsOf(targets)]))
  }
  return arrows
}

function isReachable(from: string, to: string): boolean {
  return [...(ARROWS.get(from) ?? [])].some((next) => next === to || isReachable(next, to))
}

/**
 * `src/authn/sanitize/links.ts` → `authn/sanitize`. A file that is not in a subfolder belongs to
 * the module, unless a diagram names it.
 */
function unitOf(path: string): string {
  const [, , name = '', isFolder] = path.split('/')
  const unit = `${moduleOf(path)}/${name.replace(/\.ts$/, '')}`
  return isFolder !== undefined || DRAWN.has(unit) ? unit : moduleOf(path)
}

/**
 * Pure modules: they import only each other, and zod, which describes the records that they work on
 * and does no I/O.
 */
const PURE = [
  'src/factor-types.ts',
  'src/okta-errors.ts',
  'src/authn/transaction/transaction.ts',
  'src/authn/transaction/answer.ts',
  'src/authn/transaction/credentials.ts',
  'src/authn/transaction/link-paths.ts',
  'src/authn/sanitize/links.ts',
  'src/authn/sanitize/token-search.ts',
  'src/pam/roles.ts',
]

function violations(sources: readonly Source[]): string[] {
  const paths = new Set(sources.map(({ path }) => path))
  return sources.flatMap((source) => {
    const from = moduleOf(source.path)
    const found = importsOf(source).flatMap((specifier) =>
      importViolations(source.path, from, specifier, paths),
    )
    return found.map((what) => `${source.path}: ${what}`)
  })
}

function importViolations(
  path: string,
  from: string,
  specifier: string,
  paths: ReadonlySet<string>,
): string[] {
  if (!specifier.startsWith('.')) {
    if (PURE.includes(path) && specifier !== 'zod') return [`is pure and imports ${specifier}`]
    return []
  }
  const target = targetOf(path, specifier)
  if (target.endsWith('.json') && existsSync(new URL(`../${target}`, import.meta.url))) return []
  if (!paths.has(target)) return target.startsWith('src/') ? [`imports ${target}, which does not exist`] : []
  if (PURE.includes(path) && !PURE.includes(target)) return [`is pure and imports ${target}`]
  const to = moduleOf(target)
  const allowed = MAY_IMPORT[from]
  if (allowed === undefined) return [`belongs to no known module (${from})`]
  if (to !== from) return allowed.includes(to) ? [] : [`${from} must not import ${to} (${target})`]
  const [unit, wanted] = [unitOf(path), unitOf(target)]
  return unit === wanted || !ARROWS.has(from) || isReachable(unit, wanted)
    ? []
    : [`${unit} must not import ${wanted} (${target})`]
}

/** The file that a relative specifier names. */
function targetOf(path: string, specifier: string): string {
  return posix.normalize(posix.join(posix.dirname(path), specifier))
}

/** Import cycles of any length. */
function cycles(sources: readonly Source[]): string[] {
  const imports = new Map(
    sources.map((source) => [
      source.path,
      importsOf(source)
        .filter((specifier) => specifier.startsWith('.'))
        .map((specifier) => targetOf(source.path, specifier)),
    ]),
  )
  const done = new Set<string>()
  const found: string[] = []
  const visitFile = (path: string, trail: readonly string[]) => {
    if (trail.includes(path)) found.push([...trail.slice(trail.indexOf(path)), path].join(' → '))
    if (trail.includes(path) || done.has(path)) return
    for (const next of imports.get(path) ?? []) visitFile(next, [...trail, path])
    done.add(path)
  }
  for (const path of imports.keys()) visitFile(path, [])
  return found
}

/** `src/authn/sanitize/links.ts` → `authn`; `src/app.ts` → `app`. */
function moduleOf(path: string): string {
  return path.split('/')[1]?.replace(/\.ts$/, '') ?? path
}

/** Reads the syntax tree, so that a comment or string that looks like an import is ignored. */
function importsOf({ path, text }: Source): string[] {
  const imports: string[] = []
  visit(parseSync(text, { syntax: 'typescript', target: 'es2022' }).body, (node) => {
    const specifier = specifierOf(node)
    if (specifier === undefined) return
    const { type, value } = specifier ?? {}
    if (type !== 'StringLiteral') throw new Error(`${path}: imports a specifier that is not a literal`)
    imports.push(String(value))
  })
  return imports
}

// biome-ignore lint/suspicious/noExplicitAny: a node of any kind
type Node = Readonly<Record<string, any>>

function visit(value: unknown, onNode: (node: Node) => void): void {
  if (typeof value !== 'object' || value === null) return
  if ('type' in value) onNode(value)
  for (const member of Object.values(value)) visit(member, onNode)
}

/** The node of the specifier that a node imports; undefined if it imports none. */
function specifierOf({ type, source, argument, callee, arguments: given }: Node): Node | undefined {
  if (type === 'TsImportType') return argument
  if (type === 'CallExpression') return callee.type === 'Import' ? given[0].expression : undefined
  return source ?? undefined // import and export declarations
}

const ROOT = join(import.meta.dirname, '..')

/** The houses: what the sources of each may import of the others, by the names of packages. */
const MAY_IMPORT_PACKAGES: Readonly<Record<string, readonly RegExp[]>> = {
  src: [],
  'sandbox/src': [/^gatehouse\/broker$/],
  'demo/src': [/^gatehouse\/broker$/, /^gatehouse-sandbox\//],
  'client/src': [],
}

/** Imports of another house that are not allowed, and relative imports that leave the house. */
function houseViolations(house: string, sources: readonly Source[]): string[] {
  return sources.flatMap((source) =>
    importsOf(source)
      .filter((specifier) =>
        specifier.startsWith('.')
          ? !posix.join(posix.dirname(source.path), specifier).startsWith(`${house}/`)
          : /^gatehouse(-|\/|$)/.test(specifier) &&
            !(MAY_IMPORT_PACKAGES[house] ?? []).some((allowed) => allowed.test(specifier)),
      )
      .map((specifier) => `${source.path}: ${specifier}`),
  )
}

test.each(Object.keys(MAY_IMPORT_PACKAGES))(
  '%s imports other houses only by their entry, in one direction',
  (house) => {
    const sources = sourcesIn(house)
    expect(sources.length).toBeGreaterThan(3)
    expect(houseViolations(house, sources)).toEqual([])
  },
)

test('an import of another house is found', () => {
  const of = (house: string, specifier: string) =>
    houseViolations(house, [{ path: `${house}/x.ts`, text: `import '${specifier}'` }])
  expect(of('sandbox/src', '../../src/wiring.ts')).toEqual(['sandbox/src/x.ts: ../../src/wiring.ts'])
  expect(of('sandbox/src', 'gatehouse-demo/demo')).toHaveLength(1)
  expect(of('src', 'gatehouse-sandbox/sandbox')).toHaveLength(1)
  expect(of('sandbox/src', 'gatehouse/broker')).toEqual([])
})

test('the simulation runs without the broker: only the package and the proof run around it start one', () => {
  const simulation = sourcesIn('sandbox/src').filter(
    ({ path }) => !/^sandbox\/src\/(package|prove)\//.test(path),
  )
  const outside = simulation.flatMap((source) =>
    importsOf(source).filter((specifier) => /gatehouse|package\/|prove\//.test(specifier)),
  )
  expect(outside).toEqual([])
})

/** What unit tests must not import: it starts servers, browsers or the product. */
const STARTS =
  /\bsupport\/(?:redis-(?:server|cluster|sentinels)|chromium|broker-process|proxies|harness)\.ts$|^playwright-core$/

test('unit tests start no server or browser', () => {
  const { roots, testPathIgnorePatterns } = unitTests
  const files = roots
    .flatMap((folder) => sourcesIn(folder.replace('<rootDir>/', '')))
    .filter(({ path }) => !testPathIgnorePatterns.some((ignored) => `/${path}`.includes(ignored)))
  expect(files.length).toBeGreaterThan(120)
  const starting = files.flatMap((source) =>
    valueImportsOf(source)
      .filter((specifier) =>
        STARTS.test(specifier.replace(/^gatehouse-test-support\/(.*)$/, 'support/$1.ts')),
      )
      .map((specifier) => `${source.path}: ${specifier}`),
  )
  expect(starting).toEqual([])
})

const projectSources = () => sourcesIn('src')

function sourcesIn(folder: string): Source[] {
  return readdirSync(join(ROOT, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith('.ts'))
    .map((entry) => join(entry.parentPath, entry.name))
    .map((file) => ({ path: relative(ROOT, file).split('\\').join('/'), text: readFileSync(file, 'utf8') }))
}

// shows: V15.2.3
test('imports follow the rules', () => {
  const sources = projectSources()
  expect(sources.length).toBeGreaterThan(50)
  expect(violations(sources)).toEqual([])
})

/**
 * The rules of a sign-in step: the order of the transaction, without anything that waits or acts.
 */
const RULES = ['src/authn/plan-step.ts', 'src/authn/decide.ts']

test('the rules of a step run no code but rules: no package but zod, nothing of Node', () => {
  const sources = new Map(projectSources().map((source) => [source.path, source]))
  const seen = new Set<string>()
  const packages = new Set<string>()
  const visitFile = (path: string) => {
    if (seen.has(path)) return
    seen.add(path)
    for (const specifier of valueImportsOf(sources.get(path) ?? { path, text: '' }))
      if (specifier.startsWith('.')) visitFile(targetOf(path, specifier))
      else packages.add(specifier)
  }
  RULES.forEach(visitFile)
  expect(seen.size).toBeGreaterThan(15)
  expect([...packages]).toEqual(['zod'])
  for (const path of seen)
    expect({ path, text: sources.get(path)?.text }).not.toMatchObject({ text: expect.stringMatching(ACTS) })
})

/** Words of code that waits, or reads a clock or chance. */
const ACTS = /\b(?:async|await|Promise|setTimeout|Date\.now|performance\.now|Math\.random)\b/

/** Without imports of types, which do not exist at run time. */
function valueImportsOf({ text }: Source): string[] {
  const { body } = parseSync(text, { syntax: 'typescript', target: 'es2022' })
  return body.flatMap((node: Node) => {
    if (node.type !== 'ImportDeclaration' || node.typeOnly) return []
    const isOfTypes = node.specifiers.length > 0 && node.specifiers.every((one: Node) => one.isTypeOnly)
    return isOfTypes ? [] : [String(node.source.value)]
  })
}

test('there are no import cycles, types included', () => {
  expect(cycles(projectSources())).toEqual([])
})

test('what a code of Okta means is known to its table alone: no other file of the sign-in names one', () => {
  const named = projectSources()
    .filter(({ path }) => path.startsWith('src/authn/'))
    .flatMap((source) => codesIn(source).map((code) => `${source.path}: ${code}`))
  expect(named).toEqual([])
  expect(codesIn({ path: 'x.ts', text: `// E0000001\nconst a = code === 'E0000047'` })).toEqual(['E0000047'])
})

/** The error codes in the strings of a file. */
function codesIn({ text }: Source): string[] {
  const codes: string[] = []
  visit(parseSync(text, { syntax: 'typescript', target: 'es2022' }).body, ({ type, value }) => {
    if (type === 'StringLiteral' && /^E0000\d{3}$/.test(value)) codes.push(value)
  })
  return codes
}

test('the names of keys in Redis are known to their table alone', () => {
  const spelled = (text: string) => /keyPrefix\}[a-z]|\bkeyPattern: *['"`][a-z]/.test(text)
  const named = projectSources().filter(({ path, text }) => path !== 'src/store/keys.ts' && spelled(text))
  expect(named.map(({ path }) => path)).toEqual([])
  expect(['`$' + '{keyPrefix}txn:`', 'keyPattern: `sso:*`'].every(spelled)).toBe(true)
})

test('a cycle is found, over folders and re-exports too', () => {
  const text = (statement: string) => `${statement}\nexport const here = 1`
  const sources = [
    { path: 'src/a/a.ts', text: text(`import '../b/b.ts'`) },
    { path: 'src/b/b.ts', text: text(`import type { C } from './c.ts'`) },
    { path: 'src/b/c.ts', text: text(`export { a } from '../a/a.ts'`) },
  ]
  expect(cycles(sources)).toEqual(['src/a/a.ts → src/b/b.ts → src/b/c.ts → src/a/a.ts'])
})

test('the diagrams show exactly the existing modules and subfolders', () => {
  const paths = projectSources().map(({ path }) => path)
  expect(new Set(paths.flatMap((path) => [moduleOf(path), unitOf(path)]))).toEqual(DRAWN)
})

test('every arrow of the diagrams is an import', () => {
  const imports = projectSources().flatMap((source) =>
    importsOf(source)
      .map((specifier) => targetOf(source.path, specifier))
      .flatMap((target) => [moduleOf, unitOf].map((of) => `${of(source.path)} → ${of(target)}`)),
  )
  const arrows = [...ARROWS].flatMap(([from, targets]) => [...targets].map((to) => `${from} → ${to}`))
  expect(arrows.length).toBeGreaterThan(50)
  expect(arrows.filter((arrow) => !imports.includes(arrow))).toEqual([])
})

test('the table allows what the arrows of the modules lead to, or less', () => {
  for (const [module, allowed] of Object.entries(MAY_IMPORT))
    expect([module, allowed.filter((other) => !isReachable(module, other))]).toEqual([module, []])
})

test('every pure module exists, and every module has a row in the table', () => {
  const paths = projectSources().map(({ path }) => path)
  for (const path of PURE) expect(paths).toContain(path)
  expect(new Set(paths.map(moduleOf))).toEqual(new Set(Object.keys(MAY_IMPORT)))
})

test('the diagrams have no cycle', () => {
  const reaches = (from: string, seen: string[] = []): string[] => {
    expect(seen).not.toContain(from)
    return [...(ARROWS.get(from) ?? [])].flatMap((to) => [to, ...reaches(to, [...seen, from])])
  }
  for (const unit of DRAWN) expect(reaches(unit)).not.toContain(unit)
})

describe('a violation is found', () => {
  const OTHERS = [
    'config/config',
    'pam/client',
    'authn/broker',
    'authn/sanitize/links',
    'authn/throttling/throttling',
    'authn/coalescing/step-locks',
    'session/session',
    'store/store',
    'http/route',
    'wiring',
    'app',
  ].map((name) => ({ path: `src/${name}.ts`, text: 'export const here = 1' }))
  const found = (path: string, text: string) =>
    violations([...OTHERS.filter((other) => other.path !== path), { path, text }])
  const from = (specifier: string) => `import { a } from '${specifier}'; export const b = a`

  test.each([
    ['authn/x', from('../config/config.ts'), 'authn must not import config'],
    ['http/x', `import type { C } from '../config/config.ts'`, 'http must not import config'],
    ['http/x', `export type X = import('../config/config.ts').C`, 'http must not import config'],
    ['authn/x', from('../pam/client.ts'), 'authn must not import pam'],
    ['authn/transaction/x', from('../sanitize/links.ts'), 'authn/transaction must not import authn/sanitize'],
    ['authn/step/x', from('../broker.ts'), 'authn/step must not import authn '],
    ['session/x', `export { a } from '../pam/client.ts'; export const b = 1`, 'session must not import pam'],
    ['http/x', `const a = await import('../session/session.ts')`, 'http must not import session'],
    ['app', from('./wiring.ts'), 'app must not import wiring'],
    ['session/x', `export * from '../authn/broker.ts'; export const a = 1`, 'session must not import authn'],
    ['authn/sanitize/links', `import express from 'express'`, 'is pure and imports express'],
    ['authn/transaction/transaction', from('node:crypto'), 'is pure and imports node:crypto'],
    ['authn/transaction/transaction', from('../broker.ts'), 'is pure and imports src/authn/broker.ts'],
    ['utils/x', from('../http/route.ts'), 'belongs to no known module'],
    ['http/x', from('./gone.ts'), 'which does not exist'],
  ])('%s: %s', (name, text, what) => {
    expect(found(`src/${name}.ts`, text)).toEqual([expect.stringContaining(what)])
  })

  test('an import that is known only at run time is refused, because it cannot be checked', () => {
    const text = 'export const x = (name: string) => import(name)'
    expect(() => found('src/http/x.ts', text)).toThrow('imports a specifier that is not a literal')
  })

  test('text that only looks like an import is accepted', () => {
    const text = `// import x from '../config/config.ts'\nexport const x = "import '../config/config.ts'"`
    expect(found('src/http/x.ts', text)).toEqual([])
    expect(found('src/pam/x.ts', `import type { Session } from '../session/session.ts'`)).toEqual([])
  })
})
