import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import type { Writable } from 'node:stream'
import { expect, test } from '@jest/globals'
import { bufferedStdout, type Outlet } from '../../src/observability/buffered-stdout.ts'
import { until } from '../support/until.ts'

/** Records what is written; `hold` delays the callbacks of writes. */
function outlet() {
  const written: string[] = []
  const held: (() => void)[] = []
  let holding = false
  const out: Outlet = {
    write(text, done) {
      written.push(text)
      if (holding) held.push(done)
      else done()
    },
    unsentBytes: () => 0,
    writeSync: () => undefined,
  }
  return {
    out,
    written,
    hold: () => {
      holding = true
    },
    resume: () => {
      holding = false
      for (const done of held.splice(0)) done()
    },
  }
}

test('texts of one turn are written together, in order', async () => {
  const { out, written } = outlet()
  const output = bufferedStdout(out)
  for (const line of ['one\n', 'two\n', 'three\n']) output.write(line)
  expect(written).toEqual([])
  await until(() => written.length > 0)
  output.write('four\n')
  await until(() => written.length > 1)
  expect(written).toEqual(['one\ntwo\nthree\n', 'four\n'])
})

test('while a write is pending, later texts wait and are written after it', async () => {
  const { out, written, hold, resume } = outlet()
  const output = bufferedStdout(out)
  hold()
  output.write('one\n')
  await until(() => written.length > 0)
  for (const line of ['two\n', 'three\n']) output.write(line)
  await new Promise((resolve) => setImmediate(resolve))
  expect(written).toEqual(['one\n'])
  resume()
  expect(written).toEqual(['one\n', 'two\nthree\n'])
})

const MODULE = new URL('../../build/observability/buffered-stdout.js', import.meta.url).href
const scriptOf = (body: string) => [
  '--input-type=module',
  '--eval',
  `import { bufferedStdout } from '${MODULE}'; const output = bufferedStdout(); ${body}`,
]

test.each([
  ['reaches its end', ''],
  ['calls process.exit', 'process.exit(3)'],
  ['crashes', 'throw new Error("fake")'],
])('nothing is lost when the process %s', (_how, end) => {
  const { stdout } = spawnSync(process.execPath, scriptOf(`output.write('the last line\\n'); ${end}`), {
    encoding: 'utf8',
  })
  expect(stdout).toBe('the last line\n')
})

const LINES = 1000
/** Far more than the buffer of a pipe. */
const MANY = `for (let n = 0; n < ${LINES}; n++) output.write(n + ' ' + 'é'.repeat(200) + '\\n');`
const IN_ANOTHER_TURN = (then: string) => `setImmediate(() => setImmediate(() => { ${then} }))`

/** The output of a process whose pipe is read only after the process has started to exit. */
async function readLate(body: string): Promise<string[]> {
  const command = '"$0" "$@" | { read -r _ <&3; cat; }' // Node would give the child a socket, not a pipe
  const shell = spawn('bash', ['-c', command, process.execPath, ...scriptOf(body)], {
    stdio: ['ignore', 'pipe', 'pipe', 'pipe'],
  })
  const begin = shell.stdio[3] as Writable // 'pipe' above
  const out: Buffer[] = []
  let stderr = ''
  shell.stdout?.on('data', (bytes: Buffer) => out.push(bytes))
  shell.stderr?.on('data', (bytes: Buffer) => {
    stderr += bytes.toString()
  })
  await until(() => stderr === AT_ITS_END)
  begin.end('now\n')
  await once(shell, 'close')
  return Buffer.concat(out).toString().split('\n').slice(0, -1)
}

const AT_ITS_END = 'at its end'
const END = `process.stderr.write('${AT_ITS_END}'); output.write('the last line\\n'); process.exit(1);`

test.each([
  ['it exits in the turn of the write', LINES, `${MANY} ${END}`],
  ['a part is being written', LINES, `${MANY} ${IN_ANOTHER_TURN(END)}`],
  [
    'more text arrived while a part was being written',
    2 * LINES,
    `${MANY} ${IN_ANOTHER_TURN(`${MANY} ${END}`)}`,
  ],
])('a slow reader gets the whole output in order: %s', async (_when, count, body) => {
  const lines = await readLate(body)
  expect(lines.pop()).toBe('the last line')
  expect(lines.map((line) => Number(/^(\d+) é{200}$/.exec(line)?.[1]))).toEqual(
    Array.from({ length: count }, (_, at) => at % LINES),
  )
})

test('a process whose output is never read still exits', async () => {
  const child = spawn(process.execPath, scriptOf(`${MANY} ${MANY} process.exit(3)`), {
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  const [code] = await once(child, 'exit')
  expect(code).toBe(3)
  child.stdout?.destroy()
})
