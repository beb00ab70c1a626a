import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import type { Writable } from 'node:stream'
import { expect, test } from '@jest/globals'
import { until } from '../support/until.ts'

/** Each test has a process with a logger on its standard output. */

const MODULE = new URL('../../dist/observability/logger.js', import.meta.url).href
const scriptOf = (body: string) => [
  '--input-type=module',
  '--eval',
  `import { createLogger } from '${MODULE}'
   let lost = 0
   const metrics = { logLinesLost: { inc: (lines) => { lost += lines } } }
   const log = createLogger({ level: 'info', metrics })
   const write = (count) => log.info('request', { count, reason: 'é'.repeat(200) })
   ${body}`,
]

test.each([
  ['reaches its end', ''],
  ['calls process.exit', 'process.exit(3)'],
  ['crashes', 'throw new Error("fake")'],
])('nothing is lost when the process %s', (_how, end) => {
  const { stdout } = spawnSync(process.execPath, scriptOf(`write(1); ${end}`), { encoding: 'utf8' })
  expect(stdout).toMatch(/^{.*"count":1,.*}\n$/)
})

test('on a full disk, lines are lost and counted, said once on stderr, and the process goes on', () => {
  const script = scriptOf(
    "for (let n = 0; n < 3; n++) write(n); process.on('exit', () => console.error(lost))",
  )
  const args = ['-c', 'exec "$0" "$@" > /dev/full', process.execPath, ...script]
  const { status, stderr } = spawnSync('sh', args, { encoding: 'utf8' })
  const message =
    'gatehouse: standard output does not take the log (ENOSPC). Lines are lost: gatehouse_log_lines_lost_total'
  expect([status, stderr]).toEqual([0, `${message}\n3\n`])
})

/**
 * Starts the process with a pipe that is read only after `begin()`. Node would give the child a
 * socket, not a pipe.
 */
function withLateReader(body: string) {
  const command = '"$0" "$@" | { read -r _ <&3; cat; }'
  const shell = spawn('bash', ['-c', command, process.execPath, ...scriptOf(body)], {
    stdio: ['pipe', 'pipe', 'pipe', 'pipe'],
  })
  const output = { out: '', err: '' }
  shell.stdout.setEncoding('utf8').on('data', (text) => {
    output.out += text
  })
  shell.stderr.setEncoding('utf8').on('data', (text) => {
    output.err += text
  })
  const closed = once(shell, 'close')
  return {
    output,
    begin: () => (shell.stdio[3] as Writable).end('now\n'), // 'pipe' above
    async counts() {
      await closed
      const lines = output.out.split('\n').slice(0, -1)
      return lines.map((line) => Number(JSON.parse(line).count))
    },
  }
}

const upTo = (count: number) => Array.from({ length: count }, (_, at) => at)

test('a process that exits waits for a slow reader', async () => {
  const { output, begin, counts } = withLateReader(`
    for (let n = 0; n < 1000; n++) write(n) // far more than the buffer of a pipe
    process.stderr.write('exits')
    write(1000)
    process.exit(1)`)
  await until(() => output.err === 'exits')
  begin()
  expect(await counts()).toEqual(upTo(1001))
})

test('while nobody reads, a bounded number of lines waits, the rest is counted, and writing continues later', async () => {
  const LINES = 100_000 // 50 MB
  const { output, begin, counts } = withLateReader(`
    for (let n = 0; n < ${LINES}; n++) {
      write(n)
      if (n % 100 === 0) await new Promise(setImmediate)
    }
    const lostAtFirst = lost
    process.stderr.write(JSON.stringify({ lost }))
    let n = ${LINES}
    while (lost === lostAtFirst + n - ${LINES}) { // until one is not lost
      write(n++)
      await new Promise((resolve) => setTimeout(resolve, 10))
    }
    process.stderr.write(JSON.stringify({ lost }))`)
  await until(() => output.err.endsWith('}'))
  begin()
  const written = await counts()
  expect(output.out.length).toBeLessThan(6_000_000)
  const [, message, lostAtFirst, lost] = /^(.*\n){"lost":(\d+)}{"lost":(\d+)}$/.exec(output.err) ?? []
  expect(message).toBe(
    'gatehouse: standard output does not take the log (EAGAIN). Lines are lost: gatehouse_log_lines_lost_total\n',
  )
  const kept = LINES - Number(lostAtFirst)
  expect(written.slice(0, kept)).toEqual(upTo(kept)) // in order
  expect(written.slice(kept)).toEqual([LINES + Number(lost) - Number(lostAtFirst)])
})
