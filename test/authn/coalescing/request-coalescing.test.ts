import { describe, expect, test } from '@jest/globals'
import { createAnswer } from '../../../src/authn/transaction/step-result.ts'
import { BrokerError, unknownHandle } from '../../../src/errors.ts'
import { until } from '../../support/until.ts'
import { CLIENT } from '../test-client.ts'
import { answers, busy, failureOf, gate, replicas } from './step-replicas.ts'

const SAME = { identity: 'same' } as const

describe('identical requests in flight', () => {
  test('on one replica are one call, and all get its result', async () => {
    const { replica, coalesced } = await replicas()
    const { run } = replica()
    const { take, started, finish } = gate()
    const running = Array.from({ length: 5 }, () => run(SAME, take))
    await until(() => started() === 1)
    const rest = { status: 202, headers: { 'X-Rate-Limit-Limit': '5' }, sessionId: 'session-id' }
    finish(answers('{"a":1}', undefined, rest))
    for (const answer of await Promise.all(running)) expect(answer).toEqual(createAnswer('{"a":1}', rest))
    expect(started()).toBe(1)
    expect(await coalesced()).toEqual([{ scope: 'process', value: 4 }])
  })

  test('on several replicas are one call, and get the same status, body, headers and session', async () => {
    const { replica, entries, coalesced, lock } = await replicas()
    const { take, started, finish } = gate()
    const holder = replica().run(SAME, take)
    await until(() => started() === 1)
    const others = [replica(), replica()]
    const waiting = others.map(({ run }) => run(SAME, take))
    for (const other of others) await until(() => busy(other).length > 0)
    const rest = {
      status: 403,
      headers: { 'X-Rate-Limit-Limit': '5' },
      errorCode: 'E0000068',
      sessionId: 'very-secret',
    }
    finish(answers('{"errorCode":"E0000068"}', undefined, rest))
    const expected = createAnswer('{"errorCode":"E0000068"}', rest)
    for (const answer of await Promise.all([holder, ...waiting])) expect(answer).toEqual(expected)
    expect(started()).toBe(1)
    expect(JSON.stringify([...entries])).not.toMatch(/very-secret|E0000068/)
    expect(await coalesced()).toEqual([{ scope: 'replicas', value: 2 }])
    expect(entries.has(lock)).toBe(false)
  })

  test('share a refusal as a refusal, on all replicas', async () => {
    const { replica } = await replicas()
    const { take, started, finish } = gate()
    const holder = failureOf(replica().run(SAME, take))
    await until(() => started() === 1)
    const [second, third] = [replica(), replica()]
    const waiting = [second, second, second, third].map(({ run }) => failureOf(run(SAME, take)))
    for (const other of [second, third]) await until(() => busy(other).length > 0)
    finish(() => Promise.reject(unknownHandle(false)))
    for (const error of await Promise.all([holder, ...waiting])) {
      expect(error).toBeInstanceOf(BrokerError)
      expect(error).toMatchObject({
        status: 401,
        code: 'E0000011',
        message: 'Invalid token provided',
        causes: ['device cookie not returned'],
      })
    }
    expect(started()).toBe(1)
  })

  test.each([
    ['of one device that begin a sign-in are one call', {}, 1],
    ['of two devices are two calls', { device: { id: 'e'.repeat(32), returned: true } }, 2],
    ['of two device fingerprints are two calls', { fingerprint: 'other' }, 2],
  ])('%s', async (_name, other, calls) => {
    const { replica } = await replicas()
    const { run } = replica()
    const request = { identity: 'primary', handle: undefined }
    const { take, started, finish } = gate()
    const running = [CLIENT, { ...CLIENT, ...other }].map((client) => run(request, take, client))
    await until(() => started() === calls)
    finish(answers('{}'))
    await Promise.all(running)
    expect(started()).toBe(calls)
  })
})

test('a later identical request is a new attempt on each replica, also after a failure', async () => {
  const { replica } = await replicas()
  const first = replica()
  expect(await failureOf(first.run(SAME, () => Promise.reject(unknownHandle())))).toMatchObject({
    status: 401,
  })
  for (const [n, { run }] of [first, first, replica()].entries())
    expect(await run(SAME, answers(`attempt ${n}`))).toMatchObject({ body: `attempt ${n}` })
})

describe('concurrent requests of one transaction', () => {
  test.each([
    ['identical', () => 'same'],
    ['identical and different', (n: number) => `step ${n % 4}`],
  ])('are limited to ten, and others get 503 at once: %s', async (_name, identityOf) => {
    const { replica } = await replicas()
    const { run } = replica()
    const { take, started, finish } = gate()
    const runNth = (n: number) => run({ identity: identityOf(n) }, take)
    const running = Array.from({ length: 10 }, (_, n) => runNth(n))
    for (let n = 0; n < 3; n++)
      expect(await failureOf(runNth(n))).toMatchObject({ status: 503, code: 'E0000009' })
    await until(() => started() === 1)
    finish(answers('{"a":1}'))
    for (const answer of await Promise.all(running)) expect(answer).toMatchObject({ body: '{"a":1}' })
    const next = gate()
    const after = Array.from({ length: 10 }, () => run(SAME, next.take))
    await until(() => next.started() === 1)
    next.finish(answers('{"a":2}'))
    for (const answer of await Promise.all(after)) expect(answer).toMatchObject({ body: '{"a":2}' })
  })

  test('are limited further while a step runs that allows fewer', async () => {
    const { replica } = await replicas()
    const { run } = replica()
    const { take, started, finish } = gate()
    const running = [run({ identity: 'code', maxConcurrent: 2 }, take), run({ identity: 'state' }, take)]
    for (const request of [{ identity: 'code', maxConcurrent: 2 }, { identity: 'code' }])
      expect(await failureOf(run(request, take))).toMatchObject({ status: 503, code: 'E0000009' })
    await until(() => started() === 1)
    finish(answers('{"a":1}'))
    for (const answer of await Promise.all(running)) expect(answer).toMatchObject({ body: '{"a":1}' })
    const many = Array.from({ length: 10 }, () => run({ identity: 'state' }, take))
    for (const answer of await Promise.all(many)) expect(answer).toMatchObject({ body: '{"a":1}' })
  })

  test('are limited to six different steps, to which identical requests do not count', async () => {
    const { replica } = await replicas()
    const { run } = replica()
    const { take, started, finish } = gate()
    const running = Array.from({ length: 6 }, (_, n) => run({ identity: `step ${n}` }, take))
    expect(await failureOf(run({ identity: 'seventh' }, take))).toMatchObject({
      status: 503,
      code: 'E0000009',
    })
    running.push(run({ identity: 'step 5' }, take))
    await until(() => started() === 1)
    finish(answers('fine'))
    for (const answer of await Promise.all(running)) expect(answer).toMatchObject({ body: 'fine' })
    expect(await run({ identity: 'seventh' }, take)).toMatchObject({ body: 'fine' })
  })
})
