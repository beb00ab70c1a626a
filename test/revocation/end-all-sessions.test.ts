import { expect, test } from '@jest/globals'
import { createEndAllSessions, type EndAllSessionsOptions } from '../../src/revocation/end-all-sessions.ts'

/** Records what is called, in order. */
function recorded(logins: readonly string[], failing: Partial<EndAllSessionsOptions> = {}) {
  const calls: unknown[][] = []
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
      async endAll(...given) {
        calls.push(['end', ...given])
        return logins.length
      },
    },
    openTransactions: { deleteAll: step('transactions') },
    knownDevices: { deleteAll: step('devices') },
    revocationTimes: { record: step('note') },
    refetchAccess: (login) => step('access')(login),
    ...failing,
  })
  return { calls, endAllSessions }
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
  const { calls, endAllSessions } = recorded(['ada', 'ada@corp.example', 'ada'])
  expect(await endAllSessions('one', 'by_admin')).toBe(3)
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
  const { calls, endAllSessions } = recorded([])
  const keep = { id: 'keep', createdSinceMs: 5, transactionKeys: ['key'] }
  expect(await endAllSessions('one', 'by_user', keep)).toBe(0)
  expect(calls).toEqual([
    ['note', 'one', 5],
    ['transactions', 'one', keep],
    ['list', 'one'],
    ['end', 'one', 'by_user', keep],
  ])
})

test('the time of the revocation is that since which transactions stay, if there is one', async () => {
  const { calls, endAllSessions } = recorded([])
  await endAllSessions('one', 'by_org', { createdSinceMs: 50, transactionsSinceMs: 20 })
  expect(calls[0]).toEqual(['note', 'one', 20])
})

test('if known devices cannot be deleted, the sessions are ended and the error is thrown', async () => {
  const { calls, endAllSessions } = recorded([], {
    knownDevices: { deleteAll: () => Promise.reject(new Error('no answer')) },
  })
  await expect(endAllSessions('one', 'by_admin')).rejects.toThrow('no answer')
  expect(calls).toContainEqual(['end', 'one', 'by_admin', {}])
})

test('if the revocation time cannot be written, as in a full store, everything else ends and the error is thrown', async () => {
  const { calls, endAllSessions } = recorded([], {
    revocationTimes: { record: () => Promise.reject(new Error('the store is full')) },
  })
  await expect(endAllSessions('one', 'by_admin')).rejects.toThrow('the store is full')
  expect(calls.map(([name]) => name)).toEqual(['transactions', 'list', 'end', 'devices'])
})
