import { describe, expect, test } from '@jest/globals'
import { BrokerError } from '../../../src/errors.ts'
import { until } from '../../support/until.ts'
import {
  answer,
  answers,
  busy,
  CANCEL,
  ends,
  failureOf,
  gate,
  HANDLE,
  LOGIN,
  nameOf,
  operation,
  rejection,
  replicas,
  SIGN_IN,
  STATE,
  succeeds,
  verify,
} from '../step-replicas.ts'
import { CLIENT } from '../test-client.ts'

describe('identical requests in flight', () => {
  test('on one replica are one call, and all get its result', async () => {
    const { replica, coalesced } = await replicas()
    const { run } = replica()
    const { okta, started, finish } = gate()
    const running = Array.from({ length: 5 }, () => run(STATE, okta))
    await until(() => started() === 1)
    finish(() => ({ ...answer('a'), status: 202, headers: { 'X-Rate-Limit-Limit': '5' } }))
    const answered = await Promise.all(running)
    expect(answered[0]).toMatchObject({ status: 202, headers: { 'X-Rate-Limit-Limit': '5' } })
    for (const one of answered) expect(one).toEqual(answered[0])
    expect(started()).toBe(1)
    expect(await coalesced()).toEqual([{ scope: 'process', value: 4 }])
  })

  test.each([
    ['a refusal by Okta', () => ({ ...rejection(403, 'E0000068'), headers: { 'X-Rate-Limit-Limit': '5' } })],
    ['a session', succeeds],
  ])(
    'on several replicas are one call, and get the same status, body, headers and session: %s',
    async (_name, okta) => {
      const { replica, entries, coalesced, lock } = await replicas()
      const held = gate()
      const holder = replica().run(verify('123456'), held.okta)
      await until(() => held.started() === 1)
      const others = [replica(), replica()]
      const waiting = others.map(({ run }) => run(verify('123456'), held.okta))
      for (const other of others) await until(() => busy(other).length > 0)
      held.finish(okta)
      const first = await holder
      for (const one of await Promise.all(waiting)) expect(one).toEqual(first)
      expect(held.started()).toBe(1)
      expect(first.errorCode ?? first.sessionId).toEqual(expect.any(String))
      const shared = [...entries].filter(([key]) => key.startsWith(lock))
      expect(shared).toHaveLength(1)
      expect(JSON.stringify(shared)).not.toMatch(/E0000068|a-test-session-token|ada@/)
      expect(JSON.stringify(shared)).not.toContain(first.sessionId ?? 'never')
      expect(await coalesced()).toEqual([{ scope: 'replicas', value: 2 }])
      expect(entries.has(lock)).toBe(false)
    },
  )

  test('share a refusal as a refusal, on all replicas', async () => {
    // the first request is refused by the broker itself, while the others wait
    const { replica } = await replicas()
    const { okta, started, finish } = gate()
    const holder = failureOf(replica().run(STATE, okta))
    await until(() => started() === 1)
    const [second, third] = [replica(), replica()]
    const waiting = [second, second, second, third].map(({ run }) => failureOf(run(STATE, okta)))
    for (const other of [second, third]) await until(() => busy(other).length > 0)
    finish(() => answer('without a status', { status: '' })) // no answer of Okta is like that
    for (const error of await Promise.all([holder, ...waiting])) {
      expect(error).toBeInstanceOf(BrokerError)
      expect(error).toMatchObject({ status: 502, code: 'E0000009' })
    }
    expect(started()).toBe(1)
  })
})

describe('identical requests that begin a sign-in', () => {
  test.each([
    ['of one device are one call', {}, 1],
    ['of two devices are two calls', { device: { id: 'e'.repeat(32), returned: true } }, 2],
    ['of two device fingerprints are two calls', { fingerprint: 'other' }, 2],
  ])('%s', async (_name, other, calls) => {
    const { replica } = await replicas()
    const { run } = replica()
    const { okta, started, finish } = gate()
    const running = [CLIENT, { ...CLIENT, ...other }].map((client) => run(SIGN_IN, okta, client))
    await until(() => started() === calls)
    finish(answers('a'))
    const handles = (await Promise.all(running)).map(({ body }) => JSON.parse(body).stateToken)
    expect(started()).toBe(calls)
    expect(new Set(handles).size).toBe(calls)
  })

  test('are one call on each replica: no lock is acquired, and each replica begins a transaction', async () => {
    const { replica, keys, coalesced, shared } = await replicas()
    const before = keys('txn:{').length
    const { okta, started, finish } = gate()
    const two = [replica(), replica()]
    const running = two.flatMap(({ run }) => [run(SIGN_IN, okta), run(SIGN_IN, okta)])
    await until(() => started() === 2)
    finish(answers('a'))
    const handles = (await Promise.all(running)).map(({ body }) => JSON.parse(body).stateToken)
    expect(started()).toBe(2)
    expect([handles[0] === handles[1], handles[2] === handles[3], handles[0] === handles[2]]).toEqual([
      true,
      true,
      false,
    ])
    expect(keys('txn:{').length - before).toBe(2)
    expect([...two.flatMap(({ acquires }) => acquires), ...keys('lock:'), ...shared()]).toEqual([])
    expect(await coalesced()).toEqual([{ scope: 'process', value: 2 }])
  })

  test.each([
    ['another password', { ...SIGN_IN, body: { username: LOGIN, password: 'another-test-password' } }],
    ['another kind of request', { kind: 'recovery-token', body: { recoveryToken: 'a-test-token' } } as const],
  ])('are not identical with %s', async (_name, other) => {
    const { replica } = await replicas()
    const { run } = replica()
    const { okta, started, finish } = gate()
    const running = [run(SIGN_IN, okta), run(other, okta)]
    await until(() => started() === 2)
    finish(answers('a'))
    await Promise.all(running)
    expect(started()).toBe(2)
  })
})

test('in a transaction, another device fingerprint does not gain an attempt', async () => {
  const { replica } = await replicas()
  const { run } = replica()
  const { okta, started, finish } = gate()
  const running = ['one', 'two'].map((fingerprint) => run(verify('123456'), okta, { ...CLIENT, fingerprint }))
  await until(() => started() === 1)
  finish(answers('a'))
  expect((await Promise.all(running)).map(nameOf)).toEqual(['a', 'a'])
  expect(started()).toBe(1)
})

test('a redirect is never shared, because its link works once', async () => {
  const { replica, keep, start, coalesced } = await replicas()
  const path = '/sso/idps/1'
  const link = { path, query: '', methods: ['GET'], href: `https://acme.okta.example${path}` }
  await keep({ ...start(), offered: [link] })
  const { run } = replica()
  const redirect = { kind: 'redirect', handle: HANDLE, path } as const
  const results = await Promise.allSettled([run(redirect), run(redirect)])
  expect(results.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected'])
  expect(await coalesced()).toEqual([])
})

test('a later identical request is a new attempt on each replica, also after a failure', async () => {
  const { replica } = await replicas()
  const first = replica()
  expect(await failureOf(first.run(STATE, answers('unusable', { status: '' })))).toMatchObject({
    status: 502,
  })
  for (const [n, { run }] of [first, first, replica()].entries())
    expect(nameOf(await run(STATE, answers(`attempt ${n}`)))).toBe(`attempt ${n}`)
})

describe('concurrent requests of one transaction', () => {
  test.each([
    ['identical', () => STATE],
    ['identical and different', (n: number) => verify(`00000${n % 4}`)],
  ])('are limited to ten, and others get 503 at once: %s', async (_name, requestOf) => {
    const { replica } = await replicas()
    const { run } = replica()
    const { okta, started, finish } = gate()
    const runNth = (n: number) => run(requestOf(n), okta)
    const running = Array.from({ length: 10 }, (_, n) => runNth(n))
    for (let n = 0; n < 3; n++)
      expect(await failureOf(runNth(n))).toMatchObject({ status: 503, code: 'E0000009' })
    await until(() => started() === 1)
    finish(answers('a'))
    expect((await Promise.all(running)).map(nameOf)).toEqual(Array(10).fill('a'))
    const next = gate()
    const after = Array.from({ length: 10 }, () => run(STATE, next.okta))
    await until(() => next.started() === 1)
    next.finish(answers('b'))
    expect((await Promise.all(after)).map(nameOf)).toEqual(Array(10).fill('b'))
  })

  test('are limited further while a step runs that allows fewer', async () => {
    const { replica, keep, start } = await replicas()
    const path = '/api/v1/authn/recovery/factors/SMS/verify'
    await keep({ ...start(), offered: [{ path, query: '', methods: ['POST'] }] })
    const { run } = replica()
    const code = (passCode: string) =>
      operation('verifyRecoveryFactor', { params: { type: 'sms' }, fields: { passCode } })
    const { okta, started, finish } = gate()
    const running = [run(code('123456'), okta), run(STATE, okta)]
    for (const request of [code('123456'), code('654321'), CANCEL])
      expect(await failureOf(run(request, okta))).toMatchObject({ status: 503, code: 'E0000009' })
    await until(() => started() === 1)
    finish(answers('a'))
    expect((await Promise.all(running)).map(nameOf)).toEqual(['a', 'a'])
    const many = Array.from({ length: 10 }, () => run(STATE, okta))
    expect((await Promise.all(many)).map(nameOf)).toEqual(Array(10).fill('a'))
  })

  // shows: V2.4.1
  test('are limited to six different steps, to which identical requests do not count', async () => {
    const { replica } = await replicas()
    const { run } = replica()
    const { okta, started, finish } = gate()
    const code = (n: number) => verify(`00000${n}`)
    const running = Array.from({ length: 6 }, (_, n) => run(code(n), okta))
    expect(await failureOf(run(code(7), okta))).toMatchObject({ status: 503, code: 'E0000009' })
    running.push(run(code(5), okta))
    await until(() => started() === 1)
    finish(answers('fine'))
    expect((await Promise.all(running)).map(nameOf)).toEqual(Array(7).fill('fine'))
    expect(nameOf(await run(code(7), okta))).toBe('fine')
  })

  test('do not limit those of another transaction, nor those that begin one', async () => {
    const { replica } = await replicas()
    const { run } = replica()
    const { okta, started, finish } = gate()
    const running = Array.from({ length: 10 }, () => run(STATE, okta))
    await until(() => started() === 1)
    expect(nameOf(await run(SIGN_IN, answers('begun')))).toBe('begun')
    finish(ends)
    await Promise.all(running)
  })
})
