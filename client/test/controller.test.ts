import { afterEach, beforeEach, describe, expect, test } from '@jest/globals'
import {
  createGatehouse,
  createSignInController,
  type Factor,
  type Gatehouse,
  ReauthenticationError,
  type Session,
  type SignInController,
  type SignInControllerOptions,
  type SignInState,
} from 'gatehouse-client'
import * as messages from 'gatehouse-client/messages'
import { deferred } from 'gatehouse-test-support/deferred'
import { useFixture } from 'gatehouse-test-support/fixture'
import { generousLimits } from 'gatehouse-test-support/generous-limits'
import { PASSWORD, startHarness } from 'gatehouse-test-support/harness'
import { factorOf, openNodeClient } from 'gatehouse-test-support/node-client'
import { until } from 'gatehouse-test-support/until'

/** The state of a sign-in page, with the broker and the sandbox. */

const MINUTE_MS = 60_000
/** How far the clock of broker and page is ahead. It never goes back. */
let aheadMs = 0
const now = () => Date.now() + aheadMs
const harness = useFixture({
  start: () =>
    startHarness({
      tunables: generousLimits,
      now,
      sandboxConfig: (config) => ({ ...config, limits: { ...config.limits, pushPolls: 3 } }),
    }),
  stop: ({ stop }) => stop(),
})

let opened: SignInController[]
beforeEach(() => {
  opened = []
  harness.sandbox.reset()
})
afterEach(() => {
  for (const controller of opened) controller.dispose()
  Reflect.deleteProperty(globalThis, 'localStorage')
})

/** A page that has started. */
async function openPage(
  options: Partial<SignInControllerOptions> = {},
  change: (gatehouse: Gatehouse) => Partial<Gatehouse> = () => ({}),
) {
  const { gatehouse: original, browser } = await openNodeClient(harness)
  const gatehouse = { ...original, now, ...change(original) }
  const controller = createSignInController(gatehouse, { messages, pollEveryMs: 1, ...options })
  opened.push(controller)
  const states: SignInState[] = []
  controller.subscribe((state) => states.push(state))
  await controller.start()
  const signIn = (login: string, password = PASSWORD) =>
    controller.signIn({ username: `${login}@example.test`, password })
  const choose = (type: string) => {
    const { step } = controller.getState()
    if (step?.status !== 'MFA_REQUIRED') throw new Error(`the step is ${step?.status}`)
    return controller.choose(factorOf<Factor>(step.factors, type))
  }
  const reach = (view: SignInState['view'], status?: string) =>
    until(
      () => {
        const { view: shown, step, busy } = controller.getState()
        return shown === view && step?.status === status && !busy
      },
      { what: `${view} ${status}`, timeoutMs: 10_000 },
    )
  return { gatehouse, browser, controller, states, signIn, choose, reach, get: controller.getState }
}

/** Keeps what the page stores. */
function keepStorage() {
  const items = new Map<string, string>()
  const storage = {
    getItem: (name: string) => items.get(name) ?? null,
    setItem: (name: string, value: string) => items.set(name, value),
    removeItem: (name: string) => items.delete(name),
  }
  Object.defineProperty(globalThis, 'localStorage', { value: storage, configurable: true })
  return items
}

const form = (get: () => SignInState) =>
  until(() => get().view === 'sign-in', { what: 'the form', timeoutMs: 10_000 })
const codeOf = (login: string) => ({ passCode: harness.sandbox.totpCode(login) })

describe('the state', () => {
  test('leads from nothing to the form, the factors, the code and the session', async () => {
    const { controller, states, get } = await openPage()
    expect(states[0]).toMatchObject({ view: 'loading', busy: false, step: undefined })
    expect(get()).toMatchObject({ view: 'sign-in', busy: false, step: undefined, message: undefined })

    await controller.signIn({ username: ' tomas.berg@example.test ', password: 'wrong' })
    expect(get()).toMatchObject({
      view: 'sign-in',
      step: undefined,
      login: 'tomas.berg@example.test',
      message: { key: 'wrongCredentials', action: 'correct' },
      error: { status: 401 },
    })
    await controller.signIn({ username: ' tomas.berg@example.test', password: PASSWORD })
    const { login, user, factor, offers } = get()
    expect([get().message, login, user?.profile?.firstName]).toEqual([
      undefined,
      'tomas.berg@example.test',
      'Tomas',
    ])
    // the only one, and its proof is sent at once
    expect(factor).toMatchObject({ factorType: 'token:software:totp' })
    expect(offers).toEqual({ previous: false, resend: false, skip: false })

    await controller.verify({ passCode: '000000' })
    expect(get()).toMatchObject({ message: { key: 'wrongCode' }, step: { status: 'MFA_REQUIRED' } })
    await controller.verify(codeOf('tomas.berg'))
    expect(get()).toMatchObject({
      view: 'signed-in',
      busy: false,
      step: undefined,
      session: { login: 'tomas.berg@example.test', amr: ['pwd', 'otp', 'mfa'] },
    })
    await controller.signOut()
    expect(get()).toMatchObject({ view: 'sign-in', session: undefined, message: { key: 'signedOutHere' } })
  })

  test('is an immutable snapshot, the same until something changes, and told at once', async () => {
    const { controller, states, get } = await openPage()
    expect(get()).toBe(get())
    expect(states.at(-1)).toBe(get())
    expect(Object.isFrozen(get()) && Object.isFrozen(get().offers)).toBe(true)
    const late: SignInState[] = []
    const stop = controller.subscribe((state) => late.push(state))
    expect(late).toEqual([get()])
    stop()
    await controller.signIn({ username: 'amelia.stone@example.test', password: PASSWORD })
    expect(late).toHaveLength(1)
    expect(new Set(states).size).toBe(states.length)
  })

  test('of a start without an answer is unavailable, and a further start can find out', async () => {
    let isDown = true
    const { controller, get } = await openPage({}, ({ session }) => ({
      session: () => (isDown ? Promise.reject(new TypeError('Failed to fetch')) : session()),
    }))
    expect(get()).toMatchObject({ view: 'unavailable', message: { key: 'offline' }, busy: false })
    isDown = false
    await controller.start()
    expect(get()).toMatchObject({ view: 'sign-in', message: undefined })
  })

  test('of an open session is found by the start', async () => {
    const { controller, signIn, get } = await openPage()
    await signIn('amelia.stone')
    await controller.start()
    expect(get()).toMatchObject({ view: 'signed-in', session: { login: 'amelia.stone@example.test' } })
  })
})

describe('an action', () => {
  test('has no effect while another one runs', async () => {
    const answer = deferred()
    const sent: string[] = []
    const { signIn, get, controller } = await openPage({}, ({ signIn: send }) => ({
      async signIn(start) {
        if ('username' in start) sent.push(start.username)
        await answer.promise
        return send(start)
      },
    }))
    const first = signIn('sana.sms')
    expect(get().busy).toBe(true)
    await signIn('amelia.stone')
    await controller.start()
    answer.resolve()
    await first
    expect(sent).toEqual(['sana.sms@example.test'])
    expect(get()).toMatchObject({ login: 'sana.sms@example.test', step: { status: 'MFA_REQUIRED' } })
  })

  test.each(['cancel', 'dispose'] as const)('whose answer comes after %s is dropped', async (end) => {
    const answer = deferred()
    const { signIn, controller, states, get, gatehouse } = await openPage({}, ({ signIn: send }) => ({
      async signIn(start) {
        const step = await send(start)
        await answer.promise
        return step
      },
    }))
    const running = signIn('tomas.berg')
    const ended = controller[end]()
    answer.resolve()
    await Promise.all([running, ended])
    expect(states.flatMap(({ step }) => step?.status ?? [])).toEqual([])
    expect(get()).toMatchObject({ view: 'sign-in', step: undefined, busy: false, session: undefined })
    expect(await gatehouse.session()).toBeUndefined()
  })

  test('cancel ends the transaction at the broker too', async () => {
    const { signIn, controller, get } = await openPage()
    await signIn('tomas.berg')
    const { step } = get()
    await controller.cancel()
    expect(get()).toMatchObject({ view: 'sign-in', step: undefined, busy: false })
    await expect(
      step?.status === 'MFA_REQUIRED' && step.verify(step.factors[0] as Factor),
    ).rejects.toMatchObject({
      code: 'E0000011',
    })
  })

  test('that fails because the sign-in is over leads to the first form, with the message', async () => {
    const { signIn, controller, get } = await openPage()
    await signIn('tomas.berg')
    await get().step?.cancel()
    await controller.verify(codeOf('tomas.berg'))
    expect(get()).toMatchObject({ view: 'sign-in', step: undefined, message: { key: 'expired' } })
  })

  test('that the step does not offer sends nothing', async () => {
    const { controller, get } = await openPage()
    harness.clearUpstreamCalls()
    await controller.resend()
    expect(get()).toMatchObject({ message: { key: 'notOffered' }, error: { code: 'E0000079' } })
    expect(harness.upstreamCalls()).toEqual([])
  })

  test('of a step that has no name here runs: the enrollment of a factor, and skip', async () => {
    const { signIn, controller, get } = await openPage()
    await signIn('erin.enroll')
    await controller.run(async () => {
      const { step } = get()
      if (step?.status !== 'MFA_ENROLL') throw new Error(`${step?.status}`)
      return step.enroll(factorOf<Factor>(step.factors, 'sms'), { profile: { phoneNumber: '+15550107777' } })
    })
    expect(get()).toMatchObject({ step: { status: 'MFA_ENROLL_ACTIVATE' }, factor: { factorType: 'sms' } })
    const passCode = harness.sandbox.outbox.latest('erin.enroll@example.test')?.code ?? 'none'
    await controller.verify({ passCode })
    expect(get().offers.skip).toBe(true)
    await controller.skip()
    expect(get().view).toBe('signed-in')
  })

  test('recovers a forgotten password: code, question, new password', async () => {
    const { controller, get } = await openPage()
    await controller.recoverPassword({ username: ' amelia.stone@example.test', factorType: 'SMS' })
    expect(get()).toMatchObject({
      login: 'amelia.stone@example.test',
      step: { status: 'RECOVERY_CHALLENGE' },
    })
    const passCode = harness.sandbox.outbox.latest('amelia.stone@example.test')?.code ?? 'none'
    await controller.verify({ passCode })
    await controller.run(async () => {
      const { step } = get()
      if (step?.status !== 'RECOVERY') throw new Error(`${step?.status}`)
      return step.answerQuestion('gatehouse')
    })
    expect(get().step?.status).toBe('PASSWORD_RESET')
  })
})

describe('a push', () => {
  test('is sent at once if it is recommended and the page wants so, and polled; its number appears', async () => {
    const { signIn, states, reach } = await openPage({ pushAtOnce: true })
    await signIn('nina.number')
    harness.sandbox.answerPush('nina.number', 'approve')
    await reach('signed-in')
    const numbers = states.flatMap(({ step }) =>
      step && 'correctAnswer' in step ? [step.correctAnswer] : [],
    )
    expect(numbers).toContainEqual(expect.any(Number))
  })

  test('is not sent again by itself after the way back, nor without the option', async () => {
    const { signIn, controller, get, reach } = await openPage({ pushAtOnce: true })
    await signIn('penny.patient')
    expect(get()).toMatchObject({ step: { status: 'MFA_CHALLENGE' }, factor: { factorType: 'push' } })
    expect(get().offers.previous).toBe(true)
    await controller.previous()
    await reach('sign-in', 'MFA_REQUIRED')
    expect(get()).toMatchObject({ recommended: { factorType: 'push' }, factor: undefined })
    const other = await openPage()
    await other.signIn('penny.patient')
    expect(other.get()).toMatchObject({
      step: { status: 'MFA_REQUIRED' },
      recommended: { factorType: 'push' },
    })
  })

  test('that is rejected tells so, and can be sent again', async () => {
    const { signIn, choose, controller, get } = await openPage()
    await signIn('rita.reject')
    await choose('push')
    await until(() => get().message?.key === 'rejected', { what: 'the rejection', timeoutMs: 10_000 })
    expect(get()).toMatchObject({ offers: { resend: true }, busy: false })
    await controller.resend()
    expect(get()).toMatchObject({ step: { next: 'poll' }, message: undefined })
  })

  test('is polled no more after dispose', async () => {
    const { signIn, choose, controller, get } = await openPage({ pollEveryMs: 5 })
    await signIn('penny.patient')
    await choose('push')
    controller.dispose()
    const { step } = get()
    harness.clearUpstreamCalls()
    await expect(step?.previous?.()).resolves.toMatchObject({ status: 'MFA_REQUIRED' })
    expect(harness.upstreamCalls().map(({ path }) => path)).toEqual(['/api/v1/authn/previous'])
  })
})

describe('the recommended factor', () => {
  test('is the one that signed in last in this browser, once it has; only its id is kept', async () => {
    const items = keepStorage()
    const { signIn, choose, controller, get, reach } = await openPage()
    await signIn('max.many')
    const strongest = get().recommended?.factorType
    expect(strongest).not.toBe('sms')
    await choose('sms')
    await controller.cancel()
    await signIn('max.many')
    expect(get().recommended?.factorType).toBe(strongest)
    await choose('sms')
    const passCode = harness.sandbox.outbox.latest('max.many@example.test')?.code ?? 'none'
    const { factor } = get()
    await controller.verify({ passCode })
    await reach('signed-in')
    expect([...items.values()]).toEqual([factor?.id])
    await controller.signOut()
    await signIn('max.many')
    expect(get().recommended?.factorType).toBe('sms')
  })

  test('a factor that asks for a code is chosen without a request, and previous leads back to the others', async () => {
    const { signIn, choose, controller, get } = await openPage()
    await signIn('max.many')
    harness.clearUpstreamCalls()
    await choose('question')
    expect(get()).toMatchObject({ factor: { factorType: 'question' }, offers: { previous: true } })
    await controller.previous()
    expect(get()).toMatchObject({ factor: undefined, offers: { previous: false } })
    expect(harness.upstreamCalls()).toEqual([])
  })
})

describe('requireRecentSignIn', () => {
  const ADA = 'amelia.stone'
  const BOB = 'mila.nophone'

  /** A page of a user who has signed in so long ago, and an act. */
  async function signedIn({
    minutesAgo = 0,
    ...options
  }: {
    minutesAgo?: number
    pushAtOnce?: boolean
  } = {}) {
    const page = await openPage(options)
    await page.signIn(ADA)
    aheadMs += minutesAgo * MINUTE_MS
    const done: string[] = []
    const act = async ({ login }: Session) => {
      done.push(login)
      return 'done'
    }
    return { ...page, act, done }
  }

  test('runs the act at once after a recent sign-in, and resolves as the act', async () => {
    const { controller, act, done, states } = await signedIn({ minutesAgo: 14 })
    expect(await controller.requireRecentSignIn(act)).toBe('done')
    expect(done).toEqual([`${ADA}@example.test`])
    expect(states.at(-1)?.view).toBe('signed-in')
    const failure = new Error('the act has failed')
    await expect(controller.requireRecentSignIn(() => Promise.reject(failure))).rejects.toBe(failure)
  })

  test('of an older sign-in lets the same user sign in again, within the session, and only then runs the act', async () => {
    const { controller, act, done, get, signIn } = await signedIn({ minutesAgo: 16 })
    const { session } = get()
    const result = controller.requireRecentSignIn(act)
    await form(get)
    expect(get()).toMatchObject({
      step: undefined,
      session: { id: session?.id },
      login: `${ADA}@example.test`,
      message: { key: 'signInAgain' },
    })
    await signIn(ADA, 'wrong')
    expect(get()).toMatchObject({ view: 'sign-in', message: { key: 'wrongCredentials' } })
    expect(done).toEqual([])
    await signIn(ADA)
    expect(await result).toBe('done')
    expect(get()).toMatchObject({ view: 'signed-in', session: { id: session?.id } })
    expect(done).toHaveLength(1)
  })

  test('with maxAgeSeconds, of a sign-in that is older than that', async () => {
    const { controller, act, done, get, signIn } = await signedIn({ minutesAgo: 2 })
    expect(await controller.requireRecentSignIn(act, { maxAgeSeconds: 180 })).toBe('done')
    const result = controller.requireRecentSignIn(act, { maxAgeSeconds: 60 })
    await form(get)
    await signIn(ADA)
    expect(await result).toBe('done')
    expect(done).toHaveLength(2)
  })

  test('never runs the act for another user who has signed in instead', async () => {
    const { controller, act, done, get, signIn } = await signedIn({ minutesAgo: 16 })
    const result = controller.requireRecentSignIn(act).catch((error: unknown) => error)
    await form(get)
    await signIn(BOB)
    const error = await result
    expect(error).toBeInstanceOf(ReauthenticationError)
    expect(error).toMatchObject({ reason: 'other-user' })
    expect(messages.describeError(error, 'en').key).toBe('otherUser')
    expect(done).toEqual([])
    expect(get()).toMatchObject({
      view: 'signed-in',
      session: { login: `${BOB}@example.test` },
      message: { key: 'otherUser' },
    })
  })

  test('is refused if another tab has signed another user in', async () => {
    const { controller, act, done, get, browser } = await signedIn()
    const otherTab = createGatehouse({ baseUrl: harness.gatehouse.url, cookieJar: browser.jar })
    await otherTab.signIn({ username: `${BOB}@example.test`, password: PASSWORD })
    await expect(controller.requireRecentSignIn(act)).rejects.toMatchObject({ status: 409 })
    expect(done).toEqual([])
    await until(() => get().view === 'replaced', { what: 'the news', timeoutMs: 10_000 })
    expect(get()).toMatchObject({ session: undefined, message: { key: 'newerSignIn', action: 'reload' } })
  })

  test('rejects if the user cancels: a step first, then the form; the session stays', async () => {
    const { controller, act, done, get, signIn } = await signedIn({ minutesAgo: 16 })
    const result = controller.requireRecentSignIn(act).catch((error: unknown) => error)
    await form(get)
    await signIn('tomas.berg')
    expect(get().step?.status).toBe('MFA_REQUIRED')
    await controller.cancel()
    expect(get()).toMatchObject({ view: 'sign-in', step: undefined, message: { key: 'signInAgain' } })
    await controller.cancel()
    expect(await result).toMatchObject({ name: 'ReauthenticationError', reason: 'cancelled' })
    expect(get()).toMatchObject({ view: 'signed-in', session: { login: `${ADA}@example.test` } })
    expect(done).toEqual([])
  })

  test('rejects if the session has ended, and after dispose', async () => {
    const { controller, act, get, gatehouse } = await signedIn({ minutesAgo: 16 })
    const result = controller.requireRecentSignIn(act).catch((error: unknown) => error)
    await form(get)
    controller.dispose()
    expect(await result).toMatchObject({ reason: 'cancelled' })
    await gatehouse.signOut()
    await expect(controller.requireRecentSignIn(act)).rejects.toMatchObject({ reason: 'signed-out' })
  })

  test('repeats an act that the broker refuses with sign_in_again, once', async () => {
    const { controller, get, signIn, gatehouse } = await signedIn({ minutesAgo: 16 })
    const there = await openPage()
    await there.signIn(ADA)
    const result = controller.requireRecentSignIn(gatehouse.endOtherSessions, { maxAgeSeconds: 3600 })
    await form(get)
    await signIn(ADA)
    await result
    expect(await there.gatehouse.session()).toBeUndefined()
  })
})

describe('a session', () => {
  test('with prompt=login, the user signs in within it; a cancel keeps it', async () => {
    const { controller, signIn, get } = await openPage()
    await signIn('amelia.stone')
    const { session } = get()
    const denial = { reason: 'amr', amr: ['mfa'] } as const
    await controller.start({ prompt: 'login', denial })
    const asked = { view: 'sign-in', message: { key: 'factorNeeded' }, session: { id: session?.id } }
    expect(get()).toMatchObject(asked)
    await controller.cancel()
    expect(get()).toMatchObject({ view: 'signed-in', message: undefined })
    await controller.start({ prompt: 'login' })
    expect(get()).toMatchObject({ view: 'sign-in', message: { key: 'signInAgain' } })
    await signIn('mila.nophone')
    expect(get()).toMatchObject({ view: 'signed-in', session: { login: 'mila.nophone@example.test' } })
  })

  test('that ends elsewhere leads to the form, with the reason', async () => {
    const { signIn, get, gatehouse } = await openPage()
    await signIn('amelia.stone')
    const there = await openPage()
    await there.signIn('amelia.stone')
    await there.gatehouse.endOtherSessions()
    await gatehouse.groups().catch(() => undefined)
    await form(get)
    expect(get()).toMatchObject({ session: undefined, message: { key: 'sessionEnded' } })
  })
})

test('a link for another user is refused: the session stays, and the message says so', async () => {
  const page = await openPage()
  await page.signIn('amelia.stone')
  await page.controller.signIn({ token: harness.sandbox.activationToken('anna.activate') })
  const { view, session, message } = page.get()
  expect({ view, login: session?.login, key: message?.key }).toEqual({
    view: 'signed-in',
    login: 'amelia.stone@example.test',
    key: 'otherUser',
  })
})

test('a push that is sent at once: the user can still choose not to be asked again on this device', async () => {
  const page = await openPage({ pushAtOnce: true, pollEveryMs: 20 })
  await page.signIn('priya.nair')
  expect(page.get()).toMatchObject({ step: { status: 'MFA_CHALLENGE' }, rememberDevice: undefined })
  page.controller.rememberDevice(true)
  expect(page.get().rememberDevice).toBe(true)
  harness.sandbox.answerPush('priya.nair', 'approve')
  await page.reach('signed-in')
  expect(page.get().rememberDevice).toBeUndefined()
  await page.controller.signOut()
  await page.signIn('priya.nair')
  expect(page.get().view).toBe('signed-in') // without a second factor
})
