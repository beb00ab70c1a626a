import { readdirSync, readFileSync } from 'node:fs'
import { Session } from 'node:inspector/promises'
import { PassThrough } from 'node:stream'
import { parseSync } from '@swc/core'
import { startDemo } from '../build/demo/demo.js'
import { defaultConfigPath } from '../build/sandbox/sandbox-config.js'

/** `npm run figures`: prints the code metrics of docs/architecture.md, and the files and functions above the goals. */

const MAX_BODY_LINES = 40
const MAX_FILE_LINES = 250
/** Composition roots are long, but have no logic. */
const COMPOSITION_ROOTS = /^src\/(wiring|app|ops|authn\/create-authn|pam\/create-pam)\.ts$/

const files = readdirSync('src', { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.ts') && !/^(sandbox|sandbox-package|demo)\//.test(name))
  .map((name) => `src/${name}`)
  .sort()

const linesIn = (text) => text.toString().split('\n').length - 1
const linesOf = (path) => linesIn(readFileSync(path))
const sum = (paths) => paths.reduce((lines, path) => lines + linesOf(path), 0)

/** The number of lines in the body of each function of a file, with its location. */
function bodiesIn(path) {
  const text = readFileSync(path)
  const bodies = []
  const visit = (node) => {
    if (typeof node !== 'object' || node === null) return
    if (node.type === 'FunctionBody') {
      const [start, end] = [node.span.start - 1, node.span.end - 1] // the parser counts bytes from 1
      const place = `${path}:${linesIn(text.subarray(0, start)) + 1}`
      bodies.push({ place, lines: linesIn(text.subarray(start, end)) - 1 })
    }
    for (const member of Object.values(node)) visit(member)
  }
  visit(parseSync(text.toString(), { syntax: 'typescript', target: 'es2022' }))
  return bodies
}

/** The broker's files with a function that ran during `work`. */
async function filesThatRan(work) {
  const session = new Session()
  session.connect()
  await session.post('Profiler.enable')
  await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: true })
  await work()
  const { result } = await session.post('Profiler.takePreciseCoverage')
  session.disconnect()
  return result
    .filter(({ functions }) =>
      functions.some(({ functionName, ranges }) => functionName !== '' && (ranges[0]?.count ?? 0) > 0),
    )
    .map(({ url }) => `src/${url.split('/build/')[1]?.replace(/\.js$/, '.ts')}`)
    .filter((path) => files.includes(path))
}

/** The files that a successful password step runs through, after a warm-up. */
async function filesOfPasswordStep() {
  const demo = await startDemo({
    port: 28_080, // the public origin is part of the configuration, so it must be known
    sandboxConfigPath: defaultConfigPath,
    logStream: new PassThrough().resume(),
  })
  const signIn = async () => {
    const response = await fetch(`${demo.url}/api/v1/authn`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'sec-fetch-site': 'same-origin' },
      body: JSON.stringify({ username: 'amelia.stone', password: 'Demo-Password-1' }),
    })
    if (!response.ok) throw new Error(`the password step responded ${response.status}`)
  }
  try {
    await signIn()
    return await filesThatRan(signIn)
  } finally {
    await demo.stop()
  }
}

const core = files.filter((path) => /^src\/(authn|store|upstream)\//.test(path))
const longFiles = files.filter((path) => linesOf(path) > MAX_FILE_LINES)
const longBodies = files
  .filter((path) => !COMPOSITION_ROOTS.test(path))
  .flatMap(bodiesIn)
  .filter(({ lines }) => lines > MAX_BODY_LINES)
const ran = await filesOfPasswordStep()

console.log(`| figure | goal | now |
|---|---|---|
| files that a password step runs through | 45 | ${ran.length} |
| lines of \`authn\`, \`store\` and \`upstream\` | 7,200 | ${sum(core)} |
| lines of \`src/\` without sandbox and demo | 15,000 | ${sum(files)} |
| function bodies over ${MAX_BODY_LINES} lines, without composition roots | 0 | ${longBodies.length} |
| files over ${MAX_FILE_LINES} lines | 0 | ${longFiles.length} |
`)
for (const path of longFiles) console.log(`${path}: ${linesOf(path)} lines`)
for (const { place, lines } of longBodies) console.log(`${place}: a body of ${lines} lines`)
for (const path of ran) console.log(`in a password step: ${path}`)
