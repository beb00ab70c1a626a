import { afterEach, expect, test } from '@jest/globals'
import type { CommandGroup } from '../../src/store/redis-store.ts'
import { until } from '../support/until.ts'
import { cleanUpAll, connect, OPERATIONS, server } from './redis-harness.ts'

afterEach(cleanUpAll)

test('each command is measured by its group and traced by its name, and each script by its own', async () => {
  const replies: [group: CommandGroup, seconds: number][] = []
  const traces: (string | undefined)[][] = []
  const { store, isReady } = connect((await server()).url, {
    onReply: (group, seconds) => replies.push([group, seconds]),
    traced(reply, command, script) {
      traces.push([command, script])
      return reply
    },
  })
  await until(isReady)
  const of: Record<string, unknown> = {}
  for (const [name, run] of OPERATIONS.filter(([name]) => name !== 'ping')) {
    await run(store)
    of[name] = [replies.splice(0).map(([group]) => group), traces.splice(0)]
  }
  const script = (name: string) => [['script'], [['EVALSHA', name]]]
  expect(of).toEqual({
    get: [['read'], [['GET', undefined]]],
    set: [['write'], [['SET', undefined]]],
    'set when absent': [['write'], [['SET', undefined]]],
    'set when present': [['write'], [['SET', undefined]]],
    swap: [['write'], [['SET', undefined]]],
    replaceIf: script('replaceIf'),
    delete: [['write'], [['DEL', undefined]]],
    deleteIf: script('deleteIf'),
    deleteAll: [['scan'], [['SCAN', undefined]]],
    acquire: script('acquire'),
    commit: script('commit'),
    'commit, deleting': script('commit'),
    indexPut: script('indexPut'),
    indexAll: [['read'], [['HGETALL', undefined]]],
    indexRemove: [['write'], [['HDEL', undefined]]],
    countAttempt: script('countAttempt'),
    refundAttempt: script('refundAttempt'),
    clearWindows: script('clearWindows'),
    'clearWindows, leaving a mark': script('clearWindows'),
    time: [['read'], [['TIME', undefined]]],
  })
})

test('a command that fails is measured with the time that it took', async () => {
  const replies: number[] = []
  const redis = await server()
  const { store, isReady } = connect(redis.url, { onReply: (_group, seconds) => replies.push(seconds) })
  await until(isReady)
  redis.pause()
  await expect(store.get('gatehouse:a')).rejects.toMatchObject({ status: 503 })
  redis.resume()
  expect(replies).toEqual([expect.any(Number)])
  expect(replies[0]).toBeGreaterThan(0.4)
})
