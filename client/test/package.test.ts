import { execFileSync, spawnSync } from 'node:child_process'
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import * as client from 'gatehouse-client'
import { ENGLISH, FRENCH, GERMAN, SPANISH } from 'gatehouse-client/messages'
import { COMPILERS, errorsIn } from 'gatehouse-test-support/compile-pages'

/** The packed tarball of gatehouse-client, as a portal installs it. */

const CLIENT = join(import.meta.dirname, '../../client')
const EXAMPLES = join(import.meta.dirname, '../../examples/')
/** Of a page that calls the broker, and of one that has the controller too. */
const MAX_BYTES = { createGatehouse: 6500, createSignInController: 8600 }

/** The chunks that rolldown makes, in a process of its own: it is an ES module. */
function bundle(input: object, output: object): { code: string; imports: string[] }[] {
  const script = `
    import { rolldown } from ${JSON.stringify(createRequire(EXAMPLES).resolve('rolldown'))}
    const bundle = await rolldown(${JSON.stringify(input)})
    const { output } = await bundle.generate(${JSON.stringify(output)})
    await bundle.close()
    process.stdout.write(JSON.stringify(output.map(({ code, imports }) => ({ code, imports }))))`
  return JSON.parse(
    execFileSync(process.execPath, ['--input-type=module', '-e', script], { encoding: 'utf8' }),
  )
}

let portal: string
let installed: string
beforeAll(() => {
  portal = mkdtempSync(join(tmpdir(), 'gatehouse-client-'))
  installed = join(portal, 'node_modules/gatehouse-client')
  mkdirSync(installed, { recursive: true })
  // without scripts: other tests import dist/ at this moment
  const pack = ['pack', '--ignore-scripts', '--silent', '--pack-destination', portal]
  const tarball = execFileSync('npm', pack, { cwd: CLIENT, encoding: 'utf8' }).trim()
  execFileSync('tar', ['-xzf', join(portal, tarball), '-C', installed, '--strip-components=1'])
  writeFileSync(join(portal, 'package.json'), JSON.stringify({ type: 'module' }))
})
afterAll(() => rmSync(portal, { recursive: true }))

test('it has the compiled code with types, the licence and the README, and no dependencies', () => {
  const files = readdirSync(installed, { recursive: true, withFileTypes: true })
  const names = files.filter((file) => file.isFile()).map(({ name }) => name)
  expect(names.filter((name) => !/\.js$|\.d\.ts$/.test(name)).sort()).toEqual([
    'LICENSE',
    'README.md',
    'package.json',
  ])
  const described = JSON.parse(readFileSync(join(installed, 'package.json'), 'utf8'))
  // dead in the package
  expect(readFileSync(join(installed, 'README.md'), 'utf8')).not.toMatch(/\]\((?!https?:)/)
  const own = Object.keys(described).filter((name) => /dependencies/i.test(name))
  expect([described.name, described.sideEffects, own]).toEqual(['gatehouse-client', false, []])
  const isOld = (path: string) =>
    readdirSync(join(CLIENT, 'src')).includes(path.replace(/\.d\.ts$|\.js$/, '.ts'))
  const compiled = readdirSync(join(installed, 'dist'), { withFileTypes: true }).filter((file) =>
    file.isFile(),
  )
  expect(compiled.map(({ name }) => name).filter((name) => !isOld(name))).toEqual([])
})

test.each(Object.entries(MAX_BYTES))(
  'a page with %s gets less than %i bytes, bundled, minified and compressed',
  (name, maxBytes) => {
    const hasController = name === 'createSignInController'
    const used = Object.keys(client).filter((one) => hasController || one !== 'createSignInController')
    writeFileSync(join(portal, 'page.js'), `export { ${used} } from 'gatehouse-client'`)
    const output = bundle({ input: join(portal, 'page.js') }, { minify: true, format: 'es' })
    const [{ code, imports } = { code: '', imports: [] }] = output
    expect([output.length, imports, code.includes('createGatehouse')]).toEqual([1, [], true])
    expect(gzipSync(code).length).toBeLessThan(maxBytes)
  },
)

test('a portal of one language has the texts of no other', () => {
  const line = "import { FRENCH, messages } from 'gatehouse-client/messages'; console.log(messages(FRENCH))"
  writeFileSync(join(portal, 'one-language.js'), line)
  const [{ code } = { code: '' }] = bundle({ input: join(portal, 'one-language.js') }, { format: 'es' })
  const titles = [ENGLISH, FRENCH, GERMAN, SPANISH].map(({ messages }) => messages.wrongCredentials[0])
  expect(titles.filter((title) => code.includes(title))).toEqual([FRENCH.messages.wrongCredentials[0]])
})

test('with the configuration of the README, Jest compiles it', () => {
  const [, config = ''] =
    /```js\n(\/\/ jest\.config\.mjs\n.*?)```/s.exec(readFileSync(join(CLIENT, 'README.md'), 'utf8')) ?? []
  writeFileSync(join(portal, 'jest.config.mjs'), config)
  writeFileSync(
    join(portal, 'portal.test.js'),
    `import { createGatehouse } from 'gatehouse-client'
    import { describeError } from 'gatehouse-client/messages'
    test('imports', () => expect([typeof createGatehouse, typeof describeError]).toEqual(['function', 'function']))`,
  )
  const modules = join(CLIENT, '../node_modules')
  symlinkSync(join(modules, '@swc'), join(portal, 'node_modules/@swc'))
  const { NODE_OPTIONS: _, ...env } = process.env
  const jest = [join(modules, 'jest/bin/jest.js')]
  const { status, stderr } = spawnSync(process.execPath, jest, { cwd: portal, encoding: 'utf8', env })
  expect([status, stderr]).toEqual([0, expect.stringContaining('1 passed')])
})

/** As the README says. */
const BROWSERS = ['chrome100', 'edge100', 'firefox97', 'safari16.4']
/** Newer than these browsers. */
const NEWER =
  /AbortSignal\.(any|timeout)\(|URL\.(canParse|parse)\(|OptionsFromJSON|structuredClone|\.(toSorted|toReversed|findLast|toWellFormed)\(|(Object|Map)\.groupBy|withResolvers|fromAsync/

test('it runs unchanged in the oldest browsers that the README names', () => {
  const bundled = (target: readonly string[]) =>
    ['index', 'messages/index']
      .map((entry) => {
        const input = { input: join(installed, `dist/${entry}.js`), transform: { target } }
        return bundle(input, { format: 'es', comments: false })[0]?.code
      })
      .join()
  const code = bundled(BROWSERS)
  expect(code).toBe(bundled(['esnext']))
  expect(code.replaceAll(/\/\*.*?\*\/|\/\/.*/gs, '').match(NEWER)).toBeNull()
  expect(bundled(['es2018'])).not.toBe(code)
  const readme = readFileSync(join(CLIENT, 'README.md'), 'utf8')
  expect(readme).toMatch(/Chrome and Edge 100,\s+Firefox 97, Safari 16\.4, and later/)
})

const HEAD = `
import { createGatehouse, type Factor, type Session, type SignInState, type SignInStep } from 'gatehouse-client'
import { type Catalogue, ENGLISH, type MessageKey, messages } from 'gatehouse-client/messages'
import { ENGLISH as PAGE, type Texts } from './english.js'
declare const step: SignInStep
declare const factor: Factor
declare const session: Session
declare const state: SignInState
const first: string | null | undefined = session.profile.firstName
console.log(first, session.profile.costCenter)
const gatehouse = createGatehouse({ baseUrl: 'https://portal.example.com' })
const { offline, ...allButOne } = ENGLISH.messages
const { hello, ...allTextsButOne } = PAGE
`
const MISTAKES: readonly (readonly [line: string, ...codes: string[]])[] = [
  ["if (step.status === 'MFA_REQIRED') console.log(step)", 'TS2367'],
  ['void step.verify(factor)', 'TS2339'],
  ["if (step.status === 'MFA_CHALLENGE') void step.poll()", 'TS2339'],
  ["if (step.status === 'MFA_CHALLENGE') void step.resend()", 'TS2722'],
  [
    "if (step.status === 'MFA_REQUIRED' && factor.factorType === 'sms') void step.verify(factor, { answer: 'a' })",
    'TS2353',
  ],
  ["if (step.status === 'PASSWORD_EXPIRED') void step.changePassword", 'TS2339'],
  [
    "if (step.status === 'PASSWORD_EXPIRED' && step.next === 'changePassword') void step.changePassword({ newPassword: 'a' })",
    'TS2345',
    'TS2741',
  ],
  ["void gatehouse.signIn({ username: 'a' })", 'TS2345'],
  ["void gatehouse.recoverPassword({ username: 'a', factorType: 'sms' })", 'TS2820', 'TS2322'],
  ["messages({ ...ENGLISH, messages: { ...ENGLISH.messages, smsSent: ['Sent', 'No time.'] } })", 'TS2322'],
  ["const key: MessageKey = 'ofline'; console.log(key)", 'TS2820', 'TS2322'],
  ['console.log(step.answer._embedded.factors)', 'TS2339'],
  ["if (factor.factorType === 'push') console.log(factor.profile?.phoneNumber)", 'TS2339', 'TS2551'],
  ['const wrong: number | null | undefined = session.profile.firstName; console.log(wrong)', 'TS2322'],
  ['const cost: string = session.profile.costCenter; console.log(cost)', 'TS2322'],
  ["if (state.view === 'signedin') console.log(state)", 'TS2367'],
  ["if (factor.factorType === 'SMS') console.log(factor)", 'TS2367'],
]
/** Mistakes in another language of the client or of the starter: the error names the text. */
const MISTRANSLATED: readonly (readonly [key: string, line: string, ...codes: string[]])[] = [
  [
    'offline',
    'const one: Catalogue = { ...ENGLISH, messages: allButOne }; messages(one)',
    'TS2741',
    'TS2322',
  ],
  [
    'ofline',
    "messages({ ...ENGLISH, messages: { ...ENGLISH.messages, ofline: ['', ''] } })",
    'TS2353',
    'TS2561',
  ],
  ['hello', 'const page: Texts = allTextsButOne; console.log(page)', 'TS2741'],
  ['helo', "const other: Texts = { ...PAGE, helo: '' }; console.log(other)", 'TS2353', 'TS2561'],
]
const ALL_MISTAKES = [...MISTAKES, ...MISTRANSLATED.map(([, line, ...codes]) => [line, ...codes])]
const PAGE = readFileSync(join(EXAMPLES, 'react/src/language/english.ts'), 'utf8')
const RESOLUTIONS = {
  nodenext: { module: 'nodenext', moduleResolution: 'nodenext' },
  bundler: { module: 'es2022', moduleResolution: 'bundler' },
}
/** TypeScript 7 has it no more. */
const OLD_RESOLUTIONS = { ...RESOLUTIONS, node10: { module: 'es2022', moduleResolution: 'node10' } }

describe.each(COMPILERS)('compiled with %s', (name, tsc) => {
  test.each(Object.entries(name === 'TypeScript 5' ? OLD_RESOLUTIONS : RESOLUTIONS))(
    '%s, its own types included: each mistake is an error, and nothing else is',
    (_resolution, options) => {
      const all = {
        ...options,
        target: 'es2022',
        skipLibCheck: false,
        lib: ['es2023', 'dom', 'dom.iterable'],
      }
      const mistakes = `${HEAD}\n${ALL_MISTAKES.map(([line]) => line).join('\n')}\n`
      const found = errorsIn(portal, { 'mistakes.ts': mistakes, 'english.ts': PAGE }, tsc, all)
      expect(found.map(([file, line]) => [file, line])).toEqual(
        ALL_MISTAKES.map(([line]) => ['mistakes.ts', line]),
      )
      for (const [index, [, , code]] of found.entries()) expect(ALL_MISTAKES[index]?.slice(1)).toContain(code)
      const texts = found.slice(MISTAKES.length).map(([, , , text]) => text)
      for (const [index, [key]] of MISTRANSLATED.entries()) expect(texts[index]).toContain(`'${key}'`)
    },
  )
})
