import { EventEmitter } from 'node:events'
import { expect, test } from '@jest/globals'
import { captureOutput } from '../../src/observability/capture-output.ts'
import { collectLog } from './collect-log.ts'

function captured() {
  const printed: unknown[] = []
  const print = (...args: unknown[]) => void printed.push(args)
  const [debug, dir, error, info] = [print, print, print, print]
  const fakeConsole = { debug, dir, error, info, log: print, trace: print, warn: print }
  const fakeProcess = new EventEmitter()
  fakeProcess.on('warning', print)
  const { log, lines, text } = collectLog('debug')
  captureOutput({
    console: fakeConsole,
    process: fakeProcess as unknown as Pick<NodeJS.Process, 'on' | 'removeAllListeners'>,
    log: () => log,
  })
  return { fakeConsole, fakeProcess, lines, text, printed }
}

test('output of a library becomes a log line with a stack and without the text', () => {
  const { fakeConsole, lines, text, printed } = captured()
  const methods = Object.keys(fakeConsole) as (keyof typeof fakeConsole)[]
  for (const method of methods) fakeConsole[method]('marked', { password: 'marked' })
  expect(lines()).toMatchObject(
    methods.map((name) => ({ level: 'warn', event: 'library_output', name, error: { name: 'Error' } })),
  )
  expect(JSON.stringify(lines()[0])).toContain('capture-output.test.ts')
  expect(text()).not.toContain('marked')
  expect(printed).toEqual([])
})

test("Node's warnings become log lines", () => {
  const { fakeProcess, lines, text, printed } = captured()
  const warning = Object.assign(new Error('marked'), { name: 'DeprecationWarning', code: 'DEP0001' })
  fakeProcess.emit('warning', warning)
  expect(lines()).toMatchObject([
    {
      level: 'warn',
      event: 'process_warning',
      name: 'DeprecationWarning',
      error: { name: 'DeprecationWarning', code: 'DEP0001' },
    },
  ])
  expect(text()).not.toContain('marked')
  expect(printed).toEqual([])
})
