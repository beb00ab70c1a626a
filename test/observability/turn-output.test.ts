import { spawnSync } from 'node:child_process'
import { expect, test } from '@jest/globals'
import { turnOutput } from '../../src/observability/turn-output.ts'
import { until } from '../support/until.ts'

test('what is written in one turn leaves at once, in its order', async () => {
  const written: string[] = []
  const output = turnOutput((text) => written.push(text))
  for (const line of ['one\n', 'two\n', 'three\n']) output.write(line)
  expect(written).toEqual([])
  await until(() => written.length > 0)
  output.write('four\n')
  await until(() => written.length > 1)
  expect(written).toEqual(['one\ntwo\nthree\n', 'four\n'])
})

test.each([
  ['ends by itself', ''],
  ['is ended', 'process.exit(3)'],
  ['crashes', 'throw new Error("fake")'],
])('nothing is lost when the process %s', (_how, end) => {
  const module = new URL('../../build/observability/turn-output.js', import.meta.url).href
  const script = `import { turnOutput } from '${module}'; turnOutput().write('the last line\\n'); ${end}`
  const { stdout } = spawnSync(process.execPath, ['--input-type=module', '--eval', script], {
    encoding: 'utf8',
  })
  expect(stdout).toBe('the last line\n')
})
