import { describe, expect, test } from '@jest/globals'
import type { Client } from '../../src/authn/browser/client.ts'
import { isHandle, newHandle } from '../../src/authn/transaction/transaction-store.ts'
import { rateLimited, storeUnavailable, unknownHandle, upstreamUnavailable } from '../../src/errors.ts'
import { UpstreamFailure, type UpstreamOutcome } from '../../src/upstream/upstream-failure.ts'
import { until } from '../support/until.ts'
import {
  answer,
  answers,
  busy,
  EMBEDDED_USER,
  failureOf,
  gate,
  HANDLE,
  type Harness,
  LOGIN,
  lockKey,
  nameOf,
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

describe('an attempt', () => {
  test('is refunded at once if another step has the lock, and is enforced once the lock is acquired', async () => {
    const { replica, counted, store, lock } = await replicas()
    await store.set(lock, 'of-another-step', 60_000)
    const running = replica().run(STATE, () => {
      counted.push('sent')
      return answer('fine')
    })
    await until(() => counted.length > 1)
    expect(counted).toEqual(['reserve call', 'refund'])
    expect(await store.get(lock)).toBe('of-another-step')
    await store.delete(lock)
    await running
    expect(counted).toEqual(['reserve call', 'refund', 'enforce call', 'sent', 'consumeOrRefund'])
  })

  test('is refunded if an identical step has the lock, whose result is shared', async () => {
    const { replica, counted } = await replicas()
    const { okta, started, finish } = gate()
    const first = replica().run(STATE, okta)
    await until(() => started() === 1)
    counted.splice(0)
    const second = replica()
    const other = second.run(STATE, okta)
    await until(() => busy(second).length > 0)
    finish(answers('shared'))
    expect((await Promise.all([first, other])).map(nameOf)).toEqual(['shared', 'shared'])
    // consumeOrRefund: the first one's
    expect(counted.toSorted()).toEqual(['consumeOrRefund', 'refund', 'reserve call'])
  })

  test('is refunded if the lock cannot be requested', async () => {
    const { replica, counted } = await replicas({ faults: () => ({ acquire: unreachable }) })
    expect(await failureOf(replica().run(STATE))).toMatchObject({ status: 503 })
    expect(counted).toEqual(['reserve call', 'refund'])
  })

  test.each([
    ['in a transaction', STATE],
    ['that begins one', SIGN_IN],
  ])('beyond a limit is 429: the step is not sent, and the lock is released: %s', async (_name, request) => {
    const refusal = rateLimited({ limit: 5, resetAtSeconds: 60, retryAfterSeconds: 60 })
    const { replica, counted, sent, keys, record } = await replicas({
      enforce: () => Promise.reject(refusal),
    })
    expect(await failureOf(replica().run(request))).toBe(refusal)
    const kind = request === STATE ? 'call' : 'password'
    expect(counted).toEqual([`reserve ${kind}`, `enforce ${kind}`, 'consumeOrRefundOnError'])
    expect([sent, keys().filter((key) => !key.startsWith(`${record.slice(0, -1)}`))]).toEqual([
      [],
      // the refusal that identical requests share
      keys('lock:').filter((key) => !key.endsWith('}')),
    ])
  })

  test('that only the plan has is enforced together with the reserved one', async () => {
    const { replica, counted } = await replicas()
    const sends: Okta = () => {
      counted.push('sent')
      return answer('fine')
    }
    expect(nameOf(await replica().run(CODE, sends))).toBe('fine')
    expect(counted).toEqual(['reserve call', 'enforce code', 'sent', 'consumeOrRefund'])
  })

  test('that begins a transaction is counted before anything is sent', async () => {
    const { replica, counted } = await replicas()
    await replica().run(SIGN_IN, () => {
      counted.push('sent')
      return answer('fine')
    })
    expect(counted).toEqual(['reserve password', 'enforce password', 'sent', 'consumeOrRefund'])
  })

  test('is not counted if Okta is not called: a redirect', async () => {
    const { replica, counted, keep, start } = await replicas()
    const path = '/sso/idps/1'
    const href = `https://acme.okta.example${path}`
    await keep({ ...start(), offered: [{ path, query: '', methods: ['GET'], href }] })
    const redirected = await replica().run({ kind: 'redirect', handle: HANDLE, path })
    expect([redirected.status, redirected.headers, counted]).toEqual([302, { Location: href }, []])
  })
})

describe('a step that is not offered', () => {
  test('is refused, counts no attempt and is not sent', async () => {
    const { replica, counted, sent, entries, lock, stored, start, metrics } = await replicas()
    const request = operation('skip')
    expect(await failureOf(replica().run(request))).toMatchObject({ status: 403, code: 'E0000079' })
    // nothing was sent: it is refunded
    expect(counted).toEqual(['reserve call', 'consumeOrRefundOnError'])
    expect([sent, entries.has(lock), (await stored())?.status]).toEqual([[], false, start().status])
    expect(await refusals(metrics)).toEqual([{ reason: 'not_offered', value: 1 }])
  })
})

describe('a handle', () => {
  test.each([
    ['is malformed', 'malformed'],
    ['is the name of a prototype member', '__proto__'],
    ['is of another sign-in engine', `01${HANDLE.slice(2)}`],
    ['is empty', ''],
  ])('that %s is refused, without a call to the store', async (_name, handle) => {
    const { replica, counted, sent, metrics } = await replicas()
    const { run, acquires } = replica()
    expect(await failureOf(run({ ...STATE, handle }))).toMatchObject({
      status: 401,
      code: 'E0000011',
      causes: [],
    })
    expect([sent, counted, acquires]).toEqual([[], [], []])
    expect(await refusals(metrics)).toEqual([{ reason: 'unknown_handle', value: 1 }])
  })

  // shows: F-1.21
  test('that is unknown is refused: nothing is sent or enforced, and the lock is released', async () => {
    const { replica, counted, sent, metrics, transactions, entries, lines } = await replicas()
    const handle = newHandle()
    expect(await failureOf(replica().run({ ...STATE, handle }))).toMatchObject({
      status: 401,
      code: 'E0000011',
    })
    expect([sent, counted]).toEqual([[], ['reserve call', 'refund']])
    expect(entries.has(lockKey(transactions.namesOf(handle)[0]))).toBe(false)
    expect(await refusals(metrics)).toEqual([{ reason: 'unknown_handle', value: 1 }])
    expect(lines()).toEqual([])
  })

  // shows, V6.6.2
  test.each([
    [true, 'other_device', []],
    [false, 'no_device_cookie', ['device cookie not returned']],
  ])(
    'of another device is refused and audited (device cookie returned: %s)',
    async (returned, reason, causes) => {
      const { replica, lines, sent, stored, start } = await replicas()
      const client: Client = { ...CLIENT, device: { id: 'e'.repeat(32), returned } }
      const refused = failureOf(replica().run(STATE, undefined, client))
      expect(await refused).toMatchObject({ status: 401, code: 'E0000011', causes })
      expect([sent, (await stored())?.status]).toEqual([[], start().status])
      expect(lines()).toEqual([expect.objectContaining({ event: 'handle_refused', reason })])
      expect(nameOf(await replica().run(STATE, answers('of its own device')))).toBe('of its own device')
    },
  )

  test('that was not sent is created, with a transaction of the device', async () => {
    const { replica, stored, transactions, keys } = await replicas()
    const { run } = replica()
    const handles: string[] = []
    for (const name of ['one', 'two']) {
      const begun = await run(SIGN_IN, answers(name))
      handles.push(JSON.parse(begun.body).stateToken)
    }
    expect(handles.map(isHandle)).toEqual([true, true])
    expect(handles[0]).not.toBe(handles[1])
    for (const handle of handles)
      expect(await stored(transactions.keyOf(transactions.namesOf(handle)[0]))).toMatchObject({
        origin: 'begun',
        device: CLIENT.device.id,
        stateToken: 'of-okta',
        status: 'MFA_REQUIRED',
        login: LOGIN,
      })
    expect(keys('lock:')).toEqual([])
  })
})

describe('an error is settled', () => {
  /** A failure of the call to Okta. */
  const failure = (outcome: UpstreamOutcome) => upstreamUnavailable(new UpstreamFailure(outcome))

  test.each([
    ['a bug', new TypeError('a bug'), 0],
    ['a refusal', unknownHandle(true), 1],
  ])(
    'the attempt is refunded, the lock is released, and a refusal is shared: %s',
    async (_name, error, refusals) => {
      const { replica, counted, keys, shared, record, lines } = await replicas()
      expect(await failureOf(replica().run(STATE, () => Promise.reject(error)))).toBe(error)
      expect(counted).toEqual(['reserve call', 'enforce call', 'consumeOrRefundOnError'])
      expect(shared()).toHaveLength(refusals)
      expect(keys()).toEqual([...shared(), record].toSorted())
      expect(lines()).toEqual([])
    },
  )

  test.each([
    ['a bug', new TypeError('a bug')],
    ['a refusal', unknownHandle(true)],
  ])(
    'a step that fails throws its own error, even if the store is unreachable by then: %s',
    async (_name, error) => {
      const { replica, lines } = await replicas({
        faults: () => ({ commit: unreachable, deleteIf: unreachable }),
      })
      expect(await failureOf(replica().run(STATE, () => Promise.reject(error)))).toBe(error)
      expect(lines()).toContainEqual(
        expect.objectContaining({ event: 'step_lock_release_failed', level: 'warn' }),
      )
    },
  )

  const RECOVERY = {
    kind: 'recovery',
    recoveryType: 'PASSWORD',
    body: { username: LOGIN, factorType: 'SMS', relayState: undefined },
  } as const
  const SENT_KEY = 'limit:recovery-sent:'

  test.each<[UpstreamOutcome, number]>([
    ['unreachable', 0],
    ['proxy_refused', 0],
    ['breaker_open', 0],
    ['pool_exhausted', 0],
    ['connection_lost', 1],
    ['timeout', 1],
  ])('the cooldown of a code ends if nothing was sent: %s', async (outcome, left) => {
    const { replica, keys } = await replicas()
    let during = 0
    const fails: Okta = () => {
      during = keys(SENT_KEY).length
      throw failure(outcome)
    }
    expect(await failureOf(replica().run(RECOVERY, fails))).toMatchObject({ status: 502 })
    expect([during, keys(SENT_KEY).length]).toEqual([1, left])
  })

  test.each([
    ['its own failure', 500, 'E0000009', 1], // the code may have been sent all the same
    ['its rate limit', 429, 'E0000047', 0],
  ])('the cooldown of a code after Okta’s answer with %s', async (_what, status, code, left) => {
    const { replica, keys } = await replicas()
    await failureOf(replica().run(RECOVERY, () => rejection(status, code)))
    expect(keys(SENT_KEY)).toHaveLength(left)
  })

  test('the cooldown does not end if the 429 came from the cooldown itself, and nothing is sent', async () => {
    const { replica, keys, sent, counted, lines } = await replicas()
    const { run } = replica()
    await run(RECOVERY, answers('sent', { status: 'RECOVERY_CHALLENGE' }))
    counted.splice(0)
    for (let again = 0; again < 2; again++) {
      expect(await failureOf(run(RECOVERY))).toMatchObject({ status: 429 })
      expect(keys(SENT_KEY)).toHaveLength(1)
    }
    expect(sent).toHaveLength(1)
    expect(counted).toEqual(
      Array(2).fill(['reserve recovery', 'enforce recovery', 'consumeOrRefundOnError']).flat(),
    )
    expect(lines().filter(({ event }) => event === 'recovery_started')).toHaveLength(1)
  })

  test('the cooldown of a new code ends too if nothing was sent, and the lock is released', async () => {
    const { replica, keys, keep, entries, lock, shared } = await replicas()
    await challenged(keep)
    const { run } = replica()
    expect(await failureOf(run(RESEND, () => Promise.reject(failure('unreachable'))))).toMatchObject({
      status: 502,
    })
    expect([keys(SENT_KEY), entries.has(lock), shared().length]).toEqual([[], false, 1])
    await run(RESEND, answers('sent'))
    expect(keys(SENT_KEY)).toHaveLength(1)
  })

  test('if the cooldown cannot be ended, the step throws its own error, and the lock is released', async () => {
    const { replica, keep, entries, lock, lines } = await replicas({
      faults: () => ({ delete: unreachable }),
    })
    await challenged(keep)
    const error = failure('unreachable')
    expect(await failureOf(replica().run(RESEND, () => Promise.reject(error)))).toBe(error)
    expect(entries.has(lock)).toBe(false)
    expect(lines()).toContainEqual(expect.objectContaining({ event: 'step_rollback_failed', level: 'warn' }))
  })
})

const RESEND = operation('resendRecoveryFactor', { params: { type: 'SMS' } })
const RECOVERY_CODE = operation('verifyRecoveryFactor', {
  params: { type: 'SMS' },
  fields: { passCode: '123456' },
})
const CANCEL = operation('cancel')

/** Stores a transaction that awaits a recovery code. */
async function challenged(keep: Harness['keep'], wrongCodes = 0): Promise<void> {
  const { start } = await replicas()
  const { userId: _user, ...unnamed } = start()
  await keep({
    ...unnamed,
    status: 'RECOVERY_CHALLENGE',
    credentialAccepted: false,
    isRecovery: true,
    offered: ['verify', 'resend'].map((step) => ({
      path: `/api/v1/authn/recovery/factors/SMS/${step}`,
      query: '',
      methods: ['POST'],
    })),
    recovery: { decoy: false, factorType: 'SMS', recoveryType: 'PASSWORD', sentAtMs: 0, wrongCodes },
  })
}

describe('the minimum duration of a recovery', () => {
  const DURATION_MS = 80
  /** A timer may end a millisecond early by another clock. */
  const AT_LEAST_MS = DURATION_MS - 2
  const START = {
    kind: 'recovery',
    recoveryType: 'PASSWORD',
    body: { username: LOGIN, factorType: 'EMAIL', relayState: undefined },
  } as const

  test.each([
    ['the start', START, answers('sent', { status: 'RECOVERY_CHALLENGE' })],
    ['the start, which Okta refuses', START, () => rejection(400, 'E0000095')],
    ['the start, without an answer of Okta', START, () => Promise.reject(new TypeError('a bug'))],
    ['a right code', RECOVERY_CODE, answers('right', { status: 'PASSWORD_RESET' })],
    ['a wrong code', RECOVERY_CODE, () => rejection(403, 'E0000068')],
    ['a failure of Okta', RECOVERY_CODE, () => rejection(500, 'E0000009')],
    ['a new code', RESEND, answers('sent')],
    ['a cancellation', CANCEL, answers('')],
  ])('applies to answers and errors: %s', async (_name, request, okta) => {
    const { replica, keep } = await replicas({ settings: { recoveryAnswerMs: DURATION_MS } })
    await challenged(keep)
    const startedMs = performance.now()
    await Promise.allSettled([replica().run(request, okta)])
    expect(performance.now() - startedMs).toBeGreaterThan(AT_LEAST_MS)
  })

  /** Longer than a test may take. */
  const settings = { recoveryAnswerMs: 3_600_000 }

  test.each([
    ['too many wrong codes', RECOVERY_CODE, 5, 403],
    ['a step that is not offered', operation('skip'), 0, 403],
  ])(
    'does not apply to refusals by the broker’s own record: %s',
    async (_name, request, wrongCodes, status) => {
      const { replica, keep, sent } = await replicas({ settings })
      await challenged(keep, wrongCodes)
      expect(await failureOf(replica().run(request))).toMatchObject({ status })
      expect(sent).toEqual([])
    },
  )

  test('does not apply to the state, which the broker’s own record answers', async () => {
    const { replica, keep, sent } = await replicas({ settings })
    await challenged(keep)
    expect(await replica().run(STATE)).toMatchObject({ status: 200 })
    expect(sent).toEqual([])
  })

  test('does not apply to the cooldown, nor to a limit', async () => {
    const refusal = rateLimited({ limit: 5, resetAtSeconds: 60, retryAfterSeconds: 60 })
    const limited = await replicas({ settings, enforce: () => Promise.reject(refusal) })
    expect(await failureOf(limited.replica().run(START))).toBe(refusal)
    const cooled = await replicas({ settings, faults: () => ({ set: async () => false }) })
    const bySms = { ...START, body: { ...START.body, factorType: 'SMS' } } as const
    expect(await failureOf(cooled.replica().run(bySms))).toMatchObject({ status: 429 })
  })

  test('does not apply to sign-ins', async () => {
    const { replica } = await replicas({ settings })
    expect(nameOf(await replica().run(SIGN_IN, answers('fine')))).toBe('fine')
    expect(nameOf(await replica().run(CODE, answers('fine')))).toBe('fine')
  })
})

describe('an imported transaction', () => {
  const PATH = '/api/v1/authn/credentials/change_password'
  const CHANGE = operation('changePassword', {
    fields: { oldPassword: 'a-test-password', newPassword: 'a-new-test-password' },
  })

  async function imported(options?: ReplicasOptions) {
    const all = await replicas(options)
    const { keep, start } = all
    await keep({
      ...start(),
      origin: 'imported',
      credentialAccepted: false,
      userProved: false,
      amr: [],
      userId: USER_ID,
      status: 'PASSWORD_EXPIRED',
      offered: [{ path: PATH, query: '', methods: ['POST'] }],
    })
    return all
  }

  test('first gives its state, then the credential is sent: two calls, with one deadline', async () => {
    const { replica, sent, counted } = await imported()
    const replies = [answer('state', { status: 'PASSWORD_EXPIRED', ...EMBEDDED_USER }), SUCCESS]
    expect(await replica().run(CHANGE, () => replies.shift() ?? SUCCESS)).toMatchObject({
      sessionId: expect.any(String),
    })
    expect(sent.map(({ call }) => [call.path, 'newPassword' in call.body])).toEqual([
      ['/api/v1/authn', false],
      [PATH, true],
    ])
    expect(new Set(sent.map(({ deadline }) => deadline)).size).toBe(1)
    expect(counted).toEqual(['reserve call', 'enforce password', 'consumeOrRefund'])
  })

  test('the second call has the state token of the first answer, and the credential is not sent if it is not awaited', async () => {
    const { replica, sent } = await imported()
    const { run } = replica()
    const replies = [
      answer('state', { status: 'PASSWORD_EXPIRED', stateToken: 'newer' }),
      rejection(403, 'E0000014'),
      answer('other', { status: 'MFA_REQUIRED' }),
    ]
    const okta: Okta = () => replies.shift() ?? SUCCESS
    await run(CHANGE, okta)
    expect(sent.map(({ call }) => call.body.stateToken)).toEqual(['of-okta', 'newer'])
    expect(nameOf(await run(CHANGE, okta))).toBe('other')
    expect(sent).toHaveLength(3)
  })
})

describe('a password change', () => {
  test.each([
    ['in an ordinary transaction', 'begun' as const],
    ['in an imported one, whose state is requested first', 'imported' as const],
  ])(
    'is announced before it is sent: the org’s event about it does not end the transaction: %s',
    async (_name, origin) => {
      const { replica, keep, start, stored, endAll } = await replicas()
      const path = '/api/v1/authn/credentials/change_password'
      const isBegun = origin === 'begun'
      await keep({
        ...start(),
        origin,
        credentialAccepted: isBegun,
        userProved: isBegun,
        userId: USER_ID,
        status: 'PASSWORD_EXPIRED',
        offered: [{ path, query: '', methods: ['POST'] }],
      })
      const request = operation('changePassword', {
        fields: { oldPassword: 'a-test-password', newPassword: 'a-new-test-password' },
      })
      const okta: Okta = async (call) => {
        if (call.path !== path) return answer('state', { status: 'PASSWORD_EXPIRED', ...EMBEDDED_USER })
        await endAll({ passwordChangedAtMs: Date.now() })
        return answer('changed', { status: 'MFA_ENROLL', ...EMBEDDED_USER })
      }
      expect(nameOf(await replica().run(request, okta))).toBe('changed')
      expect((await stored())?.status).toBe('MFA_ENROLL')
    },
  )
})

describe('the session of a sign-in', () => {
  // shows: V7.2.2, V7.2.4
  test('keeps the public id of the open session of the same user, and of no other user', async () => {
    const { replica, sessions } = await replicas()
    const publicIdOf = async (id = '') => (await sessions.get(id, CLIENT.device.id))?.publicId
    const { run } = replica()
    const first = (await run(SIGN_IN, succeeds)).sessionId
    const firstPublicId = await publicIdOf(first)
    const again = (await run(SIGN_IN, succeeds, { ...CLIENT, sessionId: first })).sessionId
    expect(again).not.toBe(first)
    expect(await publicIdOf(again)).toBe(firstPublicId)
    const user = { id: '00u2bob', profile: { login: 'bob@example.com' } }
    const ofBob: Okta = () => ({ ...SUCCESS, body: { ...SUCCESS.body, _embedded: { user } } })
    const other = (await run(SIGN_IN, ofBob, { ...CLIENT, sessionId: again })).sessionId
    expect(await publicIdOf(other)).toEqual(expect.stringMatching(/^[0-9a-f-]{36}$/))
    expect(await publicIdOf(other)).not.toBe(firstPublicId)
  })
})

async function refusals(metrics: Harness['metrics']) {
  return (await metrics.requestsRefused.get()).values.map(({ labels, value }) => ({ ...labels, value }))
}
