import { describe, expect, test } from '@jest/globals'
import { StepAudit } from '../../../src/authn/audit/step-audit.ts'
import type { Client } from '../../../src/authn/browser/client.ts'
import { attemptLimits } from '../../../src/authn/throttling/attempt-limits.ts'
import type { AttemptResult } from '../../../src/authn/throttling/attempt-result.ts'
import { windowsOfAttempt } from '../../../src/authn/throttling/attempt-windows.ts'
import type { Attempt } from '../../../src/authn/throttling/attempts.ts'
import { createThrottling, type Throttling } from '../../../src/authn/throttling/throttling.ts'
import { defaultTunables } from '../../../src/config/tunables.ts'
import { createSigner } from '../../../src/crypto/keys.ts'
import { storeUnavailable } from '../../../src/errors.ts'
import { createLoginNames } from '../../../src/login-names.ts'
import { createMetrics } from '../../../src/observability/metrics.ts'
import type { UserKeys } from '../../../src/revocation/user-keys.ts'
import type { CountRequest, CountResult } from '../../../src/store/attempt-counters.ts'
import type { Store } from '../../../src/store/store.ts'
import { collectLog } from '../../observability/collect-log.ts'
import { clock, entries, store, useMemoryStore } from '../../support/memory-store.ts'
import { until } from '../../support/until.ts'
import { CLIENT as client } from '../test-client.ts'

// Ahead of the store's clock, so that no attempt is too late on a slow machine.
const NOW = Date.now() + 3_600_000
const password: Attempt = { kind: 'password', operation: 'primary', login: 'ada' }

const ended = (errorCode: string | undefined, status?: string): AttemptResult => ({
  outcome: { kind: 'answer', status: 200, body: '{}', headers: {}, errorCode, sessionId: undefined },
  ...(status === undefined ? {} : { status }),
})

useMemoryStore()

const KEY = Buffer.alloc(32, 'plainly-fake')

function throttlingOn(
  changed: Partial<Store> = {},
  masterKeys = [KEY],
  loginDomains: readonly string[] = [],
  note: UserKeys['add'] = async () => {},
) {
  const keys = masterKeys
  const { log, lines } = collectLog()
  const metrics = createMetrics()
  const logins = createLoginNames(loginDomains)
  const nameSigner = createSigner(keys, 'limit-names')
  const audit = new StepAudit({
    log,
    metrics,
    hashes: createSigner(keys, 'log-hashes'),
    canonicalLogin: logins.canonical,
  })
  const limiting = { store, limits: attemptLimits(defaultTunables().limits), nameSigner, logins }
  const throttling = createThrottling({
    ...limiting,
    store: { ...store, ...changed },
    knownDevices: { add: note },
    audit,
    log,
    now: () => NOW,
  })
  const isKnownDevice = (user: Pick<Attempt, 'userId' | 'login'>, from: Client) =>
    windowsOfAttempt(limiting, { kind: 'code', operation: 'x', ...user }, from)
      .flatMap(({ override, formerKnownDeviceKeys = [] }) => [
        override?.ifKeyExists ?? '',
        ...formerKnownDeviceKeys,
      ])
      .some((key) => entries.has(key))
  return { ...throttling, isKnownDevice, step: stepWith(throttling), lines, metrics }
}

/** Runs a step whose attempt is reserved, as the sign-in pipeline does. */
const stepWith =
  ({ reserve }: Throttling) =>
  async (
    attempt: Attempt | undefined,
    from: Client,
    work: () => Promise<AttemptResult>,
  ): Promise<AttemptResult> => {
    const reservation = reserve(attempt, from)
    await reservation.enforce()
    try {
      const result = await work()
      reservation.consumeOrRefund(result)
      return result
    } catch (error) {
      reservation.consumeOrRefundOnError(error)
      throw error
    }
  }

/** The counted windows of users and addresses: each window's name and its attempts. */
const counted = (): (readonly [name: string, count: number])[] =>
  [...entries].flatMap(([key, { content }]) =>
    key.startsWith('gatehouse:limit:') && content instanceof Map
      ? [...content].map(([name, text]) => [name, Number(JSON.parse(text).count)] as const)
      : [],
  )

describe('a reservation whose step may not run', () => {
  const counts = () => counted().map(([, count]) => count)
  const empty = () => until(() => entries.size === 0, { what: 'an empty count' })
  const nextTurn = () => new Promise((resolve) => setImmediate(resolve))
  const WRONG = ended('E0000004')
  const used = async () => {
    for (let n = 0; n < 5; n++) await throttlingOn().step(password, client, async () => WRONG)
  }

  test('is refunded once if another request runs the step', async () => {
    const other = throttlingOn().reserve(password, client)
    const reservation = throttlingOn().reserve(password, client)
    reservation.refund()
    reservation.refund()
    await until(() => counts().every((count) => count === 1), { what: 'one attempt that is left' })
    other.refund()
    await empty()
  })

  test('is counted again if the step runs after all', async () => {
    const reservation = throttlingOn().reserve(password, client)
    reservation.refund()
    await reservation.enforce()
    reservation.consumeOrRefund(WRONG)
    await until(() => new Set(counts()).size === 1)
    expect(new Set(counts())).toEqual(new Set([1]))
  })

  test.each([
    ['a failed attempt stays counted', WRONG, 1],
    ['any other attempt is refunded once', ended(undefined), undefined],
  ])('only the first call has an effect: %s', async (_, result, count) => {
    const other = throttlingOn().reserve(password, client)
    const reservation = throttlingOn().reserve(password, client)
    await reservation.enforce()
    reservation.consumeOrRefund(result)
    reservation.refund()
    reservation.consumeOrRefundOnError(new Error('the commit failed'))
    await nextTurn()
    other.refund()
    if (count === undefined) await empty()
    else await until(() => counts().every((one) => one === count))
  })

  test('beyond a limit is audited only if the step is to run', async () => {
    await used()
    const { reserve, lines, metrics } = throttlingOn()
    reserve(password, client).refund()
    const reservation = reserve(password, client)
    await nextTurn()
    expect([lines(), (await metrics.limitHits.get()).values]).toEqual([[], []])
    await expect(reservation.enforce()).rejects.toMatchObject({ status: 429 })
    expect(lines()).toMatchObject([{ event: 'limit_hit' }])
    expect((await metrics.limitHits.get()).values).toMatchObject([{ value: 1 }])
    reservation.consumeOrRefundOnError(new Error('refused'))
    await nextTurn()
    expect(new Set(counts())).toEqual(new Set([5]))
  })

  test('expires soon: a store that stalled does not count it later', async () => {
    const asked: CountRequest[] = []
    const { reserve } = throttlingOn({
      countAttempt(counting) {
        asked.push(counting)
        const late = counting.notAfterMs !== undefined && asked.length === 1
        return late
          ? Promise.resolve({ overridden: false, full: undefined, late: true, countedWindows: [] })
          : store.countAttempt({ ...counting, notAfterMs: Number.MAX_SAFE_INTEGER })
      },
    })
    const reservation = reserve(password, client)
    expect(asked.map(({ notAfterMs }) => notAfterMs)).toEqual([NOW + 1000, NOW + 1000])
    // counts again without a time limit, and refunds what was counted for the address meanwhile
    await reservation.enforce()
    reservation.consumeOrRefund(WRONG)
    expect(asked.map(({ notAfterMs }) => notAfterMs ?? 'whenever')).toEqual([
      NOW + 1000,
      NOW + 1000,
      'whenever',
      'whenever',
    ])
    await until(() => counts().every((count) => count === 1))
  })

  test('can be refunded while the store is unreachable; only a request that awaits the reservation gets 503', async () => {
    const { reserve, lines } = throttlingOn({ countAttempt: () => Promise.reject(storeUnavailable()) })
    reserve(password, client).refund()
    const reservation = reserve(password, client)
    await nextTurn() // no request awaits it yet, and the rejection is handled
    await expect(reservation.enforce()).rejects.toMatchObject({ status: 503 })
    expect(lines()).toEqual([])
  })
})

describe('a refusal', () => {
  const full = (leftMs: number, index = 0): CountResult => ({
    overridden: false,
    full: { index, leftMs },
    late: false,
    countedWindows: [],
  })
  const available: CountResult = { overridden: false, full: undefined, late: false, countedWindows: [] }
  /** The first entry is the user's, the second the address's. */
  const refusedBy = async (...answers: CountResult[]) => {
    const throttling = throttlingOn({ countAttempt: async () => answers.shift() ?? available })
    const error: unknown = await throttling
      .step({ ...password, factorType: 'password' }, client, async () => ended(undefined))
      .then(
        () => undefined,
        (reason: unknown) => reason,
      )
    return { ...throttling, error }
  }

  test('has the limit, when it resets, and no attempts left', async () => {
    const { error, lines, metrics } = await refusedBy(available, full(90_500))
    expect(error).toMatchObject({
      status: 429,
      code: 'E0000047',
      headers: {
        'Retry-After': '91',
        'X-Rate-Limit-Limit': '100',
        'X-Rate-Limit-Remaining': '0',
        'X-Rate-Limit-Reset': String(Math.ceil((NOW + 90_500) / 1000)),
      },
    })
    expect((await metrics.limitHits.get()).values).toMatchObject([
      { labels: { limit: 'call_address' }, value: 1 },
    ])
    expect(lines()).toMatchObject([
      {
        event: 'limit_hit',
        limit: 'call_address',
        operation: 'primary',
        factorType: 'password',
        retryAfterSeconds: 91,
        loginHash: expect.any(String),
      },
    ])
  })

  test.each([
    ['the user’s', [full(9000), full(1000)], '9', 'password_user'],
    ['the address’s', [full(1000), full(9000)], '9', 'call_address'],
    ['one that is almost over', [full(0), available], '1', 'password_user'],
  ])('for several limits names the one that lasts longest: %s', async (_, answers, retryAfter, limit) => {
    const { error, metrics } = await refusedBy(...answers)
    expect(error).toMatchObject({ headers: { 'Retry-After': retryAfter } })
    expect((await metrics.limitHits.get()).values).toMatchObject([{ labels: { limit } }])
  })

  test('does not show whether anybody has signed in with the name: it lasts a day at most', async () => {
    const { error } = await refusedBy(full(20 * 86_400_000, 2), available)
    expect(error).toMatchObject({ status: 429, headers: { 'Retry-After': '86400' } })
  })

  test('for a known device depends on its own limits, not on those of its address', async () => {
    const known = { ...available, overridden: true }
    expect((await refusedBy(known, full(9000))).error).toBeUndefined()
    const { error, metrics } = await refusedBy({ ...full(9000, 2), overridden: true }, available)
    expect(error).toMatchObject({ status: 429, headers: { 'Retry-After': '9', 'X-Rate-Limit-Limit': '8' } })
    expect((await metrics.limitHits.get()).values).toMatchObject([
      { labels: { limit: 'password_known_device' } },
    ])
  })
})

describe('a known device', () => {
  const ADA = { userId: '00u1ada', logins: ['ada', 'ada@corp.example'] }
  const unknownDevice: Client = { ...client, device: { id: 's'.repeat(32), returned: true } }

  test('has fully signed the user in: it is known by user id and by each login, and no other device is', async () => {
    const { rememberDevice, isKnownDevice } = throttlingOn()
    expect(isKnownDevice({ login: 'ada' }, client)).toBe(false)
    await rememberDevice(ADA, client)
    for (const user of [{ userId: '00u1ada' }, { login: 'ADA' }, { login: 'ada@corp.example' }]) {
      expect(isKnownDevice(user, client)).toBe(true)
      expect(isKnownDevice(user, unknownDevice)).toBe(false)
    }
    expect(isKnownDevice({ userId: '00u2', login: 'ada' }, client)).toBe(false)
    expect(isKnownDevice({ login: 'bob' }, client)).toBe(false)
    expect(isKnownDevice({}, client)).toBe(false)
  })

  test('is in the index of the user, so that it ends with all sessions', async () => {
    const added: unknown[][] = []
    const { rememberDevice } = throttlingOn({}, [KEY], [], async (...all) => void added.push(all))
    await rememberDevice(ADA, client)
    const marks = [...entries.keys()].filter((key) => key.startsWith('gatehouse:known:'))
    expect(marks).toHaveLength(3)
    const days = marks.map((mark) =>
      Math.round(((entries.get(mark)?.expiresAt ?? 0) - clock.now) / 86_400_000),
    )
    expect(days).toEqual([90, 90, 90])
    expect(added).toEqual([['00u1ada', expect.anything(), 90 * 86_400_000]])
    expect(added.flat(2)).toEqual(expect.arrayContaining(marks))
  })

  /** The names of the user's windows, without ids. */
  const countedOfUsers = async () => {
    await until(() => counted().every(([name]) => !name.includes(':address:')))
    return counted()
      .map(([name]) => name.replace(/:[\w-]{20}:/, ':'))
      .sort()
  }

  test('is counted only in its own limits', async () => {
    const { step, rememberDevice } = throttlingOn()
    await rememberDevice(ADA, client)
    await step(password, client, async () => ended('E0000004'))
    expect(await countedOfUsers()).toEqual([
      'call:known_device:burst',
      'call:known_device:sustained',
      'password:known_device:burst',
      'password:known_device:inARow',
      'password:known_device:sustained',
      'password:known_person:burst',
      'password:known_person:inARow',
      'password:known_person:sustained',
    ])
  })

  test('has its inARow windows reset by a full sign-in, and the other windows kept', async () => {
    const { step, rememberDevice } = throttlingOn()
    await rememberDevice(ADA, client)
    await step(password, client, async () => ended('E0000004'))
    await rememberDevice(ADA, client)
    expect(await countedOfUsers()).toEqual([
      'call:known_device:burst',
      'call:known_device:sustained',
      'password:known_device:burst',
      'password:known_device:sustained',
      'password:known_person:burst',
      'password:known_person:sustained',
    ])
  })
})

describe('a recovery that only known devices may start', () => {
  const recovery: Attempt = { kind: 'recovery', operation: 'recovery', login: 'ada', onlyKnownDevices: true }

  test('is refused on another device, and leaves no count', async () => {
    const { reserve, lines } = throttlingOn()
    const refusal = { status: 403, code: 'E0000006' }
    await expect(reserve(recovery, client).enforce()).rejects.toMatchObject(refusal)
    await until(() => entries.size === 0, { what: 'an empty count' })
    expect(lines()).toEqual([])
  })

  test('starts on a known device, and on any without the rule', async () => {
    const { reserve, rememberDevice } = throttlingOn()
    await reserve({ ...recovery, onlyKnownDevices: false }, client).enforce()
    await rememberDevice({ userId: '00u1ada', logins: ['ada'] }, client)
    await reserve(recovery, client).enforce()
  })
})

describe('a call that is no guess', () => {
  const call: Attempt = { kind: 'call', operation: 'state', login: 'ada' }
  const guess: Attempt = { kind: 'code', operation: 'verify', login: 'ada' }
  const isOfAddress = ({ windows }: CountRequest) => windows.some(({ name }) => name.includes(':address:'))

  /** A store in which the limit of each address is used up. */
  function fullForAddresses(isFull: boolean) {
    const asked: string[] = []
    const countAttempt: Store['countAttempt'] = async (request) => {
      asked.push(isOfAddress(request) ? 'address' : 'user')
      const result = await store.countAttempt(request)
      return isFull && isOfAddress(request) ? { ...result, full: { index: 0, leftMs: 9000 } } : result
    }
    return { asked, ...throttlingOn({ countAttempt }) }
  }

  test('costs one count, and no question whether the device is known', async () => {
    const { reserve, asked } = fullForAddresses(false)
    await reserve(call, client).enforce()
    expect(asked).toEqual(['address'])
  })

  test('beyond the limit of its address is refused, but not on a known device', async () => {
    const { reserve, asked, rememberDevice } = fullForAddresses(true)
    await expect(reserve(call, client).enforce()).rejects.toMatchObject({ status: 429 })
    expect(asked).toEqual(['address', 'user'])
    await until(() => entries.size === 0, { what: 'an empty count' })
    await rememberDevice({ userId: '00u1ada', logins: ['ada'] }, client)
    await reserve(call, client).enforce()
  })

  test('becomes a guess when its transaction is known, and is then counted for the user too', async () => {
    const { reserve, asked } = fullForAddresses(false)
    await reserve(call, client).enforce(guess)
    expect(asked).toEqual(['address', 'user'])
    const asGuess = fullForAddresses(false)
    await asGuess.reserve(guess, client).enforce(guess)
    expect(asGuess.asked).toEqual(['user', 'address'])
  })

  test('leaves no count if the store fails then: 503', async () => {
    const { reserve } = throttlingOn({
      countAttempt: (request) =>
        isOfAddress(request) ? store.countAttempt(request) : Promise.reject(storeUnavailable()),
    })
    await expect(reserve(call, client).enforce(guess)).rejects.toMatchObject({ status: 503 })
    await until(() => entries.size === 0, { what: 'an empty count' })
  })
})

test('without an attempt, nothing is counted', async () => {
  const { reserve } = throttlingOn()
  const reservation = reserve(undefined, client)
  await reservation.enforce()
  reservation.consumeOrRefund(ended('E0000004'))
  reservation.consumeOrRefundOnError(new Error('refused'))
  reservation.refund()
  expect(entries.size).toBe(0)
})

describe('failures in a row', () => {
  const DAY_MS = 86_400_000
  const strangers = throttlingOnEach()
  /** A wrong password for `ada` from new devices and addresses. The status. */
  function throttlingOnEach() {
    let n = 0
    return async () => {
      n += 1
      const device = { id: `${n}`.padStart(32, '0'), returned: true }
      const from: Client = { ...client, address: `198.18.${n >> 8}.${n & 255}`, device }
      return throttlingOn()
        .step(password, from, async () => ended('E0000004'))
        .then(
          () => 401,
          (error) => error.status,
        )
    }
  }
  /** As many as are counted within the other limits, on so many days. */
  async function fail(days: number): Promise<number> {
    let failures = 0
    for (let day = 0; day < days; day++, clock.now += DAY_MS) {
      for (let part = 0; part < 4; part++, clock.now += 600_000)
        for (let n = 0; n < 8; n++) if ((await strangers()) === 401) failures += 1
    }
    return failures
  }

  test('by strangers: 60 in 30 days if the user has signed in here, else 20 a day', async () => {
    expect(await fail(6)).toBe(120)
    await throttlingOn().rememberDevice({ userId: '00u1ada', logins: ['ada'] }, client)
    expect(await fail(6)).toBe(60)
  })

  test('begin anew with a full sign-in, wherever they are counted', async () => {
    const inARow = () => counted().filter(([name]) => name === 'password:person:inARow')
    await strangers()
    expect(inARow()).toHaveLength(1)
    await throttlingOn().rememberDevice({ userId: '00u1ada', logins: ['ada'] }, client)
    expect(inARow()).toEqual([])
    await strangers()
    expect(inARow()).toHaveLength(1)
    await throttlingOn().resetUser({ userId: '00u1ada', logins: ['ada'] })
    expect(inARow()).toEqual([])
  })

  test('of a name with which nobody has signed in are reset by an operator', async () => {
    await strangers()
    await throttlingOn().resetUser({ userId: '00u1ada', logins: ['ada'] })
    expect(counted().filter(([name]) => name.startsWith('password:person'))).toEqual([])
  })
})

describe('resetting a user', () => {
  const ADA = { userId: '00u1ada', logins: ['ada'] }
  const unknownDevices = () =>
    [1, 2].map((n) => ({
      ...client,
      address: `198.18.0.${n}`,
      device: { id: `${n}`.repeat(32), returned: true },
    }))
  const ATTEMPT_KINDS = ['password', 'code', 'message', 'push', 'recovery'] as const

  /** Unknown devices make every kind of attempt, for a user whom the org has named or not. */
  async function tried({ step }: ReturnType<typeof throttlingOn>, user: Pick<Attempt, 'login' | 'userId'>) {
    for (const kind of ATTEMPT_KINDS) {
      const outcome = ended(['password', 'code'].includes(kind) ? 'E0000004' : undefined)
      for (const unknownDevice of unknownDevices())
        await step({ kind, operation: 'x', handle: 'handle', ...user }, unknownDevice, async () => outcome)
    }
  }
  /** The windows of users, not of addresses, without ids. */
  const windows = () =>
    counted()
      .map(([name]) => name)
      .filter((name) => !name.includes(':address:'))

  test('ends the windows over all devices, by user id and by login, not those of one device or transaction', async () => {
    const throttling = throttlingOn()
    await tried(throttling, { login: 'ada' })
    await tried(throttling, { userId: '00u1ada' })
    expect(windows().filter((name) => name.includes(':person:'))).toHaveLength(2 * 12)
    await throttling.resetUser(ADA)
    const left = windows()
    expect(left.filter((name) => /:(known_)?person:/.test(name))).toEqual([])
    expect(new Set(left.map((name) => name.replace(/:[\w-]{20}:/, ':')))).toEqual(
      new Set(['password:device:burst', 'password:device:sustained', 'code:transaction:burst']),
    )
  })

  test('works for every key in SECRET_KEYS', async () => {
    await tried(throttlingOn(), { login: 'ada' })
    await throttlingOn({}, [Buffer.alloc(32, 'another'), KEY]).resetUser(ADA)
    expect(windows().filter((name) => name.includes(':person:'))).toEqual([])
  })
})

describe('a store that fails', () => {
  test('for one of two keys: 503, the step does not run, and the other key counts nothing', async () => {
    let places = 0
    const { step } = throttlingOn({
      countAttempt: (counting) =>
        ++places === 2 ? Promise.reject(storeUnavailable()) : store.countAttempt(counting),
    })
    let hasRun = false
    const ran = step(password, client, async () => {
      hasRun = true
      return ended(undefined)
    })
    await expect(ran).rejects.toMatchObject({ status: 503, code: 'E0000009' })
    expect(hasRun).toBe(false)
    await until(() => entries.size === 0, { what: 'an empty count' })
  })

  test('to refund or to remember a device: it is logged, and the step succeeds', async () => {
    const unreachable = () => Promise.reject(storeUnavailable())
    const { step, rememberDevice, lines } = throttlingOn({
      refundAttempt: unreachable,
      clearWindows: unreachable,
    })
    expect(await step(password, client, async () => ended(undefined))).toEqual(ended(undefined))
    await rememberDevice({ userId: 'u1', logins: ['ada'] }, client)
    await until(() => lines().length === 3)
    for (const line of lines()) expect(line).toMatchObject({ level: 'warn', requestId: 'request-1' })
    expect(new Set(lines().map(({ event }) => event))).toEqual(
      new Set(['attempt_refund_failed', 'known_device_not_stored']),
    )
  })
})

test('while keys are rotated, a known device stays known no longer than its old mark lasts, which ends with all sessions', async () => {
  const DAY_MS = 86_400_000
  const newer = Buffer.alloc(32, 'plainly-fake-too')
  const marks: [key: string, ttlMs: number][] = []
  await throttlingOn({}, [KEY]).rememberDevice({ userId: '00u1', logins: ['ada'] }, client)
  const recordingSet: Store['set'] = (key, value, ttlMs, when) => {
    marks.push([key, ttlMs])
    return store.set(key, value, ttlMs, when)
  }
  const { step } = throttlingOn({ set: recordingSet }, [newer, KEY])
  await step(password, client, async () => ended('E0000004'))
  expect(marks).toEqual([[expect.stringMatching(/^gatehouse:known:/), expect.any(Number)]])
  expect(marks[0]?.[1]).toBeLessThan(DAY_MS)
})

describe('while keys are rotated', () => {
  const newer = Buffer.alloc(32, 'plainly-fake-too')
  const person = { userId: '00u1', logins: ['ada'] }
  const marks = () =>
    [...entries]
      .filter(([key]) => key.startsWith('gatehouse:known:'))
      .map(([key, { expiresAt }]) => [key, expiresAt])

  test('a device that is known by the newest key stays known as long as before', async () => {
    await throttlingOn({}, [KEY]).rememberDevice(person, client)
    await throttlingOn({}, [newer, KEY]).rememberDevice(person, client)
    const before = marks()
    expect(before).toHaveLength(4)
    await throttlingOn({}, [newer, KEY]).step(password, client, async () => ended('E0000004'))
    expect(marks()).toEqual(before)
  })
})

describe('a name in two LOGIN_DOMAINS', () => {
  const domains = ['corp.example', 'partner.example']
  const ownAccount = { userId: '00uPartner', logins: ['ada@partner.example'] }
  const others = (n: number): Client => ({ ...client, device: { id: `device-${n}`, returned: true } })
  /** How many of these wrong passwords are allowed, each from another device by default. */
  const tried = async (login: string, times: number, from = others) => {
    const { step } = throttlingOn({}, [KEY], domains)
    let allowed = 0
    for (let n = 0; n < times; n++) {
      await step({ ...password, login }, from(n), async () => {
        allowed += 1
        return ended('E0000004')
      }).catch(() => {})
    }
    return allowed
  }
  const signIn = (person = ownAccount) => throttlingOn({}, [KEY], domains).rememberDevice(person, client)

  test.each(['ada@corp.example', 'ada'])(
    'the device of one user is not known for the other, typed as %s',
    async (login) => {
      await signIn()
      expect(await tried(login, 9, () => client)).toBe(5)
      expect(await tried('ada@partner.example', 9, () => client)).toBe(8)
    },
  )

  test('the users share a limit, and a full sign-in of one does not reset the inARow window of the other', async () => {
    const rows = () =>
      counted().filter(([name]) => name.startsWith('password:person') && name.endsWith('inARow'))
    expect(await tried('ada@corp.example', 3)).toBe(3)
    expect(await tried('ada', 3)).toBe(3)
    expect(await tried('ada@partner.example', 3)).toBe(2)
    expect(
      rows()
        .map(([, count]) => count)
        .sort(),
    ).toEqual([5, 6])
    await signIn()
    expect(rows().map(([, count]) => count)).toEqual([6])
    await signIn({ userId: '00uCorp', logins: ['ada', 'ada@corp.example'] })
    expect(rows()).toEqual([])
  })

  test('a user who signs in with a short name is known under the short and the full name', async () => {
    await signIn({ userId: '00uCorp', logins: ['ada', 'ada@corp.example'] })
    expect(await tried('ada', 9, () => client)).toBe(8)
    expect(await tried('ada@corp.example', 9, () => client)).toBe(8)
  })

  test.each(['ada', 'ADA@corp.example'])(
    'an operator who resets %s ends all windows of that name',
    async (login) => {
      for (const name of ['ada@corp.example', 'ada', 'ada@partner.example']) await tried(name, 2)
      const { resetUser } = throttlingOn({}, [KEY], domains)
      await resetUser({ userId: '00uCorp', logins: [login] })
      expect(counted().filter(([name]) => name.startsWith('password:person'))).toEqual([])
    },
  )
})
