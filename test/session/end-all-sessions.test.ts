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
