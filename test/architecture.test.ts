import { readdirSync, readFileSync } from 'node:fs'
import { builtinModules } from 'node:module'
import { join, posix, relative } from 'node:path'
import { describe, expect, test } from '@jest/globals'
import { parseSync } from '@swc/core'

/**
 * DESIGN §8 as data: which part may import which, in one direction. The checker is a function over sources, so that
 * made-up violations show that every rule bites.
 */
interface Source {
  /** Relative to the project, such as `src/http/routes.ts`. */
  readonly path: string
  readonly text: string
}

/** What each part of the broker may import beside itself. Type-only imports count like any other. */
const MAY_IMPORT: Readonly<Record<string, readonly string[]>> = {
  main: ['wiring', 'config', 'http', 'store', 'observability', 'errors'],
  wiring: [
    ...['app', 'ops', 'config', 'authn', 'pam', 'session', 'http', 'upstream', 'store', 'crypto'],
    ...['observability', 'errors'],
  ],
  app: ['authn', 'pam', 'session', 'http', 'upstream', 'store', 'crypto', 'observability', 'errors'],
  ops: [
    'openapi',
    'authn',
    'pam',
    'session',
    'http',
    'upstream',
    'store',
    'crypto',
    'observability',
    'errors',
  ],
  openapi: ['openapi-examples', 'authn', 'pam', 'session', 'http', 'observability'],
  'openapi-examples': [],
  authn: ['session', 'http', 'upstream', 'store', 'crypto', 'observability', 'errors', 'factor-types'],
  pam: ['session', 'http', 'upstream', 'store', 'crypto', 'observability', 'errors'],
  session: ['http', 'upstream', 'store', 'crypto', 'observability', 'errors'],
  http: ['observability', 'errors'],
  upstream: ['observability', 'errors'],
  store: ['crypto', 'observability', 'errors'],
  crypto: ['observability', 'errors'],
  observability: ['errors'],
  errors: [],
  'factor-types': [],
  config: ['observability', 'errors', 'factor-types'],
  sandbox: [],
  demo: ['sandbox', 'wiring', 'openapi', 'config', 'http', 'store', 'observability', 'errors'],
}

/** What each subfolder may import beside itself: whatever the drawings of docs/architecture.md lead to. */
const DRAWN = drawnArrows(readFileSync(new URL('../docs/architecture.md', import.meta.url), 'utf8'))

function drawnArrows(page: string): Map<string, Set<string>> {
  const arrows = new Map<string, Set<string>>()
  for (const [, part = '', drawing = ''] of page.matchAll(/`src\/(\w+)\/`\n.*?```mermaid\n(.*?)```/gs))
    for (const [, from, to] of drawing.matchAll(/^ {2}(\S+) --> (\S+)$/gm)) {
      const unit = from === part ? part : `${part}/${from}`
      arrows.set(unit, (arrows.get(unit) ?? new Set()).add(`${part}/${to}`))
    }
  return arrows
}

function isDrawn(from: string, to: string): boolean {
  return [...(DRAWN.get(from) ?? [])].some((next) => next === to || isDrawn(next, to))
}

/** `src/authn/sanitize/links.ts` → `authn/sanitize`; a file beside the subfolders is of the part, unless it is drawn. */
function unitOf(path: string): string {
  const [part = '', name = ''] = path.split('/').slice(1)
  const unit = `${part}/${name.replace(/\.ts$/, '')}`
  const isFolder = path.split('/').length > 3
  return isFolder || [...DRAWN.values()].some((targets) => targets.has(unit)) ? unit : part
}

/** Rules without input or output: they import nothing but each other. */
const PURE = [
  'src/factor-types.ts',
  'src/authn/transaction/transaction.ts',
  'src/authn/transaction/answer.ts',
  'src/authn/transaction/enrolment.ts',
  'src/authn/transaction/offered-steps.ts',
  'src/authn/transaction/proof.ts',
  'src/authn/sanitize/links.ts',
  'src/authn/sanitize/tokens.ts',
  'src/pam/roles.ts',
]

/** Where the process's environment may be read. */
const READS_ENVIRONMENT = ['src/main.ts', 'src/demo/main.ts', 'src/sandbox/main.ts']

const FILE_NAME = /^[a-z0-9]+(-[a-z0-9]+)*(\.d)?\.ts$/

function violations(sources: readonly Source[]): string[] {
  const paths = new Set(sources.map(({ path }) => path))
  return sources.flatMap((source) => {
    const facts = factsOf(source)
    const from = partOf(source.path)
    const found = facts.imports.flatMap((specifier) => importViolations(source.path, from, specifier, paths))
    const name = posix.basename(source.path)
    if (!FILE_NAME.test(name)) found.push('its name is not kebab-case')
    if (facts.hasDefaultExport) found.push('has a default export')
    if (facts.isBarrel) found.push('is a barrel: it only exports what others wrote')
    if (facts.readsEnvironment && !READS_ENVIRONMENT.includes(source.path)) {
      found.push('reads the environment of the process')
    }
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
    if (PURE.includes(path)) return [`is pure and imports ${specifier}`]
    return specifier.startsWith('node:') || !builtinModules.includes(specifier)
      ? []
      : [`imports ${specifier} without node:`]
  }
  const target = posix.normalize(posix.join(posix.dirname(path), specifier))
  if (!paths.has(target)) return target.startsWith('src/') ? [`imports ${target}, which is not there`] : []
  if (PURE.includes(path) && !PURE.includes(target)) return [`is pure and imports ${target}`]
  const to = partOf(target)
  const allowed = MAY_IMPORT[from]
  if (allowed === undefined) return [`belongs to no known part (${from})`]
  if (to !== from) return allowed.includes(to) ? [] : [`${from} must not import ${to} (${target})`]
  const [unit, wanted] = [unitOf(path), unitOf(target)]
  return unit === wanted || !DRAWN.has(from) || isDrawn(unit, wanted)
    ? []
    : [`${unit} must not import ${wanted} (${target})`]
}

/** Files that import each other, in any number of steps. */
function cycles(sources: readonly Source[]): string[] {
  const imports = new Map(
    sources.map((source) => [
      source.path,
      factsOf(source)
        .imports.filter((specifier) => specifier.startsWith('.'))
        .map((specifier) => posix.normalize(posix.join(posix.dirname(source.path), specifier))),
    ]),
  )
  const done = new Set<string>()
  const found: string[] = []
  const visitFile = (path: string, way: readonly string[]) => {
    if (way.includes(path)) found.push([...way.slice(way.indexOf(path)), path].join(' → '))
    if (way.includes(path) || done.has(path)) return
    for (const next of imports.get(path) ?? []) visitFile(next, [...way, path])
    done.add(path)
  }
  for (const path of imports.keys()) visitFile(path, [])
  return found
}

/** `src/authn/sanitize/links.ts` → `authn`; `src/app.ts` → `app`. */
function partOf(path: string): string {
  return path.split('/')[1]?.replace(/\.ts$/, '') ?? path
}

interface Facts {
  readonly imports: readonly string[]
  readonly hasDefaultExport: boolean
  readonly isBarrel: boolean
  readonly readsEnvironment: boolean
}

/** From the syntax tree: a comment or a string that looks like an import is none. */
function factsOf({ path, text }: Source): Facts {
  const { body } = parseSync(text, { syntax: 'typescript', target: 'es2022' })
  const imports: string[] = []
  let readsEnvironment = false
  let hasDefaultExport = false
  visit(body, (node) => {
    const specifier = specifierOf(node)
    if (specifier === null) throw new Error(`${path}: imports something that is not written out`)
    if (specifier !== undefined) imports.push(specifier)
    if (isEnvironment(node)) readsEnvironment = true
    if (isDefaultExport(node)) hasDefaultExport = true
  })
  const passesOn = ['ExportAllDeclaration', 'ExportNamedDeclaration', 'ImportDeclaration']
  const isBarrel =
    body.some(({ type }) => type.startsWith('Export')) && body.every(({ type }) => passesOn.includes(type))
  return { imports, hasDefaultExport, isBarrel, readsEnvironment }
}

type Node = Readonly<Record<string, unknown>> & { readonly type: string }

function visit(value: unknown, look: (node: Node) => void): void {
  if (Array.isArray(value)) for (const member of value) visit(member, look)
  else if (typeof value === 'object' && value !== null) {
    if ('type' in value && typeof value.type === 'string') look({ ...value, type: value.type })
    for (const member of Object.values(value)) visit(member, look)
  }
}

/** What a node imports; undefined: nothing; null: something that is only known at run time. */
function specifierOf(node: Node): string | null | undefined {
  switch (node.type) {
    case 'ImportDeclaration':
    case 'ExportAllDeclaration':
    case 'ExportNamedDeclaration':
      return node.source === null ? undefined : stringOf(node.source)
    case 'TsImportType':
      return stringOf(node.argument)
    case 'TsExternalModuleReference':
      return stringOf(node.expression)
    case 'CallExpression': {
      if (typeOf(node.callee) !== 'Import' && nameOf(node.callee) !== 'require') return undefined
      const [first] = Array.isArray(node.arguments) ? node.arguments : []
      return stringOf(first?.expression)
    }
    default:
      return undefined
  }
}

function isEnvironment(node: Node): boolean {
  if (node.type === 'MemberExpression') {
    return (
      nameOf(node.object) === 'process' && (nameOf(node.property) ?? computedName(node.property)) === 'env'
    )
  }
  if (node.type === 'ImportDeclaration' && /^(node:)?process$/.test(stringOf(node.source) ?? '')) return true
  return (
    node.type === 'VariableDeclarator' &&
    nameOf(node.init) === 'process' &&
    typeOf(node.id) === 'ObjectPattern'
  )
}

function isDefaultExport(node: Node): boolean {
  if (node.type === 'ExportDefaultDeclaration' || node.type === 'ExportDefaultExpression') return true
  if (node.type === 'TsExportAssignment') return true
  return node.type === 'ExportSpecifier' && nameOf(node.exported ?? node.orig) === 'default'
}

const member = (value: unknown, name: string): unknown =>
  typeof value === 'object' && value !== null
    ? Object.getOwnPropertyDescriptor(value, name)?.value
    : undefined
const typeOf = (value: unknown) => member(value, 'type')
const nameOf = (value: unknown) => (typeOf(value) === 'Identifier' ? member(value, 'value') : undefined)
const computedName = (value: unknown) => stringOf(member(value, 'expression'))

function stringOf(value: unknown): string | null {
  const text = typeOf(value) === 'StringLiteral' ? member(value, 'value') : undefined
  return typeof text === 'string' ? text : null
}

const ROOT = join(import.meta.dirname, '..')

function projectSources(): Source[] {
  return readdirSync(join(ROOT, 'src'), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith('.ts'))
    .map((entry) => join(entry.parentPath, entry.name))
    .map((file) => ({ path: relative(ROOT, file).split('\\').join('/'), text: readFileSync(file, 'utf8') }))
}

test('imports point one way, pure rules import nothing, and every file is named and exported as agreed', () => {
  const sources = projectSources().filter(({ path }) => !path.startsWith('src/demo/page/'))
  expect(sources.length).toBeGreaterThan(50)
  expect(violations(sources)).toEqual([])
})

test('no file imports itself over others, types included', () => {
  expect(cycles(projectSources())).toEqual([])
})

test.each([
  [
    'two files',
    { 'src/a.ts': `import type { B } from './b.ts'`, 'src/b.ts': `import './a.ts'` },
    'src/a.ts → src/b.ts → src/a.ts',
  ],
  [
    'three files in two folders',
    {
      'src/a/a.ts': `import '../b/b.ts'`,
      'src/b/b.ts': `import './c.ts'`,
      'src/b/c.ts': `export { a } from '../a/a.ts'`,
    },
    'src/a/a.ts → src/b/b.ts → src/b/c.ts → src/a/a.ts',
  ],
])('a made-up cycle of %s is found', (_name, files, cycle) => {
  const sources = Object.entries(files).map(([path, text]) => ({
    path,
    text: `${text}\nexport const here = 1`,
  }))
  expect(cycles(sources)).toEqual([cycle])
})

test('every subfolder is drawn, and every drawn one is there', () => {
  const units = projectSources()
    .filter(({ path }) => /^src\/(authn|pam)\//.test(path))
    .map(({ path }) => unitOf(path))
  const drawn = [...DRAWN].flatMap(([from, targets]) => [from, ...targets])
  expect(new Set(units)).toEqual(new Set(drawn))
})

test('every pure module and every part that a rule names is there', () => {
  const sources = projectSources()
  const paths = sources.map(({ path }) => path)
  for (const path of PURE) expect(paths).toContain(path)
  expect(new Set(paths.map(partOf))).toEqual(new Set(Object.keys(MAY_IMPORT)))
})

test('the rules themselves have no circle', () => {
  const reaches = (from: string, seen: string[] = []): string[] => {
    expect(seen).not.toContain(from)
    return (MAY_IMPORT[from] ?? []).flatMap((to) => [to, ...reaches(to, [...seen, from])])
  }
  for (const part of Object.keys(MAY_IMPORT)) expect(reaches(part)).not.toContain(part)
})

describe('a made-up violation is found', () => {
  const others: Source[] = [
    ...[
      'src/config/config.ts',
      'src/pam/client.ts',
      'src/authn/broker.ts',
      'src/authn/sanitize/links.ts',
      'src/authn/throttling/throttling.ts',
      'src/authn/coalescing/step-locks.ts',
      'src/session/session.ts',
      'src/store/store.ts',
      'src/http/routes.ts',
      'src/sandbox/sandbox.ts',
      'src/wiring.ts',
      'src/app.ts',
    ],
  ].map((path) => ({ path, text: 'export const here = 1' }))
  const found = (path: string, text: string) =>
    violations([...others.filter((other) => other.path !== path), { path, text }])

  test.each<[string, string, string, string]>([
    [
      'a live import of configuration',
      'src/authn/x.ts',
      `import { config } from '../config/config.ts'`,
      'authn must not import config',
    ],
    [
      'only a type of it',
      'src/http/x.ts',
      `import type { Config } from '../config/config.ts'`,
      'http must not import config',
    ],
    [
      'a type in place',
      'src/http/x.ts',
      `export type X = import('../config/config.ts').Config`,
      'http must not import config',
    ],
    [
      'sign-in that knows PAM',
      'src/authn/x.ts',
      `import { a } from '../pam/client.ts'`,
      'authn must not import pam',
    ],
    [
      'PAM that knows sign-in',
      'src/pam/x.ts',
      `import { a } from '../authn/broker.ts'`,
      'pam must not import authn',
    ],
    [
      'a subfolder against its arrows',
      'src/authn/transaction/x.ts',
      `import type { A } from '../sanitize/links.ts'`,
      'authn/transaction must not import authn/sanitize',
    ],
    [
      'a subfolder beside another one',
      'src/authn/redirects/x.ts',
      `import { a } from '../coalescing/step-locks.ts'`,
      'authn/redirects must not import authn/coalescing',
    ],
    [
      'a subfolder that knows what puts it together',
      'src/authn/sign-in/x.ts',
      `import { a } from '../broker.ts'`,
      'authn/sign-in must not import authn ',
    ],
    [
      'a session that knows sign-in',
      'src/session/x.ts',
      `import '../authn/broker.ts'`,
      'session must not import authn',
    ],
    [
      'a session that knows PAM',
      'src/session/x.ts',
      `export { a } from '../pam/client.ts'; export const b = 1`,
      'session must not import pam',
    ],
    [
      'middleware that knows a room',
      'src/http/x.ts',
      `const a = await import('../session/session.ts')`,
      'http must not import session',
    ],
    [
      'a store that knows HTTP',
      'src/store/x.ts',
      `import { a } from '../http/routes.ts'`,
      'store must not import http',
    ],
    [
      'configuration that knows the store',
      'src/config/x.ts',
      `import { a } from '../store/store.ts'`,
      'config must not import store',
    ],
    [
      'errors that know anything',
      'src/errors.ts',
      `import { a } from './http/routes.ts'`,
      'errors must not import http',
    ],
    [
      'a room that knows the whole',
      'src/authn/x.ts',
      `import { wire } from '../wiring.ts'`,
      'authn must not import wiring',
    ],
    [
      'an application that knows its wiring',
      'src/app.ts',
      `import { wire } from './wiring.ts'; export const a = wire`,
      'app must not import wiring',
    ],
    [
      'a sandbox that shares code',
      'src/sandbox/x.ts',
      `export * from '../authn/broker.ts'; export const a = 1`,
      'sandbox must not import authn',
    ],
    [
      'a broker that knows the sandbox',
      'src/wiring.ts',
      `import { a } from './sandbox/sandbox.ts'`,
      'wiring must not import sandbox',
    ],
    [
      'a package in a pure module',
      'src/authn/sanitize/links.ts',
      `import express from 'express'`,
      'is pure and imports express',
    ],
    [
      'a node: module in a pure module',
      'src/authn/transaction/transaction.ts',
      `import { randomUUID } from 'node:crypto'`,
      'is pure and imports node:crypto',
    ],
    [
      'a type of a package in a pure module',
      'src/pam/roles.ts',
      `import type { Redis } from 'ioredis'`,
      'is pure and imports ioredis',
    ],
    [
      'an impure neighbour of a pure module',
      'src/authn/transaction/transaction.ts',
      `import { a } from '../broker.ts'`,
      'is pure and imports src/authn/broker.ts',
    ],
    ['a default export', 'src/http/x.ts', 'export default function x() {}', 'has a default export'],
    [
      'a default export by another name',
      'src/http/x.ts',
      'const x = 1; export { x as default }',
      'has a default export',
    ],
    ['a barrel', 'src/http/x.ts', `export * from './routes.ts'`, 'is a barrel'],
    [
      'a barrel that takes a way round',
      'src/http/x.ts',
      `import { a } from './routes.ts'\nexport { a }`,
      'is a barrel',
    ],
    ['a name in camel case', 'src/http/clientAddress.ts', 'export const x = 1', 'its name is not kebab-case'],
    ['a name in capitals', 'src/http/Routes.ts', 'export const x = 1', 'its name is not kebab-case'],
    [
      'the environment in a room',
      'src/http/x.ts',
      'export const x = process.env.HOME',
      'reads the environment',
    ],
    ['the environment by a key', 'src/http/x.ts', `export const x = process['env']`, 'reads the environment'],
    [
      'the environment taken apart',
      'src/http/x.ts',
      'const { env } = process; export const x = env',
      'reads the environment',
    ],
    [
      'the environment imported',
      'src/http/x.ts',
      `import { env } from 'node:process'; export const x = env`,
      'reads the environment',
    ],
    [
      'a part that nobody planned',
      'src/utils/x.ts',
      `import { a } from '../http/routes.ts'; export const b = a`,
      'belongs to no known part',
    ],
    [
      'a file that is not there',
      'src/http/x.ts',
      `import { a } from './gone.ts'; export const b = a`,
      'which is not there',
    ],
    [
      'a built-in module without its prefix',
      'src/http/x.ts',
      `import fs from 'fs'; export const a = fs`,
      'without node:',
    ],
  ])('%s', (_name, path, text, what) => {
    expect(found(path, text)).toEqual([expect.stringContaining(what)])
  })

  test('an import that is only known at run time can not be checked, and is refused', () => {
    expect(() => found('src/http/x.ts', 'export const x = (name: string) => import(name)')).toThrow(
      'imports something that is not written out',
    )
  })

  test('what only looks like one is none', () => {
    const text = `// import x from '../config/config.ts'\nexport const x = "import '../config/config.ts'"`
    expect(found('src/http/x.ts', text)).toEqual([])
    expect(found('src/main.ts', `import { a } from './wiring.ts'; export const b = process.env`)).toEqual([])
    expect(found('src/pam/x.ts', `import type { Session } from '../session/session.ts'`)).toEqual([])
  })
})
