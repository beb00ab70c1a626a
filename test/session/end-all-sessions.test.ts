import { expect, test } from '@jest/globals'
import { createEndAllSessions } from '../../src/session/end-all-sessions.ts'

test('sessions end even where the known devices cannot be deleted, and the caller is told', async () => {
  const ended: string[] = []
  const endAllSessions = createEndAllSessions({
    sessions: {
      listOf: async () => [],
      endAllOf: async (userId) => ended.push(userId),
    },
    openTransactions: { deleteAll: async () => {} },
    knownDevices: { deleteAll: () => Promise.reject(new Error('no answer')) },
    endedUsers: { note: async () => {} },
    refetchAccess: async () => {},
  })
  await expect(endAllSessions('one', 'by_admin')).rejects.toThrow('no answer')
  expect(ended).toEqual(['one'])
})

test('sessions end even where the end cannot be noted, as in a full store, and the caller is told', async () => {
  const ended: string[] = []
  const endAllSessions = createEndAllSessions({
    sessions: {
      listOf: async () => [],
      endAllOf: async (userId) => ended.push(userId),
    },
    openTransactions: { deleteAll: async (userId) => void ended.push(`transactions of ${userId}`) },
    knownDevices: { deleteAll: async (userId) => void ended.push(`devices of ${userId}`) },
    endedUsers: { note: () => Promise.reject(new Error('the store is full')) },
    refetchAccess: async () => {},
  })
  await expect(endAllSessions('one', 'by_admin')).rejects.toThrow('the store is full')
  expect(ended).toEqual(['transactions of one', 'one', 'devices of one'])
})

/** Records what is called, in order. */
function recorded(logins: readonly string[]) {
  const calls: unknown[][] = []
  const step =
    (name: string) =>
    async (...given: unknown[]) => {
      calls.push([name, ...given])
    }
  const endAllSessions = createEndAllSessions({
    sessions: {
      async listOf(userId) {
        calls.push(['list', userId])
        return logins.map((login, n) => ({ id: `${n}`, session: { ...SESSION, login } }))
      },
      async endAllOf(...given) {
        calls.push(['end', ...given])
        return logins.length
      },
    },
    openTransactions: { deleteAll: step('transactions') },
    knownDevices: { deleteAll: step('devices') },
    endedUsers: { note: step('note') },
    refetchAccess: (login) => step('access')(login),
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
  device: 'device',
  userAgent: 'Test/1',
  createdAtMs: 1,
  lastSeenAtMs: 1,
}

test('what could restore a session ends before the sessions; known devices end last; each access is fetched again', async () => {
  const { calls, endAllSessions } = recorded(['ada', 'ada@corp.example', 'ada'])
  expect(await endAllSessions('one', 'by_admin')).toBe(3)
  expect(calls).toEqual([
    ['note', 'one'],
    ['transactions', 'one', undefined],
    ['list', 'one'],
    ['end', 'one', 'by_admin', {}],
    ['access', 'ada'],
    ['access', 'ada@corp.example'],
    ['devices', 'one'],
  ])
})

test('while a session stays, so do its transaction and the known devices', async () => {
  const { calls, endAllSessions } = recorded([])
  const staying = { id: 'staying', sinceMs: 5, transactionKeys: ['key'] }
  expect(await endAllSessions('one', 'by_person', staying)).toBe(0)
  expect(calls).toEqual([
    ['note', 'one'],
    ['transactions', 'one', ['key']],
    ['list', 'one'],
    ['end', 'one', 'by_person', staying],
  ])
})
