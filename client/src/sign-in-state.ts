import type { Factor, Session, SignInAnswer } from './answers.ts'
import type { Message } from './messages/messages.ts'
import { asksForProof, recommendFactor } from './recommend-factor.ts'
import type { Duo, SignInStep } from './sign-in-step.ts'
import type { VerifyOptions } from './step-inputs.ts'

/**
 * What the page shows. `loading`: nothing yet. `unavailable`: whether the user is signed in is not
 * known; offer to try again (`start`). `sign-in`: `step`, or the first form. `signed-in`:
 * `session`. `replaced`: another tab has signed in, perhaps another user; offer to reload the page.
 */
export type SignInView = 'loading' | 'unavailable' | 'sign-in' | 'signed-in' | 'replaced'

/** An immutable snapshot. */
export interface SignInState {
  readonly view: SignInView
  /** Undefined: the first form, which asks for user name and password. */
  readonly step: SignInStep | undefined
  /** An action is running: others have no effect. A poll is no action. */
  readonly busy: boolean
  /** Why the last action failed, or what has happened. */
  readonly message: Message | undefined
  /** What `message` describes, such as a `GatehouseError` with its `retryAfterSeconds`. */
  readonly error: unknown
  /** Who is signing in: the login that the step tells, else what the user typed. */
  readonly login: string | undefined
  /** Who is signing in, as far as the step tells. */
  readonly user: StepUser | undefined
  /**
   * The factor in use: of the challenge, or the chosen one, for which `verify` needs a proof such
   * as a code. Undefined: offer `step.factors`.
   */
  readonly factor: Factor | undefined
  /** "Do not ask again on this device", if it was chosen for the challenge. */
  readonly rememberDevice: boolean | undefined
  /** Of `step.factors`: offer it first. */
  readonly recommended: Factor | undefined
  /** Which of these actions the step offers. */
  readonly offers: { readonly previous: boolean; readonly resend: boolean; readonly skip: boolean }
  /** The open session. In the view `sign-in`: the user signs in again within it. */
  readonly session: Session | undefined
}

export type StepUser = NonNullable<
  Extract<SignInAnswer, { status: 'MFA_REQUIRED' | 'RECOVERY' }>['_embedded']['user']
>

/** What the controller knows. The rest of the state follows from it. */
export interface SignInFacts
  extends Pick<SignInState, 'view' | 'step' | 'busy' | 'message' | 'error' | 'session' | 'rememberDevice'> {
  readonly typedLogin: string | undefined
  /** Of `step.factors`. */
  readonly chosen: Factor | undefined
  /** The id of the factor that was used last. */
  readonly lastUsed: string | undefined
}

export function toState(facts: SignInFacts): SignInState {
  const { view, step, busy, message, error, session, rememberDevice, typedLogin, lastUsed } = facts
  const user = userOf(step)
  const required = step?.status === 'MFA_REQUIRED' ? step : undefined
  const factor = required ? (facts.chosen ?? onlyFactor(required.factors)) : factorOf(step)
  return Object.freeze({
    view,
    step,
    busy,
    message,
    error,
    session,
    login: user?.profile?.login ?? typedLogin ?? session?.login,
    user,
    factor,
    rememberDevice,
    recommended: required && recommendFactor(required.factors, lastUsed),
    offers: Object.freeze({
      previous: facts.chosen !== undefined || step?.previous !== undefined,
      resend: resendOf(step) !== undefined,
      skip: skipOf(step) !== undefined,
    }),
  })
}

type VerifyMove = (proof: never, options?: VerifyOptions) => Promise<SignInStep>

/** @param factor the chosen one */
export function verifyOf(step: SignInStep | undefined, factor: Factor | undefined): VerifyMove | undefined {
  switch (step?.status) {
    case 'MFA_REQUIRED':
      return factor && ((proof, options) => step.verify(factor, proof, options))
    case 'MFA_CHALLENGE':
      return step.next === 'verify' ? step.verify : undefined
    case 'MFA_ENROLL_ACTIVATE':
      return step.next === 'activate' ? step.activate : undefined
    case 'RECOVERY_CHALLENGE':
      return step.verify
  }
  return undefined
}

/**
 * The move that sends another code or push. A push that was rejected or not answered is sent by
 * `verify`.
 */
export function resendOf(step: SignInStep | undefined): (() => Promise<SignInStep>) | undefined {
  if (step && 'resend' in step && step.resend) return step.resend
  const isEnded = step?.status === 'MFA_CHALLENGE' && step.next === 'verify'
  return isEnded && step.factor?.factorType === 'push' ? () => step.verify() : undefined
}

export function skipOf(step: SignInStep | undefined): (() => Promise<SignInStep>) | undefined {
  return step && 'skip' in step ? step.skip : undefined
}

export function duoOf(step: SignInStep | undefined): Duo['complete'] | undefined {
  return step && 'duo' in step ? step.duo?.complete : undefined
}

/** The number to choose on the phone. */
export function numberOf(step: SignInStep | undefined): number | undefined {
  return step && 'correctAnswer' in step ? step.correctAnswer : undefined
}

/** The only factor, if its proof is sent at once: there is nothing to choose. */
function onlyFactor([factor, ...others]: readonly Factor[]): Factor | undefined {
  return factor && others.length === 0 && asksForProof(factor) ? factor : undefined
}

function factorOf(step: SignInStep | undefined): Factor | undefined {
  return step && 'factor' in step ? step.factor : undefined
}

function userOf(step: SignInStep | undefined): StepUser | undefined {
  const { user }: { user?: StepUser } = Object(Object(step?.answer)._embedded)
  return user
}
