import { expect, test } from '@jest/globals'
import type { Check } from '../../src/doctor/check.ts'
import { fail, ok, warn } from '../../src/doctor/finding.ts'
import { exitCodeOf, toJson, toText } from '../../src/doctor/report.ts'
import { runChecks } from '../../src/doctor/run-checks.ts'

const DEADLINES = { checkMs: 60_000, totalMs: 60_000, closeMs: 60_000 }
const never = () => new Promise<never>(() => {})

async function run(checks: readonly Check[], deadlines = {}, close: () => Promise<unknown> = async () => {}) {
  const results = await runChecks([{ checks, close }], { ...DEADLINES, ...deadlines })
  return results.map(({ name, status, detail }) => `${name} ${status}: ${detail}`)
}

test('a check that hangs fails at its deadline; those that need it are skipped, others run', async () => {
  const checks = [
    { name: 'a', run: never },
    { name: 'b', needs: ['a'], run: () => ok('not called') },
    { name: 'c', run: () => ok('called') },
  ]
  expect(await run(checks, { checkMs: 20 })).toEqual([
    'a fail: no response within 0.02 s',
    'b skipped: not possible without a',
    'c ok: called',
  ])
})

test('a check that may take long is not limited by the deadline of a check', async () => {
  const slow = () => new Promise<ReturnType<typeof ok>>((resolve) => setTimeout(resolve, 60, ok('late')))
  const checks = [{ name: 'a', mayTakeLong: true, run: slow }]
  expect(await run(checks, { checkMs: 20 })).toEqual(['a ok: late'])
})

test('a check runs if those that it needs are ok or warn', async () => {
  const checks = [
    { name: 'a', run: () => ok('yes') },
    { name: 'b', run: () => warn('partly', 'fix it') },
    { name: 'c', needs: ['a', 'b'], run: () => ok('called') },
    { name: 'd', run: () => fail('no', 'fix it') },
    { name: 'e', needs: ['a', 'd'], run: () => ok('not called') },
  ]
  expect((await run(checks)).slice(2)).toEqual([
    'c ok: called',
    'd fail: no',
    'e skipped: not possible without d',
  ])
})

test('at the overall deadline all unfinished checks fail, and nothing else starts', async () => {
  let started = 0
  let finish = () => {}
  const slow = new Promise<void>((resolve) => {
    finish = resolve
  })
  const checks = [
    { name: 'a', run: () => slow.then(() => ok('late')) },
    { name: 'b', run: () => ok(String(++started)) },
  ]
  expect(await run(checks, { totalMs: 20, closeMs: 20 }, never)).toEqual([
    'a fail: not finished within 0.02 s',
    'b fail: not finished within 0.02 s',
  ])
  finish()
  await slow
  await new Promise(setImmediate)
  expect(started).toBe(0)
})

test('an unexpected error is a fail without its message', async () => {
  const checks = [
    {
      name: 'a',
      run: () => {
        throw new TypeError('a secret')
      },
    },
  ]
  expect(await run(checks)).toEqual(['a fail: the check failed: TypeError'])
})

const RESULTS = [
  { name: 'redis.reach', ...ok('Redis answers') },
  { name: 'redis.policy', ...fail('allkeys-lru', 'Set it.') },
]

test('the report as text and as JSON, and the exit code', () => {
  expect(toText(RESULTS).split('\n')).toEqual([
    'ok       redis.reach           Redis answers',
    'fail     redis.policy          allkeys-lru',
    '                               → Set it.',
    '1 ok, 0 warn, 1 fail, 0 skipped',
  ])
  expect(JSON.parse(toJson(RESULTS))).toEqual({
    checks: [
      { name: 'redis.reach', status: 'ok', detail: 'Redis answers', fix: null },
      { name: 'redis.policy', status: 'fail', detail: 'allkeys-lru', fix: 'Set it.' },
    ],
  })
  expect([exitCodeOf(RESULTS), exitCodeOf(RESULTS.slice(0, 1))]).toEqual([1, 0])
})
