import { describe, expect, test } from '@jest/globals'
import type { Client } from '../../src/authn/browser/client.ts'
import type { StepRequest } from '../../src/authn/step/step-request.ts'
import type { Transaction } from '../../src/authn/transaction/transaction.ts'
import { isHandle } from '../../src/authn/transaction/transaction-store.ts'
import { storeUnavailable } from '../../src/errors.ts'
import type { Store } from '../../src/store/store.ts'
import { deferred } from '../support/deferred.ts'
import { until } from '../support/until.ts'
import {
  answer,
  answers,
  busy,
  EMBEDDED_USER,
  ends,
  failureOf,
  gate,
  type Harness,
  type Okta,
  operation,
  type ReplicasOptions,
  rejection,
  replicas,
  SIGN_IN,
  STATE,
  SUCCESS,
  succeeds,
  USER_ID,
  verify,
} from './step-replicas.ts'
import { CLIENT } from './test-client.ts'

const CODE = verify('123456')
const unreachable = () => Promise.reject(storeUnavailable())
/** Okta names the user, and the sign-in continues. */
const NAMED = answer('named', EMBEDDED_USER)
const named: Okta = () => NAMED

/** Waits until everything that does not depend on held writes has happened. */
const turn = () => new Promise((resolve) => setImmediate(resolve))

/** Commands to the store, one list for each round trip. */
function roundTrips(more: (memory: Store) => Partial<Store> = () => ({})) {
  const trips: string[][] = [[]]
  const WATCHED = ['get', 'set', 'swap', 'delete', 'deleteIf', 'acquire', 'commit'] as const
  const INDEXES = ['indexPut', 'indexAll', 'indexRemove'] as const
  const faults: ReplicasOptions['faults'] = (memory) => {
    const replaced = more(memory)
    const watch = (name: string, run: (...given: never[]) => Promise<unknown>) => {
      return async (...given: never[]) => {
        const [first] = given as unknown[]
        const key = typeof first === 'string' ? first : (first as { recordKey: string }).recordKey
        trips.at(-1)?.push(`${name} ${kindOf(key)}`)
        const running = run(...given)
        running.catch(() => {}) // it is thrown below
        await turn() // the reply
        if (trips.at(-1)?.length !== 0) trips.push([])
        return running
      }
    }
    const operations = [...WATCHED, ...INDEXES].map((name) => [
      name,
      watch(name, (replaced[name] ?? memory[name]) as (...given: never[]) => Promise<unknown>),
    ])
    return { ...replaced, ...Object.fromEntries(operations) }
  }
  return { faults, trips: () => trips.filter(({ length }) => length > 0) }
}

/** A key without what is secret or random in it. */
function kindOf(key: string): string {
  return key
    .replace(/^gatehouse:/, '')
    .replace(/\{.*/, '')
    .replace(/[\w-]{43,}$/, '')
    .replace(/:$/, '')
}

/** Keys that are left, without those whose life is short or that belong to no sign-in. */
const left = ({ keys }: Pick<Harness, 'keys'>) =>
  keys().filter((key) => !/^gatehouse:(txn:ended|lock):/.test(key))

describe('the commit', () => {
  test('of a sign-in is one round trip, whose last command reads whether all sessions have ended', async () => {
    const { faults, trips } = roundTrips()
    const { replica } = await replicas({ faults })
    await replica().run(SIGN_IN, succeeds)
    const [commit, ...others] = trips()
    expect(commit).toEqual(['indexPut user-sess', 'set sess', 'set sso', 'swap user-sess', 'get txn:ended'])
    expect(others).toEqual([])
  })

  test('of the first step of a sign-in with several is one round trip, and so is its last command', async () => {
    const { faults, trips } = roundTrips()
    const { replica } = await replicas({ faults })
    await replica().run(SIGN_IN, named)
    expect(trips()).toEqual([['set txn', 'indexPut txn:user', 'get txn:ended']])
  })

  test('of a later step names the user in one round trip, after the one of the lock', async () => {
    const { faults, trips } = roundTrips()
    const { replica } = await replicas({ faults })
    await replica().run(CODE, named)
    expect(trips()).toEqual([['acquire txn'], ['indexPut txn:user', 'commit txn', 'get txn:ended']])
  })

  test('of the last step of a transaction that names its user reads nothing, because it is in the index', async () => {
    const { faults, trips } = roundTrips()
    const { replica, keep, start } = await replicas({ faults })
    await keep({ ...start(), userId: USER_ID })
    await replica().run(CODE, succeeds)
    expect(trips()).toEqual([
      ['acquire txn'],
      ['indexPut user-sess', 'set sess', 'set sso', 'swap user-sess', 'commit txn', 'indexRemove txn:user'],
    ])
  })

  test('writes the session first if the store may reorder writes', async () => {
    const write = deferred()
    const { replica, memory, record, shared, sessions } = await replicas({
      faults: () => ({ preservesWriteOrder: false }),
      opening: (real) => ({ write: (opened) => write.promise.then(() => real.write(opened)) }),
    })
    let isAnswered = false
    const running = replica()
      .run(CODE, succeeds)
      .finally(() => {
        isAnswered = true
      })
    await turn()
    expect([shared(), isAnswered]).toEqual([[], false])
    expect(await memory.get(record)).toBeDefined()
    write.resolve()
    const { sessionId = '' } = await running
    expect(await sessions.get(sessionId, CLIENT.device.id)).toMatchObject({ userId: USER_ID })
    expect(shared()).toHaveLength(1)
    expect(await memory.get(record)).toBeUndefined()
  })
})

/** How a sign-in ends, and the record that is there before. */
const ENDINGS: readonly [string, StepRequest, Okta, Partial<Transaction>][] = [
  ['a sign-in in one step', SIGN_IN, succeeds, {}],
  ['the first of several steps', SIGN_IN, named, {}],
  ['a step that names the user', CODE, named, {}],
  ['a step that names the user and opens the session', CODE, succeeds, {}],
]
const ORDERS = [true, false]

describe('all sessions of the user end while a sign-in runs that is in no index yet', () => {
  type When = 'before the answer' | 'just before the last command' | 'just after the last command'
  const WHEN: readonly When[] = [
    'before the answer',
    'just before the last command',
    'just after the last command',
  ]
  const TABLE = ENDINGS.flatMap(([name, request, okta, before]) =>
    WHEN.flatMap((when) =>
      ORDERS.map((preservesWriteOrder) => ({ name, request, okta, before, when, preservesWriteOrder })),
    ),
  )

  test.each(TABLE)(
    'nothing is left: $name, $when (a store that keeps order: $preservesWriteOrder)',
    async ({ request, okta, when, preservesWriteOrder }) => {
      let ending: Promise<number> | undefined
      let reads = 0
      const own: Harness = await replicas({
        faults: (memory) => ({
          preservesWriteOrder,
          async get(key) {
            if (!key.startsWith('gatehouse:txn:ended:')) return memory.get(key)
            reads += 1
            // recorded in this turn; everything else that it does comes later
            if (when === 'just before the last command') ending = endAll()
            const reading = memory.get(key)
            if (when === 'just after the last command') ending = endAll()
            return reading
          },
        }),
      })
      const { endAll } = own
      const before = left(own).filter((key) => request === SIGN_IN || key !== own.record)
      const running = own.replica().run(request, async (call) => {
        if (when === 'before the answer') await endAll()
        return okta(call)
      })
      const [result] = await Promise.allSettled([running])
      await ending
      expect(reads).toBe(1)
      if (when === 'just after the last command') {
        // what is left of a session names one that has ended; the browser's answer was right when
        // it was sent
        expect(left(own).filter((key) => !/:(sso|user-sess):/.test(key))).toEqual(before)
        return
      }
      expect(left(own)).toEqual(before)
      expect([own.entries.has(own.lock), own.shared()]).toEqual([false, []])
      expect(result).toMatchObject({ status: 'rejected', reason: { status: 401, code: 'E0000011' } })
    },
  )

  test.each(ORDERS)(
    'the device has its previous session again (a store that keeps order: %s)',
    async (preservesWriteOrder) => {
      const { replica, endAll, sessions, memory } = await replicas({
        faults: () => ({ preservesWriteOrder }),
      })
      const ofBob: Okta = () => ({
        ...SUCCESS,
        body: {
          ...SUCCESS.body,
          _embedded: { user: { id: '00u2bob', profile: { login: 'bob@x.example' } } },
        },
      })
      const { sessionId: bobs = '' } = await replica().run(SIGN_IN, ofBob)
      const refused = replica().run(SIGN_IN, async () => {
        await endAll()
        return SUCCESS
      })
      expect(await failureOf(refused)).toMatchObject({ status: 401 })
      expect(await sessions.exists(bobs)).toBe(true)
      // the next sign-in finds it, and replaces it
      await memory.deleteAll('gatehouse:txn:ended:')
      await replica().run(SIGN_IN, succeeds)
      expect(await sessions.exists(bobs)).toBe(false)
    },
  )

  test('an identical request on another replica gets 401 too, and no session', async () => {
    const { replica, endAll, keys } = await replicas()
    const { okta, started, finish } = gate()
    const first = failureOf(replica().run(CODE, okta))
    await until(() => started() === 1)
    const second = replica()
    const other = failureOf(second.run(CODE, okta))
    await until(() => busy(second).length > 0)
    finish(async () => {
      await endAll()
      return SUCCESS
    })
    for (const error of await Promise.all([first, other]))
      expect(error).toMatchObject({ status: 401, code: 'E0000011' })
    expect([started(), keys('sess:')]).toEqual([1, []])
  })

  test('a store that may reorder writes is read only after all of them', async () => {
    const done: string[] = []
    const { replica } = await replicas({
      faults: (memory) => ({
        preservesWriteOrder: false,
        async set(key, ...rest) {
          await turn() // another server, which takes longer
          done.push(`set ${kindOf(key)}`)
          return memory.set(key, ...rest)
        },
        async get(key) {
          done.push(`get ${kindOf(key)}`)
          return memory.get(key)
        },
      }),
    })
    await replica().run(SIGN_IN, named)
    expect(done).toEqual(['set txn', 'get txn:ended'])
  })

  test('an end before the transaction began does not count', async () => {
    const { replica, endAll, keys } = await replicas()
    await endAll({ transactionsSinceMs: Date.now() - 1000 })
    expect(await replica().run(SIGN_IN, succeeds)).toMatchObject({ sessionId: expect.any(String) })
    expect(keys('sess:')).toHaveLength(1)
  })

  test('no sign-in is audited, and the attempt is settled by Okta’s answer', async () => {
    const { replica, endAll, lines, counted } = await replicas()
    const refused = replica().run(SIGN_IN, async () => {
      await endAll()
      return SUCCESS
    })
    expect(await failureOf(refused)).toMatchObject({ status: 401 })
    expect(lines().filter(({ event }) => event === 'sign_in_succeeded')).toEqual([])
    expect(counted).toEqual(['reserve password', 'enforce password', 'consumeOrRefund'])
  })
})

describe('all sessions of the user end while a step runs in a transaction that names its user', () => {
  test.each(ORDERS)(
    'nothing is left, and the step gets 503 (a store that keeps order: %s)',
    async (preservesWriteOrder) => {
      const own = await replicas({ faults: () => ({ preservesWriteOrder }) })
      await own.keep({ ...own.start(), userId: USER_ID })
      const refused = own.replica().run(CODE, async () => {
        await own.endAll()
        return SUCCESS
      })
      expect(await failureOf(refused)).toMatchObject({ status: 503, headers: { 'Retry-After': '1' } })
      expect(left(own).filter((key) => !key.startsWith('gatehouse:txn:user:'))).toEqual([])
      expect(own.shared()).toEqual([])
    },
  )
})

describe('a write that fails', () => {
  const CAUSE = new Error('the first')
  type Matches = (name: string, key: string) => boolean
  const of =
    (operationName: string, kind: string): Matches =>
    (name, key) =>
      name === operationName && kindOf(key) === kind
  const WRITES: readonly [string, StepRequest, Okta, Partial<Transaction>, Matches][] = [
    ['the session', SIGN_IN, succeeds, {}, of('set', 'sess')],
    ['the index of its user', SIGN_IN, succeeds, {}, of('indexPut', 'user-sess')],
    ['the SSO token', SIGN_IN, succeeds, {}, of('set', 'sso')],
    ['the session of the device', SIGN_IN, succeeds, {}, of('swap', 'user-sess')],
    ['the read of the end', SIGN_IN, succeeds, {}, of('get', 'txn:ended')],
    ['a new transaction', SIGN_IN, named, {}, of('set', 'txn')],
    ['the index of a new transaction', SIGN_IN, named, {}, of('indexPut', 'txn:user')],
    ['the read of the end, for a new transaction', SIGN_IN, named, {}, of('get', 'txn:ended')],
    ['the index of a transaction', CODE, named, {}, of('indexPut', 'txn:user')],
    ['the read of the end, for a transaction', CODE, named, {}, of('get', 'txn:ended')],
    ['the transaction, whose user is new', CODE, named, {}, of('commit', 'txn')],
    ['the transaction', CODE, succeeds, { userId: USER_ID }, of('commit', 'txn')],
    ['the session, in a transaction', CODE, succeeds, { userId: USER_ID }, of('set', 'sess')],
    ['the device, in a transaction', CODE, succeeds, { userId: USER_ID }, of('swap', 'user-sess')],
  ]
  const EFFECTS = ['nothing was written', 'the reply was lost'] as const
  const TABLE = WRITES.flatMap(([name, request, okta, before, matches]) =>
    EFFECTS.flatMap((effect) =>
      ORDERS.map((preservesWriteOrder) => ({
        name,
        request,
        okta,
        before,
        matches,
        effect,
        preservesWriteOrder,
      })),
    ),
  )
  const OPERATIONS = ['get', 'set', 'swap', 'commit', 'indexPut'] as const

  // shows: V2.3.3
  test.each(TABLE)(
    'undoes all others, and its error is thrown: $name; $effect (a store that keeps order: $preservesWriteOrder)',
    async ({ request, okta, before, matches, effect, preservesWriteOrder }) => {
      let isFailing = false
      let failed = 0
      const own = await replicas({
        faults: (memory) => {
          const watch = (name: (typeof OPERATIONS)[number]) => {
            const run = memory[name] as (...given: never[]) => Promise<unknown>
            return async (...given: never[]) => {
              const [first] = given as unknown[]
              const key = typeof first === 'string' ? first : (first as { recordKey: string }).recordKey
              if (!isFailing || !matches(name, key)) return run(...given)
              failed += 1
              if (effect === 'the reply was lost') await run(...given)
              throw storeUnavailable(CAUSE)
            }
          }
          const replaced = OPERATIONS.map((name) => [name, watch(name)])
          return { preservesWriteOrder, ...Object.fromEntries(replaced) }
        },
      })
      await own.keep({ ...own.start(), ...before })
      const unaffected = left(own).filter((key) => request === SIGN_IN || key !== own.record)
      isFailing = true
      const thrown = await failureOf(own.replica().run(request, okta))
      expect(thrown).toMatchObject({ status: 503, code: 'E0000009', cause: CAUSE })
      expect(failed).toBe(1)
      await until(() => left(own).every((key) => key === own.record || unaffected.includes(key)))
      expect(left(own).filter((key) => key !== own.record || request === SIGN_IN)).toEqual(unaffected)
      expect([own.entries.has(own.lock), own.shared()]).toEqual([false, []])
      expect(own.lines().filter(({ event }) => event === 'sign_in_succeeded')).toEqual([])
    },
  )

  test('a transaction stays in the index of its user if its end was not committed', async () => {
    const { replica, keep, start, endAll, stored } = await replicas({
      faults: () => ({ commit: unreachable }),
    })
    await keep({ ...start(), userId: USER_ID })
    expect(await failureOf(replica().run(CODE, succeeds))).toMatchObject({ status: 503 })
    expect(await stored()).toBeDefined()
    await endAll()
    expect(await stored()).toBeUndefined()
  })

  test('a transaction that has just named its user is over, because it may be in no index', async () => {
    const { replica, stored } = await replicas({ faults: () => ({ indexPut: unreachable }) })
    expect(await failureOf(replica().run(CODE, named))).toMatchObject({ status: 503 })
    expect(await stored()).toBeUndefined()
  })

  test('if writes cannot be undone, that is logged, and the first error is thrown', async () => {
    const { replica, lines } = await replicas({
      faults: (memory) => ({
        deleteIf: unreachable,
        delete: unreachable,
        indexRemove: unreachable,
        set: (key, ...rest) =>
          key.includes(':sess:') ? Promise.reject(storeUnavailable(CAUSE)) : memory.set(key, ...rest),
      }),
    })
    expect(await failureOf(replica().run(CODE, succeeds))).toMatchObject({ status: 503, cause: CAUSE })
    const events = lines().map(({ event, level }) => ({ event, level }))
    // the shared result, the session, the SSO token and the device
    expect(events).toEqual(Array(4).fill({ event: 'step_rollback_failed', level: 'warn' }))
  })

  test('of the offers: the step fails, and nothing is shared', async () => {
    const path = '/api/v1/users/00u1ada/factors/questions'
    const link = { questions: { href: `https://acme.okta.example${path}`, hints: { allow: ['GET'] } } }
    const { replica, shared, entries, lock } = await replicas({
      faults: (memory) => ({
        set: (key, ...rest) => (key.includes(':offer:') ? unreachable() : memory.set(key, ...rest)),
      }),
    })
    const offers = answers('offers', { _links: link })
    expect(await failureOf(replica().run(CODE, offers))).toMatchObject({ status: 503 })
    expect([shared(), entries.has(lock)]).toEqual([[], false])
  })
})

describe('a commit whose lock has expired', () => {
  const newer: Okta = answers('newer', { stateToken: 'newer' })

  const LATE: readonly [string, Okta, Partial<Transaction>][] = [
    ['opens a session', succeeds, { userId: USER_ID }],
    ['names the user', named, {}],
    ['names the user and opens a session', succeeds, {}],
  ]
  const TABLE = LATE.flatMap(([what, okta, before]) =>
    ORDERS.map((preservesWriteOrder) => ({ what, okta, before, preservesWriteOrder })),
  )

  test.each(TABLE)(
    'undoes its writes, and the newer state stays, if it $what (a store that keeps order: $preservesWriteOrder)',
    async ({ okta, before, preservesWriteOrder }) => {
      const own = await replicas({ lockTtlMs: 60, faults: () => ({ preservesWriteOrder }) })
      await own.keep({ ...own.start(), ...before })
      const late = gate()
      const running = failureOf(own.replica().run(CODE, late.okta))
      await until(() => late.started() === 1)
      await own.replica().run(verify('another'), newer)
      late.finish(okta)
      expect(await running).toMatchObject({ status: 503, headers: { 'Retry-After': '1' } })
      expect(await own.stored()).toMatchObject({ stateToken: 'newer' })
      expect([own.keys('sess:'), own.keys('sso:'), own.keys('user-sess:')]).toEqual([[], [], []])
      // the newer one's
      expect([own.shared().length, own.entries.has(own.lock)]).toEqual([1, false])
      // and it is in the index of its user, if it was
      await own.endAll()
      if (before.userId !== undefined) expect(await own.stored()).toBeUndefined()
    },
  )
})

describe('after the commit', () => {
  test('the sessions that the new one replaces end; if they cannot, everything is undone', async () => {
    let isFailing = false
    const { replica, keys, shared, sessions, lines } = await replicas({
      opening: (real) => ({ replace: (...given) => (isFailing ? unreachable() : real.replace(...given)) }),
    })
    const { sessionId: first = '' } = await replica().run(SIGN_IN, succeeds)
    const kept = keys()
    isFailing = true
    expect(await failureOf(replica().run(CODE, succeeds))).toMatchObject({ status: 503 })
    expect(keys('sess:').concat(keys('sso:'), keys('user-sess:'))).toEqual(
      kept.filter((key) => /:(sess|sso|user-sess):/.test(key)),
    )
    expect([shared(), await sessions.exists(first)]).toEqual([[], true])
    expect(lines().filter(({ event }) => event === 'sign_in_succeeded')).toHaveLength(1)
    isFailing = false
    await replica().run(SIGN_IN, succeeds)
    expect(await sessions.exists(first)).toBe(false)
  })

  test('the oldest sessions above the maximum are evicted, and audited', async () => {
    const { replica, keys, lines } = await replicas()
    const { run } = replica()
    for (let n = 0; n < 5; n++)
      await run(SIGN_IN, succeeds, { ...CLIENT, device: { id: String(n).repeat(32), returned: true } })
    expect(keys('sess:')).toHaveLength(4)
    expect(lines().filter(({ event }) => event === 'sessions_revoked')).toEqual([
      expect.objectContaining({ userId: USER_ID, count: 1, reason: 'evicted' }),
    ])
    expect(lines().filter(({ event }) => event === 'sign_in_succeeded')).toHaveLength(5)
  })
})

describe('the shared result of a session that is not stored yet', () => {
  /**
   * The step is committed, but its session is not stored yet. An identical request waits on another
   * replica.
   */
  async function pending() {
    const write = deferred()
    let failure: unknown
    const all = await replicas({
      sharedMs: 60_000,
      opening: (real) => ({
        async write(opened) {
          await write.promise
          if (failure !== undefined) throw failure
          return real.write(opened)
        },
      }),
    })
    const { replica, shared, sent } = all
    const holder = gate()
    const first = replica().run(CODE, holder.okta)
    await until(() => holder.started() === 1)
    const second = replica()
    const other = second.run(CODE, answers('again'))
    await until(() => busy(second).length > 0)
    // the transaction goes on, so that the other request could run
    const continues = answer('success', { ...SUCCESS.body, stateToken: undefined })
    holder.finish(() => continues)
    const acquired = () => second.acquires.filter(({ isOurs }) => isOurs).length
    await until(() => acquired() > 1)
    expect([sent.length, shared()]).toEqual([1, [expect.any(String)]])
    return {
      ...all,
      first,
      other,
      written: () => write.resolve(),
      failed() {
        failure = storeUnavailable()
        write.resolve()
      },
    }
  }

  test('is not used by other replicas until the session is stored', async () => {
    const { first, other, sent, entries, lock, written } = await pending()
    written()
    const [one, two] = await Promise.all([first, other])
    expect(one.sessionId).toEqual(expect.any(String))
    expect(two).toEqual(one)
    expect([sent.length, entries.has(lock)]).toEqual([1, false])
  })

  test('is not used if the session is never stored: the other replica finds the transaction over', async () => {
    const { first, other, failed, sent } = await pending()
    const refused = failureOf(other)
    failed()
    expect(await failureOf(first)).toMatchObject({ status: 503 })
    expect(await refused).toMatchObject({ status: 401, code: 'E0000011' })
    expect(sent).toHaveLength(1)
  })
})

describe('the transaction', () => {
  const indexed = async ({ memory, keys }: Harness) => {
    const [index] = keys('txn:user:')
    return index === undefined ? [] : Object.keys(await memory.indexAll(index))
  }

  test('is in the index of its user once the user is known, and leaves it when it is over', async () => {
    const own = await replicas()
    const { run } = own.replica()
    await run(STATE, answers('next'))
    expect(await indexed(own)).toEqual([])
    await run(STATE, named)
    expect(await indexed(own)).toEqual([own.record])
    await run(STATE, answers('more'))
    expect(await indexed(own)).toEqual([own.record])
    await run(STATE, ends)
    expect(await indexed(own)).toEqual([])
  })

  test('of a first step is created under the new handle, with its user, and nothing is shared', async () => {
    const own = await replicas()
    const begun = await own.replica().run(SIGN_IN, named)
    const handle = JSON.parse(begun.body).stateToken
    expect(isHandle(handle)).toBe(true)
    const key = own.transactions.keyOf(own.transactions.namesOf(handle)[0])
    expect(await own.stored(key)).toMatchObject({ userId: USER_ID, status: 'MFA_REQUIRED' })
    expect([await indexed(own), own.keys('lock:')]).toEqual([[key], []])
  })

  test.each<[string, Okta]>([
    ['ends', succeeds],
    ['is refused', () => rejection(401, 'E0000004')],
    ['locks the user out', answers('locked', { status: 'LOCKED_OUT', stateToken: undefined })],
  ])('is not created if the first step %s', async (_name, okta) => {
    const own = await replicas()
    await own.replica().run(SIGN_IN, okta)
    expect(own.keys('txn:')).toEqual([own.record])
  })
})

describe('other sessions of the user', () => {
  const RESET = operation('resetPassword', {
    fields: { newPassword: 'a-new-test-password', revokeSessions: true },
  })
  const PATH = '/api/v1/authn/credentials/reset_password'

  /** The user has a session on another device, and a transaction that a recovery began. */
  async function recovering(isUserStored: boolean, options?: ReplicasOptions) {
    const { faults, trips } = roundTrips(options?.faults)
    const own = await replicas({ ...options, faults })
    const elsewhere: Client = { ...CLIENT, device: { id: 'e'.repeat(32), returned: true } }
    const { sessionId: old = '' } = await own.replica().run(SIGN_IN, succeeds, elsewhere)
    await own.keep({
      ...own.start(),
      status: 'PASSWORD_RESET',
      isRecovery: true,
      credentialAccepted: false,
      userProved: false,
      userId: isUserStored ? USER_ID : undefined,
      offered: [{ path: PATH, query: '', methods: ['POST'] }],
    })
    trips().splice(0)
    const done = trips().length
    return { ...own, old, trips: () => trips().slice(done) }
  }

  test.each([true, false])(
    'end before the other writes, which open a session (the record names the user: %s)',
    async (isUserStored) => {
      const { replica, old, sessions, trips, lines } = await recovering(isUserStored)
      const { sessionId: next = '' } = await replica().run(RESET, succeeds)
      expect([await sessions.exists(old), await sessions.exists(next)]).toEqual([false, true])
      const commands = trips().flat()
      expect(commands.indexOf('delete sess')).toBeLessThan(commands.indexOf('set sess'))
      expect(commands).toContain('delete sess')
      expect(lines()).toContainEqual(
        expect.objectContaining({ event: 'sessions_revoked', reason: 'password_change', count: 1 }),
      )
      // the end that the step itself has caused is read before, and does not refuse it
      expect(commands.filter((one) => one === 'get txn:ended')).toHaveLength(isUserStored ? 0 : 1)
    },
  )

  test('end even if the answer is refused, because another user is signed in at this browser', async () => {
    const { replica, old, sessions, keys, stored } = await recovering(true)
    const user = { id: '00u2bob', profile: { login: 'bob@example.com' } }
    const ofBob: Okta = () => ({ ...SUCCESS, body: { ...SUCCESS.body, _embedded: { user } } })
    const { sessionId: bobs = '' } = await replica().run(SIGN_IN, ofBob)
    const refused = replica().run(RESET, succeeds, { ...CLIENT, sessionId: bobs })
    expect(await failureOf(refused)).toMatchObject({ status: 403, code: 'E0000006' })
    expect([await sessions.exists(old), await sessions.exists(bobs)]).toEqual([false, true])
    expect([keys('sess:').length, await stored()]).toEqual([1, undefined])
  })

  test('stay ended if the commit fails', async () => {
    let isFailing = false
    const { replica, old, sessions, keys } = await recovering(true, {
      faults: (memory) => ({
        commit: (commit) => (isFailing ? unreachable() : memory.commit(commit)),
      }),
    })
    isFailing = true
    expect(await failureOf(replica().run(RESET, succeeds))).toMatchObject({ status: 503 })
    expect([await sessions.exists(old), keys('sess:')]).toEqual([false, []])
  })

  test('if they cannot be ended, nothing is written, the lock is released, and it is tried again', async () => {
    let isFailing = false
    const { replica, old, sessions, keys, entries, lock, stored } = await recovering(true, {
      faults: (memory) => ({
        delete: (key) => (isFailing && key.includes(':sess:') ? unreachable() : memory.delete(key)),
      }),
    })
    isFailing = true
    expect(await failureOf(replica().run(RESET, succeeds))).toMatchObject({ status: 503 })
    expect([await sessions.exists(old), keys('sess:').length]).toEqual([true, 1])
    expect([entries.has(lock), (await stored())?.status]).toEqual([false, 'PASSWORD_RESET'])
    isFailing = false
    await until(async () => !(await sessions.exists(old)))
  })

  test('all sessions ended before: the step is refused, and the others end nevertheless', async () => {
    const { replica, old, sessions, keys, revocation } = await recovering(false)
    const refused = replica().run(RESET, async () => {
      await revocation.revocationTimes.record(USER_ID)
      return SUCCESS
    })
    expect(await failureOf(refused)).toMatchObject({ status: 401, code: 'E0000011' })
    expect([await sessions.exists(old), keys('sess:'), keys('sso:').length]).toEqual([false, [], 1])
  })
})
