import { describe, expect, test } from '@jest/globals'
import { until } from '../../support/until.ts'
import {
  answers,
  askedTwice,
  ended,
  failureOf,
  gate,
  type ReplicasOptions,
  replicas,
  type Take,
  withLogin,
} from './step-replicas.ts'

const PATH = '/api/v1/authn/factors/push/verify'
const POLL = { identity: 'poll', pollPath: PATH } as const
const POLL_EVERY_MS = 50
const NOW_MS = Date.UTC(2026, 0, 1)

/** Polls that are paced wait until the test says that they are due. */
async function pacing(options: ReplicasOptions = {}) {
  let elapsedMs = 0
  const now = () => NOW_MS + elapsedMs
  const all = await replicas({ pollEveryMs: POLL_EVERY_MS, now, monotonic: () => elapsedMs, ...options })
  /** Okta answers WAITING to a poll. */
  const waiting = (body: string): Take =>
    answers(body, (before) => ({ ...before, pollNotBeforeMs: { [PATH]: now() + POLL_EVERY_MS } }))
  /** The last WAITING was received at this moment. */
  const polled = () => all.replica().run(POLL, waiting('WAITING'))
  return {
    ...all,
    waiting,
    polled,
    due() {
      elapsedMs += POLL_EVERY_MS
    },
  }
}

describe('a poll that comes too soon', () => {
  test('waits on every replica, and is a new attempt when it is due', async () => {
    const { replica, polled, due, loginAt, entries, lock } = await pacing()
    await polled()
    let calls = 0
    const results: unknown[] = []
    const three = [replica(), replica(), replica()]
    const polls = three.map(async ({ run }) => {
      const answer = await run(POLL, (before) => {
        calls += 1
        return answers(`new ${before.login}`)(before)
      })
      results.push(answer)
      return answer
    })
    for (const one of three) await until(() => askedTwice(one))
    // a different step of the transaction does not wait
    const cancel = replica()
    expect(await cancel.run({ identity: 'cancel' }, answers('', withLogin('cancelled')))).toBeDefined()
    expect([calls, results, await loginAt()]).toEqual([0, [], 'cancelled'])

    due()
    for (const answer of await Promise.all(polls)) expect(answer).toMatchObject({ body: 'new cancelled' })
    expect(calls).toBeGreaterThan(0)
    expect(entries.has(lock)).toBe(false)
  })

  test('shares the result of the poll that ended the transaction, also on another replica; a later poll gets 401', async () => {
    const { replica, polled, due, loginAt } = await pacing()
    await polled()
    const end = gate()
    const three = [replica(), replica(), replica()]
    const polls = three.map(({ run }) => run(POLL, end.take))
    for (const one of three) await until(() => askedTwice(one))
    due()
    await until(() => end.started() === 1)
    end.finish(answers('SUCCESS', ended, { sessionId: 'one' }))
    for (const answer of await Promise.all(polls))
      expect(answer).toMatchObject({ body: 'SUCCESS', sessionId: 'one' })
    expect([end.started(), await loginAt()]).toEqual([1, undefined])
    expect(await failureOf(replica().run(POLL, end.take))).toMatchObject({ status: 401, code: 'E0000011' })
    expect(end.started()).toBe(1)
  })

  test('gets 401 if a different step ends the transaction meanwhile', async () => {
    const { replica, polled } = await pacing()
    await polled()
    const held = replica()
    const { take, started } = gate()
    const poll = failureOf(held.run(POLL, take))
    await until(() => askedTwice(held))
    await replica().run({ identity: 'cancel' }, answers('', ended))
    expect(await poll).toMatchObject({ status: 401, code: 'E0000011' })
    expect(started()).toBe(0)
  })

  test('gets 503 at once if it would wait longer than a step may wait', async () => {
    const { replica, polled } = await pacing({ waitMs: POLL_EVERY_MS - 1 })
    await polled()
    const { take, started } = gate()
    expect(await failureOf(replica().run(POLL, take))).toMatchObject({ status: 503 })
    expect(started()).toBe(0)
  })
})

describe('does not wait if it is', () => {
  const OTHER_PATH = { ...POLL, pollPath: '/api/v1/authn/factors/other/verify' }
  test.each([
    ['a poll of another path', OTHER_PATH, { isDue: false }],
    ['a step of the same path that sends a code', { identity: 'code' }, { isDue: false }],
    ['a poll that is due', POLL, { isDue: true }],
  ])('%s', async (_what, step, { isDue }) => {
    const { replica, polled, due } = await pacing()
    await polled()
    if (isDue) due()
    const { run, acquires } = replica()
    expect(await run(step, answers('new'))).toMatchObject({ body: 'new' })
    expect(acquires).toHaveLength(1)
  })

  test('a poll whose time was set by a replica with another clock', async () => {
    const { replica, keep, start } = await pacing()
    await keep({ ...start(), pollNotBeforeMs: { [PATH]: NOW_MS + POLL_EVERY_MS + 1 } })
    const { run, acquires } = replica()
    expect(await run(POLL, answers('new'))).toMatchObject({ body: 'new' })
    expect(acquires).toHaveLength(1)
  })
})
