import type { Factor, Session } from './answers.ts'
import type { Gatehouse, SignInStart } from './create-gatehouse.ts'
import type { Denial } from './denial.ts'
import { GatehouseError, notOffered } from './gatehouse-error.ts'
import { createKeptItem } from './kept-item.ts'
import type { Action } from './messages/message-keys.ts'
import type { Message, Messages } from './messages/messages.ts'
import { ReauthenticationError } from './reauthentication-error.ts'
import { asksForProof } from './recommend-factor.ts'
import type { Attestation } from './security-keys.ts'
import type { SessionEnd } from './session-watch.ts'
import {
  duoOf,
  numberOf,
  resendOf,
  type SignInFacts,
  type SignInState,
  skipOf,
  toState,
  verifyOf,
} from './sign-in-state.ts'
import type { SignInStep, Success } from './sign-in-step.ts'
import type { Proof, RecoveryRequest, VerifyOptions } from './step-inputs.ts'

export interface SignInControllerOptions {
  /**
   * `import * as messages from 'gatehouse-client/messages'`; for one language, `messages(FRENCH)`.
   */
  readonly messages: Pick<
    Messages,
    'describe' | 'describeDenial' | 'describeError' | 'describeResult' | 'describeSessionEnd'
  >
  /** Sends a push as soon as the password is verified, if it is recommended. Default: false. */
  readonly pushAtOnce?: boolean
  /** Milliseconds between two polls. Default: 2,000. */
  readonly pollEveryMs?: number
  /** Leaves the page for the app that asked for a step-up. Default: `location.assign`. */
  readonly navigate?: (address: string) => void
}

/** The parameters of the page's address. */
export interface StartParameters {
  /** `login`: the user signs in although a session is open. */
  readonly prompt?: string | null | undefined
  /** Why an application refuses the session: `readDenial()`. */
  readonly denial?: Denial | undefined
}

export interface ReauthenticationOptions {
  /** How old the sign-in may be. Default: 900. */
  readonly maxAgeSeconds?: number
}

/**
 * The state of a page that signs users in, without a framework. Actions never reject: the state has
 * the message. Only one action runs at a time.
 */
export interface SignInController {
  getState(): SignInState
  /**
   * Calls the listener at once, and after each change: the contract of Svelte's stores.
   * @returns removes the listener
   */
  subscribe(listener: (state: SignInState) => void): () => void
  /** Continues the sign-in of this tab, or finds the open session. Call it first. */
  start(parameters?: StartParameters): Promise<void>
  /** With user name and password, or with the token or handle of a link. */
  signIn(start: SignInStart): Promise<void>
  recoverPassword(request: RecoveryRequest): Promise<void>
  unlockAccount(request: RecoveryRequest): Promise<void>
  /** @param recoveryToken from the link in a recovery email */
  redeemRecoveryToken(recoveryToken: string): Promise<void>
  /**
   * Uses one of `step.factors`: requests its challenge, or takes it as the `factor` for `verify`.
   */
  choose(factor: Factor, options?: VerifyOptions): Promise<void>
  /** The proof of `factor`; also the code of an activation or a recovery. */
  verify(proof: Proof | Attestation, options?: VerifyOptions): Promise<void>
  /** Sends another code or push. */
  resend(): Promise<void>
  /** Back to the step before. */
  previous(): Promise<void>
  /** Skips an optional step. */
  skip(): Promise<void>
  /** Any other move of the step, such as `run(() => step.enroll(factor))`. */
  run(move: () => Promise<SignInStep>): Promise<void>
  /** "Do not ask again on this device", for a challenge that is polled, such as a push. */
  rememberDevice(remember: boolean): void
  /** Polls again after an error, which ends the polling of a push. */
  poll(): Promise<void>
  /** @param sigResponse from Duo's frame */
  completeDuo(sigResponse: string): Promise<void>
  /**
   * Ends the sign-in, also while an action runs, the answer of which is dropped. Without a step:
   * the user does not sign in again, and the session stays.
   */
  cancel(): Promise<void>
  signOut(): Promise<void>
  /**
   * Runs an act of the portal that needs a recent sign-in. If it is older, or the broker answers
   * `sign_in_again`, the user signs in again first (view `sign-in`). Resolves and rejects as the
   * act. A server that acts must check the age itself: a page can be changed.
   * @throws {ReauthenticationError} without running the act: another user has signed in instead,
   * the user has cancelled, or the session has ended
   */
  requireRecentSignIn<Result>(
    act: (session: Session) => Result | Promise<Result>,
    options?: ReauthenticationOptions,
  ): Promise<Result>
  /**
   * Ends polling, drops the answer that is under way, and stops listening. `start` begins again.
   */
  dispose(): void
}

/** A sign-in within the open session. */
interface Again {
  readonly session: Session
  /** Why the user signs in again. */
  readonly message: Message
  /** Tells `requireRecentSignIn` which session is open now, or why none is. */
  readonly end?: (outcome: Session | ReauthenticationError['reason']) => void
}

const NOTHING: SignInFacts = {
  view: 'loading',
  step: undefined,
  busy: false,
  message: undefined,
  error: undefined,
  session: undefined,
  rememberDevice: undefined,
  typedLogin: undefined,
  chosen: undefined,
  lastUsed: undefined,
}

/** After these errors, the sign-in cannot continue. */
const ENDS_SIGN_IN: readonly Action[] = ['restart', 'sign-in', 'sign-out']

export function createSignInController(
  gatehouse: Gatehouse,
  { messages, pushAtOnce = false, pollEveryMs = 2000, navigate = leave }: SignInControllerOptions,
): SignInController {
  const lastUsed = createKeptItem(
    () => globalThis.localStorage,
    () => 'gatehouse factor',
  )
  const listeners = new Set<(state: SignInState) => void>()
  let facts = NOTHING
  let state = toState(facts)
  let stopListening: (() => void) | undefined
  /** Another object after a `cancel` or `dispose`: answers to what has begun before are dropped. */
  let current = {}
  /** The last move. */
  let moving: Promise<SignInStep | undefined> | undefined
  let polling = new AbortController()
  let again: Again | undefined
  /** An application wants a sign-in although a session is open: what the user reads. */
  let prompt: Message | undefined
  /** The factor of the last challenge or proof. */
  let usedFactor: string | undefined

  function set(change: Partial<SignInFacts>): void {
    facts = { ...facts, ...change }
    state = toState(facts)
    for (const listener of listeners) tell(listener)
  }

  /** An error of a listener must not look like one of an action. */
  function tell(listener: (state: SignInState) => void): void {
    try {
      listener(state)
    } catch (error) {
      queueMicrotask(() => {
        throw error
      })
    }
  }

  /**
   * Runs an action, unless another one is running. @param action is told whether it was cancelled
   */
  async function exclusive(action: (isCurrent: () => boolean) => Promise<void>): Promise<void> {
    if (facts.busy) return
    const own = current
    const isCurrent = () => own === current
    listen()
    polling.abort()
    moving = undefined
    set({ busy: true, message: undefined, error: undefined })
    try {
      await action(isCurrent)
    } catch (error) {
      if (!isCurrent()) return
      await fail(error)
      pollUnasked()
    }
  }

  /** Runs a move, and shows the step that it leads to. */
  function act(move: () => Promise<SignInStep | undefined>): Promise<void> {
    return exclusive(async (isCurrent) => {
      moving = move()
      const next = await moving
      if (isCurrent()) await show(next)
    })
  }

  async function show(step: SignInStep | undefined): Promise<void> {
    if (!step) return showFirst()
    if (step.status === 'SUCCESS') return finish(step)
    if (step.status === 'MFA_CHALLENGE') usedFactor = step.factor?.id
    const message = resultOf(step)
    const { rememberDevice } = step.status === 'MFA_CHALLENGE' ? facts : NOTHING
    set({
      view: 'sign-in',
      step,
      rememberDevice,
      busy: false,
      chosen: undefined,
      message,
      lastUsed: lastUsed.get(),
    })
    pollUnasked()
  }

  function resultOf(step: SignInStep): Message | undefined {
    const result = 'result' in step ? step.result : undefined
    const isFailure = result !== undefined && result !== 'WAITING' && result !== 'CHALLENGE'
    return isFailure ? messages.describeResult(result) : undefined
  }

  async function finish({ redirectUrl, unlocked, session }: Success): Promise<void> {
    if (redirectUrl) return navigate(redirectUrl)
    if (unlocked) return showFirst(messages.describe('accountUnlocked'))
    if (usedFactor) lastUsed.set(usedFactor)
    const own = current
    const opened = session ?? (await gatehouse.session())
    if (own !== current) return
    if (opened) showSession(opened)
    else await showFirst()
  }

  function showSession(session: Session, message?: Message, error?: unknown): void {
    set({ ...NOTHING, view: 'signed-in', session, message, error })
    endAgain(session)
  }

  /** The first form, or the open session if there is no reason to sign in again. */
  async function showFirst(message?: Message, error?: unknown): Promise<void> {
    const own = current
    usedFactor = undefined
    try {
      const session = await gatehouse.session()
      if (own !== current) return
      if (!session) return showForm(message, error)
      if (prompt && !again) again = { session, message: prompt }
      if (again?.session.userId === session.userId) showFormAgain(again, message, error)
      else showSession(session, message, error)
    } catch (problem) {
      const told = messages.describeError(problem)
      if (own === current) set({ ...NOTHING, view: 'unavailable', message: told, error: problem })
    }
  }

  /** What `onSessionEnd` has told stays. */
  function showForm(message = facts.message, error?: unknown): void {
    const { typedLogin } = facts
    set({ ...NOTHING, view: 'sign-in', typedLogin, message, error })
    endAgain('signed-out')
  }

  function showFormAgain({ session, message: reason }: Again, message = reason, error?: unknown): void {
    set({ ...NOTHING, view: 'sign-in', session, message, error })
  }

  function endAgain(outcome: Session | ReauthenticationError['reason']): void {
    const { end } = again ?? {}
    again = undefined
    prompt = undefined
    end?.(outcome)
  }

  async function fail(error: unknown): Promise<void> {
    const message = messages.describeError(error)
    if (ENDS_SIGN_IN.includes(message.action)) return showFirst(message, error)
    const view = facts.view === 'loading' ? 'unavailable' : facts.view
    set({ view, busy: false, message, error })
  }

  /** Duo's frame comes first. */
  function pollUnasked(): void {
    if (!duoOf(facts.step)) void poll()
  }

  /** Polls until the user has acted elsewhere. A number to choose may appear meanwhile. */
  async function poll(): Promise<void> {
    const { step, busy } = facts
    if (busy || !step || !('poll' in step)) return
    polling.abort()
    polling = new AbortController()
    const { signal } = polling
    const verifyOptions = () => {
      const { rememberDevice } = facts
      return rememberDevice === undefined ? {} : { rememberDevice }
    }
    let failure: unknown
    const onRetry = (error: unknown) => {
      failure = error
      set({ message: messages.describeError(error), error })
    }
    try {
      let last: SignInStep = step
      for await (last of step.poll({ signal, everyMs: pollEveryMs, onRetry, verifyOptions })) {
        if (failure && facts.error === failure) set({ message: undefined, error: undefined })
        if ('correctAnswer' in last && last.correctAnswer !== numberOf(facts.step)) set({ step: last })
      }
      set({ busy: true })
      await show(last)
    } catch (error) {
      if (!signal.aborted) await fail(error)
    }
  }

  async function cancel(): Promise<void> {
    const { step, busy } = facts
    const answer = busy ? moving : undefined
    drop()
    const own = current
    if (!step && !busy) endAgain('cancelled')
    set({ step: undefined, chosen: undefined, busy: true, message: undefined, error: undefined })
    const last = (await answer?.catch(() => undefined)) ?? step
    await last?.cancel().catch(() => undefined) // it ends by itself after some minutes
    if (own === current) await showFirst()
  }

  async function requireRecentSignIn<Result>(
    act: (session: Session) => Result | Promise<Result>,
    { maxAgeSeconds = 900 }: ReauthenticationOptions = {},
  ): Promise<Result> {
    const session = await extend()
    const ageMs = gatehouse.now() - Date.parse(session.authenticatedAt)
    if (ageMs > maxAgeSeconds * 1000) return act(await signInAgain(session))
    try {
      return await act(session)
    } catch (error) {
      if (!(error instanceof GatehouseError) || error.code !== 'sign_in_again') throw error
      return act(await signInAgain(session))
    }
  }

  /** Names this tab's session, so that the broker refuses if the browser has another one. */
  async function extend(): Promise<Session> {
    try {
      return await gatehouse.refresh()
    } catch (error) {
      const isEnded = error instanceof GatehouseError && error.status === 404
      throw isEnded ? new ReauthenticationError('signed-out') : error
    }
  }

  /** @returns the session of the same user, after the sign-in */
  function signInAgain(session: Session): Promise<Session> {
    endAgain('cancelled') // another act that waits
    return new Promise((resolve, reject) => {
      function end(outcome: Session | ReauthenticationError['reason']): void {
        const isSession = typeof outcome !== 'string'
        if (isSession && outcome.userId === session.userId) resolve(outcome)
        else refuse(isSession ? 'other-user' : outcome)
      }
      function refuse(reason: ReauthenticationError['reason']): void {
        const error = new ReauthenticationError(reason)
        if (reason === 'other-user') set({ message: messages.describeError(error), error })
        reject(error)
      }
      again = { session, message: messages.describe('signInAgain'), end }
      drop()
      listen()
      showFormAgain(again)
    })
  }

  /** Answers to what has begun are dropped. */
  function drop(): void {
    current = {}
    polling.abort()
  }

  function listen(): void {
    if (stopListening) return
    const stops = [gatehouse.onSessionStart(onSessionStart), gatehouse.onSessionEnd(onSessionEnd)]
    stopListening = () => {
      for (const stop of stops) stop()
    }
  }

  /** Another tab has signed in. */
  function onSessionStart(session: Session): void {
    if (facts.view === 'sign-in' && !facts.step && !facts.busy) showSession(session)
  }

  function onSessionEnd(reason: SessionEnd): void {
    if (!facts.session) return
    const message = messages.describeSessionEnd(reason)
    if (reason !== 'replaced' && facts.step) set({ session: undefined, message })
    else {
      drop()
      set({ ...NOTHING, view: reason === 'replaced' ? 'replaced' : 'sign-in', message })
    }
    endAgain('signed-out')
  }

  async function signIn(start: SignInStart): Promise<void> {
    const { step } = facts
    if (!('username' in start)) return act(() => gatehouse.signIn(start))
    const credentials = { ...start, username: keepLogin(start.username) }
    const isStepUp = step?.status === 'UNAUTHENTICATED'
    await act(() => (isStepUp ? step.signIn(credentials) : gatehouse.signIn(credentials)))
    const { recommended, step: next } = state
    if (!pushAtOnce || recommended?.factorType !== 'push') return
    await choose(recommended)
    const isDefault = next?.status === 'MFA_REQUIRED' && next.answer._embedded.policy?.rememberDeviceByDefault
    if (isDefault && facts.step?.status === 'MFA_CHALLENGE') set({ rememberDevice: true })
  }

  /** @returns what the user meant */
  function keepLogin(typed: string): string {
    const typedLogin = typed.trim()
    if (!facts.busy) set({ typedLogin })
    return typedLogin
  }

  function recover(
    send: (request: RecoveryRequest) => Promise<SignInStep>,
    request: RecoveryRequest,
  ): Promise<void> {
    const username = keepLogin(request.username)
    return act(() => send({ ...request, username }))
  }

  async function choose(factor: Factor, options?: VerifyOptions): Promise<void> {
    const { step, busy } = facts
    if (busy || step?.status !== 'MFA_REQUIRED') return
    if (asksForProof(factor)) set({ chosen: factor, message: undefined, error: undefined })
    else {
      set({ rememberDevice: options?.rememberDevice })
      await act(() => step.verify(factor, undefined, options))
    }
  }

  async function verify(proof: Proof | Attestation, options?: VerifyOptions): Promise<void> {
    const { factor } = state
    return act(async () => {
      const move = offered(verifyOf(facts.step, factor))
      usedFactor = factor?.id
      return move(proof as never, options) // the step knows which proof it takes
    })
  }

  async function previous(): Promise<void> {
    const { step, chosen, busy } = facts
    if (!chosen) return act(async () => offered(step?.previous)())
    if (!busy) set({ chosen: undefined, message: undefined, error: undefined })
  }

  return {
    getState: () => state,
    subscribe(listener) {
      const own = (changed: SignInState) => listener(changed)
      listeners.add(own)
      tell(own)
      return () => listeners.delete(own)
    },
    start({ prompt: wanted, denial } = {}) {
      const reason = denial ? messages.describeDenial(denial) : messages.describe('signInAgain')
      prompt = wanted === 'login' ? reason : undefined
      return act(gatehouse.resume)
    },
    signIn,
    recoverPassword: (request) => recover(gatehouse.recoverPassword, request),
    unlockAccount(request) {
      const { step } = facts
      const unlock = step?.status === 'LOCKED_OUT' ? step.unlock : undefined
      return recover(unlock ?? gatehouse.unlockAccount, request)
    },
    redeemRecoveryToken: (token) => act(() => gatehouse.redeemRecoveryToken(token)),
    choose,
    verify,
    resend: () => act(async () => offered(resendOf(facts.step))()),
    previous,
    skip: () => act(async () => offered(skipOf(facts.step))()),
    run: act,
    rememberDevice: (remember) => set({ rememberDevice: remember }),
    poll,
    completeDuo: (sigResponse) =>
      exclusive(async (isCurrent) => {
        await offered(duoOf(facts.step))(sigResponse)
        if (!isCurrent()) return
        set({ busy: false })
        void poll()
      }),
    cancel,
    signOut: () =>
      exclusive(async (isCurrent) => {
        await gatehouse.signOut()
        if (isCurrent()) showForm(messages.describeSessionEnd('signed-out'))
      }),
    requireRecentSignIn,
    dispose() {
      drop()
      stopListening?.()
      stopListening = undefined
      set({ busy: false })
      endAgain('cancelled')
    },
  }
}

function offered<Move>(move: Move | undefined): Move {
  if (!move) throw notOffered()
  return move
}

function leave(address: string): void {
  globalThis.location.assign(address)
}
