import { expect, test } from '@jest/globals'
import { createEndAllSessions, type EndAllSessionsOptions } from '../../src/revocation/end-all-sessions.ts'
import { collectLog } from '../observability/collect-log.ts'

/** Records what is called, in order. */
function recorded(logins: readonly string[], failing: Partial<EndAllSessionsOptions> = {}) {
  const calls: unknown[][] = []
  const audited: number[] = []
  const { log, lines } = collectLog()
  const step =
    (name: string) =>
    async (...given: unknown[]) => {
      calls.push([name, ...given])
    }
  const endAllSessions = createEndAllSessions({
    sessions: {
      async list(userId) {
        calls.push(['list', userId])
        return logins.map((login, n) => ({ id: `${n}`, session: { ...SESSION, login } }))
      },
      async endAll(userId, reason, keep, onEnd = () => {}) {
        calls.push(['end', userId, reason, keep])
        for (const _ of logins) onEnd()
        return logins.length
      },
    },
    openTransactions: { deleteAll: step('transactions') },
    knownDevices: { deleteAll: step('devices') },
    revocationTimes: { record: step('note') },
    refetchAccess: (login) => step('access')(login),
    log,
    ...failing,
  })
  const audit = (count: number) => void audited.push(count)
  return { calls, audit, audited, lines, endAllSessions }
}

const SESSION = {
  publicId: 'public',
  userId: 'one',
  login: 'ada',
  profile: {},
  amr: [],
  loginHash: 'hash',
  deviceId: 'device',
  deviceHash: 'hash-of-device',
  userAgent: 'Test/1',
  createdAtMs: 1,
  authenticatedAtMs: 1,
  lastSeenAtMs: 1,
}

test('transactions end before sessions, known devices last, and the PAM groups of each login are read again', async () => {
  const { calls, audit, endAllSessions } = recorded(['ada', 'ada@corp.example', 'ada'])
  expect(await endAllSessions('one', 'by_admin', audit)).toBe(3)
  expect(calls).toEqual([
    ['note', 'one', undefined],
    ['transactions', 'one', {}],
    ['list', 'one'],
    ['end', 'one', 'by_admin', {}],
    ['access', 'ada'],
    ['access', 'ada@corp.example'],
    ['devices', 'one'],
  ])
})

test('a kept session keeps its transaction and the known devices', async () => {
  const { calls, audit, endAllSessions } = recorded([])
  const keep = { id: 'keep', createdSinceMs: 5, transactionKeys: ['key'] }
  expect(await endAllSessions('one', 'by_user', audit, keep)).toBe(0)
  expect(calls).toEqual([
    ['note', 'one', 5],
    ['transactions', 'one', keep],
    ['list', 'one'],
    ['end', 'one', 'by_user', keep],
  ])
})

test('the time of the revocation is that since which transactions stay, if there is one', async () => {
  const { calls, audit, endAllSessions } = recorded([])
  await endAllSessions('one', 'by_org', audit, { createdSinceMs: 50, transactionsSinceMs: 20 })
  expect(calls[0]).toEqual(['note', 'one', 20])
})

const fails = () => Promise.reject(new Error('no answer'))
const LOGINS = ['ada', 'ada@corp.example']

test('if the PAM groups cannot be removed from the cache, all has ended, is audited, and the failure is logged', async () => {
  const { calls, audit, audited, lines, endAllSessions } = recorded(LOGINS, { refetchAccess: fails })
  expect(await endAllSessions('one', 'by_admin', audit)).toBe(2)
  expect(audited).toEqual([2])
  expect(calls.at(-1)).toEqual(['devices', 'one'])
  const warning = { level: 'warn', event: 'groups_not_cleared', userId: 'one' }
  expect(lines()).toEqual([expect.objectContaining(warning), expect.objectContaining(warning)])
})

test('if known devices cannot be deleted, the sessions are ended and audited, and the error is thrown', async () => {
  const { calls, audit, audited, endAllSessions } = recorded(LOGINS, { knownDevices: { deleteAll: fails } })
  await expect(endAllSessions('one', 'by_admin', audit)).rejects.toThrow('no answer')
  expect(calls).toContainEqual(['end', 'one', 'by_admin', {}])
  expect(audited).toEqual([2])
})

test('if the revocation time cannot be written, as in a full store, everything else ends, is audited, and the error is thrown', async () => {
  const { calls, audit, audited, endAllSessions } = recorded([], { revocationTimes: { record: fails } })
  await expect(endAllSessions('one', 'by_admin', audit)).rejects.toThrow('no answer')
  expect(calls.map(([name]) => name)).toEqual(['transactions', 'list', 'end', 'devices'])
  expect(audited).toEqual([0])
})

test('if one session cannot be ended, those that ended are audited, and the error is thrown', async () => {
  const { audit, audited, endAllSessions } = recorded([], {
    sessions: {
      list: async () => [],
      async endAll(_userId, _reason, _keep, onEnd = () => {}) {
        onEnd()
        return fails()
      },
    },
  })
  await expect(endAllSessions('one', 'by_admin', audit)).rejects.toThrow('no answer')
  expect(audited).toEqual([1])
})

test('if open transactions cannot be deleted, nothing has ended, and that is audited', async () => {
  const { calls, audit, audited, endAllSessions } = recorded(LOGINS, {
    openTransactions: { deleteAll: fails },
  })
  await expect(endAllSessions('one', 'by_admin', audit)).rejects.toThrow('no answer')
  expect([calls.length, audited]).toEqual([1, [0]])
})
