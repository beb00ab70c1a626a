import { Session } from 'node:inspector/promises'
import { PassThrough } from 'node:stream'
import { startDemo } from '../build/demo/demo.js'
import { defaultConfigPath } from '../build/sandbox/sandbox-config.js'
import { files, linesOf, longBodies, longFiles, MAX_BODY_LINES, MAX_FILE_LINES } from './code-size.mjs'

/** `npm run figures`: prints the code metrics of docs/architecture.md, and the files and functions above the goals. */

const sum = (paths) => paths.reduce((lines, path) => lines + linesOf(path), 0)

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
const [tooLongFiles, tooLongBodies] = [longFiles(), longBodies()]
const ran = await filesOfPasswordStep()

console.log(`| figure | goal | now |
|---|---|---|
| files that a password step runs through | 45 | ${ran.length} |
| lines of \`authn\`, \`store\` and \`upstream\` | 7,200 | ${sum(core)} |
| lines of \`src/\` without sandbox and demo | 15,000 | ${sum(files)} |
| function bodies over ${MAX_BODY_LINES} lines, without composition roots | 0 | ${tooLongBodies.length} |
| files over ${MAX_FILE_LINES} lines | 0 | ${tooLongFiles.length} |
`)
for (const line of [...tooLongFiles, ...tooLongBodies]) console.log(line)
for (const path of ran) console.log(`in a password step: ${path}`)
