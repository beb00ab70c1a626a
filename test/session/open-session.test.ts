import { beforeEach, describe, expect, test } from '@jest/globals'
import { storeUnavailable } from '../../src/errors.ts'
import { createMetrics, type Metrics } from '../../src/observability/metrics.ts'
import {
  createSessionOpening,
  type OpenSessionOptions,
  type TakenDevice,
} from '../../src/session/open-session.ts'
import type { Session } from '../../src/session/session.ts'
import { GRANT, START, sessionWith } from './grant.ts'

/** What the commit of a sign-in writes, and undoes, without the index of devices. */

const ABSOLUTE_MS = 43_200_000
const OPENED = { id: 'new', session: sessionWith() }

let metrics: Metrics
/** The stored sessions by id. undefined: the record cannot be read. */
let records: Map<string, Session | undefined>
let calls: unknown[]
let reads: string[]
/** The names of the calls that fail. */
let failing: Set<string>
beforeEach(() => {
  metrics = createMetrics()
  ;[records, calls, reads, failing] = [new Map(), [], [], new Set()]
})

function opening() {
  const called = async (name: string, ...given: unknown[]) => {
    calls.push([name, ...given])
    if (failing.has(name)) throw storeUnavailable()
  }
  const sessionStore: Partial<OpenSessionOptions['sessionStore']> = {
    async read(id) {
      reads.push(id)
      const session = records.get(id)
      if (session !== undefined) return { id, session }
      return records.has(id) ? { session: undefined } : undefined
    },
    create: (id, session) => called('create', id, session),
    destroy: (id) => called('destroy', id),
  }
  const userSessions: Partial<OpenSessionOptions['userSessions']> = {
    async add(userId, { id, createdAtMs }, ttlMs) {
      await called('add', userId, { id, createdAtMs }, ttlMs)
      return 3
    },
    remove: (userId, id) => called('remove', userId, id),
    end: ({ id, session }, reason) => called('end', id, session?.publicId, reason),
    async evict(userId) {
      await called('evict', userId)
      return 2
    },
  }
  const used: Partial<OpenSessionOptions> = {
    masterKeys: [Buffer.alloc(32, 1)],
    absoluteMs: ABSOLUTE_MS,
    maxPerUser: 4,
    metrics,
  }
  const voidTimes = { tagOf: (userId: string) => `-tag-of-${userId}` }
  const all = { ...used, sessionStore, userSessions, voidTimes }
  return createSessionOpening(all as OpenSessionOptions) // the rest is not called
}

const counted = async (name: 'sessionsOpened' | 'sessionsEnded') =>
  (await metrics[name].get()).values
    .filter(({ value }) => value > 0)
    .map(({ labels, value }) => [Object.values(labels)[0], value])

test('the id of a session ends with the tag of its user', () => {
  expect(opening().newId('00u1')).toMatch(/^[\w-]{43}-tag-of-00u1$/)
})

describe('the write of a session', () => {
  const WRITES = [
    ['add', GRANT.userId, { id: 'new', createdAtMs: START }, ABSOLUTE_MS],
    ['create', 'new', OPENED.session],
  ]

  test('is that of its entry and of its record, and tells how many entries there are', async () => {
    expect(await opening().write(OPENED)).toBe(3)
    expect([calls, await counted('sessionsOpened')]).toEqual([WRITES, [[undefined, 1]]])
  })

  test.each(['add', 'create'])('fails if one of them does (%s), and opens nothing', async (name) => {
    failing.add(name)
    await expect(opening().write(OPENED)).rejects.toMatchObject({ status: 503 })
    expect([calls, await counted('sessionsOpened')]).toEqual([WRITES, []])
  })

  test.each([
    ['done', async () => 3, [['rolled_back', 1]]],
    ['failed', () => Promise.reject(storeUnavailable()), []],
  ])(
    'is undone although it is %s; only a session that was open counts as ended',
    async (_how, writing, ended) => {
      await opening().undoWrite(OPENED, writing())
      expect(calls).toEqual([
        ['destroy', 'new'],
        ['remove', GRANT.userId, 'new'],
      ])
      expect(await counted('sessionsEnded')).toEqual(ended)
    },
  )

  test.each(['destroy', 'remove'])('whose undoing fails tells so, and undoes the rest: %s', async (name) => {
    failing.add(name)
    const undoing = opening().undoWrite(OPENED, Promise.resolve(3))
    await expect(undoing).rejects.toMatchObject({ status: 503 })
    expect(calls).toHaveLength(2)
    expect(await counted('sessionsEnded')).toEqual([])
  })
})

describe('a new session replaces', () => {
  const taken = (...replaced: string[]): TakenDevice => ({
    key: '',
    own: '',
    before: undefined,
    replaced,
  })
  const own = sessionWith({ publicId: 'own' })
  const otherUsers = sessionWith({ publicId: 'other user', userId: '00u1other' })
  const otherDevice = sessionWith({ publicId: 'other device', deviceId: 'another' })
  const ended = (id: string, publicId?: string) => ['end', id, publicId, 'replaced']

  test.each<[string, TakenDevice, string | undefined, boolean, unknown[]]>([
    ['nothing', taken(), undefined, false, []],
    ['the session of its device', taken('own'), undefined, false, [ended('own', 'own')]],
    [
      'those under two keys, during a rotation',
      taken('own', 'own-2'),
      undefined,
      false,
      [ended('own', 'own'), ended('own-2', 'own')],
    ],
    ['the session of the cookie, if the index has lost it', taken(), 'own', false, [ended('own', 'own')]],
    ['both, if they differ', taken('own'), 'own-2', false, [ended('own', 'own'), ended('own-2', 'own')]],
    ['it once, if they are the same', taken('own'), 'own', false, [ended('own', 'own')]],
    ['not the session of a cookie from another device', taken(), 'other-device', true, []],
    ['not the session of a cookie that cannot be read', taken(), 'unreadable', true, []],
    [
      'a session of its device that cannot be read',
      taken('unreadable'),
      undefined,
      false,
      [ended('unreadable')],
    ],
    ['nothing that has ended', taken('gone'), 'gone-too', false, []],
    [
      'another user’s session, if it may',
      taken('other-user'),
      undefined,
      true,
      [ended('other-user', 'other user')],
    ],
  ])('%s', async (_what, replaced, presentedId, may, expected) => {
    records = new Map([
      ['own', own],
      ['own-2', own],
      ['other-user', otherUsers],
      ['other-device', otherDevice],
      ['unreadable', undefined],
    ])
    await opening().replace(OPENED, replaced, presentedId, may)
    expect(calls).toEqual(expected)
    expect(reads).toEqual([...new Set([...replaced.replaced, ...(presentedId ? [presentedId] : [])])])
  })

  test.each<[string, TakenDevice, string | undefined]>([
    ['of its device', taken('own', 'other-user'), undefined],
    ['of the cookie', taken('own'), 'other-user'],
  ])(
    'nothing if that would end another user’s session %s, and may not: 403',
    async (_which, replaced, presentedId) => {
      records = new Map([
        ['own', own],
        ['other-user', otherUsers],
      ])
      await expect(opening().replace(OPENED, replaced, presentedId, false)).rejects.toMatchObject({
        status: 403,
        code: 'E0000006',
        causes: [expect.stringMatching(/^stateToken: /)],
      })
      expect(calls).toEqual([])
    },
  )
})

test.each([
  [4, 0, []],
  [5, 2, [['evict', GRANT.userId]]],
])(
  'with %d entries of its user, %d sessions are evicted; the maximum is 4',
  async (entries, count, expected) => {
    expect(await opening().evict(OPENED, entries)).toBe(count)
    expect(calls).toEqual(expected)
  },
)
