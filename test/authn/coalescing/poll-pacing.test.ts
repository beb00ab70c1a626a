import { describe, expect, test } from '@jest/globals'
import { until } from '../../support/until.ts'
import {
  answers,
  askedTwice,
  CANCEL,
  ends,
  failureOf,
  gate,
  nameOf,
  POLL_EVERY_MS,
  type ReplicasOptions,
  replicas,
  succeeds,
  verify,
  verifyPath,
} from '../step-replicas.ts'

const POLL = verify(undefined, 'push1')
const NOW_MS = Date.UTC(2026, 0, 1)

/** Polls that are paced wait until the test says that they are due. */
async function pacing(options: ReplicasOptions = {}) {
  let elapsedMs = 0
  const all = await replicas({ now: () => NOW_MS + elapsedMs, monotonic: () => elapsedMs, ...options })
  const WAITING = answers('waiting', { status: 'MFA_CHALLENGE', factorResult: 'WAITING' })
  return {
    ...all,
    /** Okta has just answered WAITING to a poll. */
    async polled() {
      await all.replica().run(POLL, WAITING)
      all.sent.splice(0)
    },
    due() {
      elapsedMs += POLL_EVERY_MS
    },
  }
}

describe('a poll that comes too soon', () => {
  test('waits on every replica, and is a new attempt when it is due', async () => {
    const { replica, polled, due, stored, entries, lock, sent } = await pacing()
    await polled()
    const results: unknown[] = []
    const three = [replica(), replica(), replica()]
    const polls = three.map(async ({ run }) => {
      const answered = await run(POLL, answers('new'))
      results.push(answered)
      return answered
    })
    for (const one of three) await until(() => askedTwice(one))
    // a different step of the transaction does not wait
    await replica().run(verify('123456'), answers('code', { stateToken: 'newer' }))
    expect([sent.length, results, (await stored())?.stateToken]).toEqual([1, [], 'newer'])

    due()
    for (const answered of await Promise.all(polls)) expect(nameOf(answered)).toBe('new')
    expect(sent[1]?.call).toMatchObject({ path: verifyPath('push1'), body: { stateToken: 'newer' } })
    expect(entries.has(lock)).toBe(false)
  })

  test('shares the result of the poll that ended the transaction, also on another replica; a later poll gets 401', async () => {
    const { replica, polled, due, stored, sent } = await pacing()
    await polled()
    const { okta, started, finish } = gate()
    const three = [replica(), replica(), replica()]
    const polls = three.map(({ run }) => run(POLL, okta))
    for (const one of three) await until(() => askedTwice(one))
    due()
    await until(() => started() === 1)
    finish(succeeds)
    const ids = (await Promise.all(polls)).map(({ sessionId }) => sessionId)
    expect(new Set(ids)).toEqual(new Set([expect.any(String)]))
    expect(new Set(ids).size).toBe(1)
    expect([sent.length, await stored()]).toEqual([1, undefined])
    expect(await failureOf(replica().run(POLL, okta))).toMatchObject({ status: 401, code: 'E0000011' })
    expect(sent).toHaveLength(1)
  })

  test('gets 401 if a different step ends the transaction meanwhile', async () => {
    const { replica, polled, sent } = await pacing()
    await polled()
    const held = replica()
    const poll = failureOf(held.run(POLL))
    await until(() => askedTwice(held))
    await replica().run(CANCEL, ends)
    expect(await poll).toMatchObject({ status: 401, code: 'E0000011' })
    expect(sent).toHaveLength(1)
  })

  test('gets 503 at once if it would wait longer than a step may wait', async () => {
    const { replica, polled, sent } = await pacing({ waitMs: POLL_EVERY_MS - 1 })
    await polled()
    expect(await failureOf(replica().run(POLL))).toMatchObject({ status: 503 })
    expect(sent).toEqual([])
  })
})

describe('does not wait if it is', () => {
  test.each([
    ['a poll of another path', verify(undefined, 'push2'), { isDue: false }],
    ['a step of the same path that sends a code', verify('123456', 'push1'), { isDue: false }],
    ['a poll that is due', POLL, { isDue: true }],
  ])('%s', async (_what, request, { isDue }) => {
    const { replica, polled, due } = await pacing()
    await polled()
    if (isDue) due()
    const { run, acquires } = replica()
    expect(nameOf(await run(request, answers('new')))).toBe('new')
    expect(acquires).toHaveLength(1)
  })

  test('a poll whose time was set by a replica with another clock', async () => {
    const { replica, keep, start } = await pacing()
    await keep({ ...start(), pollNotBeforeMs: { [verifyPath('push1')]: NOW_MS + POLL_EVERY_MS + 1 } })
    const { run, acquires } = replica()
    expect(nameOf(await run(POLL, answers('new')))).toBe('new')
    expect(acquires).toHaveLength(1)
  })
})
