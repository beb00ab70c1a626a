import { allowedReturnTo, type Denial, type Session, type SignInStep } from 'gatehouse-client'
import { useSyncExternalStore } from 'react'
import { gatehouse, RETURN_TARGETS } from './gatehouse.ts'
import { texts } from './language/language.ts'
import { denialOf, type Message, messageOf, resultOf, sessionEndOf } from './messages.ts'
import { emptyField, labelled, markField } from './parts/mark-field.ts'
import { onlyChallenge } from './sign-in/factors.tsx'
import { forgetUrlParameters, takeUrlParameters } from './url-parameters.ts'

/**
 * What the page shows, and the functions that change it. They are outside React, which may run an
 * effect twice.
 */
export interface PageState {
  readonly view: View
  /** Another one for each view, so that React replaces the screen. */
  readonly viewKey: number
  readonly message: Message | undefined
}

export type View =
  | { readonly is: 'loading' }
  /** Gatehouse cannot tell whether the user is signed in. */
  | { readonly is: 'unavailable' }
  | { readonly is: 'sign-in'; readonly step: Next; readonly first?: FirstScreen }
  | { readonly is: 'denied'; readonly denial: Denial; readonly session: Session }
  | { readonly is: 'portal'; readonly session: Session }

/** The first screen of a sign-in within the open session, or of an unlock. */
export type FirstScreen = 'again' | 'unlock' | 'forgot'

/** What a move leads to. Undefined: there is no sign-in, or it has ended. */
export type Next = SignInStep | undefined

let state: PageState = { view: { is: 'loading' }, viewKey: 0, message: undefined }
const listeners = new Set<() => void>()

export function usePage(): PageState {
  return useSyncExternalStore(subscribe, () => state)
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

function set(change: Partial<PageState>): void {
  state = { ...state, ...change }
  for (const listener of listeners) listener()
}

/** Undefined: removes the message. */
export function say(message: Message | undefined): void {
  set({ message })
}

function replace(view: View, message?: Message): void {
  set({ view, viewKey: state.viewKey + 1, message })
}

/** Leaves the sign-in of this user, for another one's. */
export async function signInAsOther(step: SignInStep): Promise<void> {
  await step.cancel()
  username.keep('')
  await showFirst()
}

/** Leaves the step for a way back into the account. */
export function showWayBack(first: 'forgot' | 'unlock'): void {
  replace({ is: 'sign-in', step: undefined, first })
}

/**
 * The username that was typed last. It is forgotten after a sign-in, because the next user may be
 * another.
 */
let typedUsername = ''

export const username = {
  get: () => typedUsername,
  keep: (typed: string) => {
    typedUsername = typed
  },
}

/** Where the user goes after the sign-in. */
let returnTo: string | undefined
/** An application wants a newer sign-in, or a further factor. */
let isPrompted = false
/** Why the application has refused the session, if it tells. */
let denial: Denial | undefined
/** The session within which the user signs in again, and the action that needs it. */
let again: { readonly id: string; readonly repeat?: (() => Promise<void>) | undefined } | undefined

/**
 * A link of an email starts a sign-in, a step-up continues, and so does a sign-in after a reload.
 */
export async function start(): Promise<void> {
  const parameters = takeUrlParameters()
  const { activation: token, recovery, stateToken, returnTo: target, handover, prompt } = parameters
  denial = parameters.denial
  returnTo = handover ? `/signin${location.search}` : allowedReturnTo(target, RETURN_TARGETS)
  isPrompted = prompt === 'login'
  try {
    if (token) await show(gatehouse.signIn({ token }))
    else if (recovery) await show(gatehouse.redeemRecoveryToken(recovery))
    else await show(stateToken ? gatehouse.signIn({ stateToken }) : gatehouse.resume())
    if (target && !returnTo) say({ tone: 'info', text: texts.targetRefused })
  } catch (error) {
    replace({ is: 'unavailable' })
    await fail(error)
  }
}

/** Shows the step that follows a move, and a notice. */
export async function show(next: Next | Promise<Next>, notice?: string): Promise<void> {
  const step = await next
  if (!step) return showFirst()
  if (step.status === 'SUCCESS') return finish(step)
  const challenge = onlyChallenge(step)
  if (challenge) return show(challenge())
  replace({ is: 'sign-in', step }, resultOf(step) ?? (notice ? { tone: 'good', text: notice } : undefined))
}

async function finish({ redirectUrl, unlocked }: Extract<SignInStep, { status: 'SUCCESS' }>): Promise<void> {
  if (redirectUrl) return location.assign(redirectUrl) // after a step-up, to the app
  if (unlocked) return showFirst({ tone: 'good', text: texts.accountUnlocked })
  username.keep('')
  isPrompted = false
  const { id, repeat } = again ?? {}
  // not for another user who has signed in instead
  const isSame = repeat && (await gatehouse.session())?.id === id
  await showFirst(isSame ? await repeat().then(() => undefined, messageOf) : undefined)
}

let isAsking = false

/**
 * The form, or if there is a session, where the user wanted to go. Asking for the session also sets
 * the device cookie.
 */
async function showFirst(message?: Message): Promise<void> {
  again = undefined
  isAsking = true
  try {
    const session = await gatehouse.session()
    if (!session) replace({ is: 'sign-in', step: undefined }, message)
    else if (denial && isDenied(denial, session)) replace({ is: 'denied', denial, session }, message)
    else if (isPrompted) signInAgain(session.login, session, message ?? promptOf(denial))
    else if (returnTo) leave(returnTo)
    else showPortal(session, message)
  } catch (error) {
    replace({ is: 'unavailable' }, messageOf(error))
  } finally {
    isAsking = false
  }
}

/** Whether the same user has nothing to gain from a sign-in, at first or after it. */
function isDenied({ reason, amr }: Denial, session: Session): boolean {
  if (isPrompted) return reason === 'role' || reason === 'group' || reason === 'bound'
  return amr.some((method) => !session.amr.includes(method))
}

function promptOf(denial: Denial | undefined): Message {
  return denial ? denialOf(denial) : { tone: 'info', text: texts.signInAgain }
}

function leave(url: string): void {
  replace({ is: 'loading' })
  location.replace(url)
}

function showPortal(session: Session, message?: Message): void {
  forgetUrlParameters()
  replace({ is: 'portal', session }, message)
}

/** The form, within the open session. @param repeat runs after the sign-in */
function signInAgain(login: string, { id }: Session, message: Message, repeat?: () => Promise<void>): void {
  username.keep(login)
  again = { id, repeat }
  replace({ is: 'sign-in', step: undefined, first: 'again' }, message)
}

/** Despite the refusal of the application: with another factor, or as another user. */
export async function signInOtherwise({ reason }: Denial, session: Session): Promise<void> {
  isPrompted = false
  signInAgain(reason === 'amr' ? session.login : '', session, promptOf(denial))
}

/** The user may have access by now. */
export async function tryAgain(): Promise<void> {
  denial = undefined
  isPrompted = false
  await showFirst()
}

/** The user does not sign in again. */
export async function stay(): Promise<void> {
  username.keep('')
  returnTo = undefined
  denial = undefined
  isPrompted = false
  await showFirst()
}

gatehouse.onSessionStart(() => {
  if (state.view.is === 'sign-in' && !state.view.step) void showFirst()
})
gatehouse.onSessionEnd((reason) => {
  if (state.view.is === 'portal' && !isAsking) void showFirst(sessionEndOf(reason))
})

let isRunning = false

/**
 * Runs an action of the user, unless another one is running, and shows its error. With a form, the
 * wrong field is marked.
 * @returns the seconds to wait before the next try, if the error tells them
 */
export async function run(action: () => Promise<void>, form?: HTMLFormElement): Promise<number> {
  if (isRunning) return 0
  isRunning = true
  say(undefined)
  try {
    await action()
    return 0
  } catch (error) {
    return await fail(error, form, action)
  } finally {
    isRunning = false
  }
}

/**
 * Shows an error. If the sign-in is over, with the first screen. @param repeat what has failed.
 * @returns as `run`
 */
export async function fail(
  error: unknown,
  form?: HTMLFormElement,
  repeat?: () => Promise<void>,
): Promise<number> {
  const message = messageOf(error)
  const { action, field, details = [], causes, waitSeconds } = message
  if (action === 'sign-in' || action === 'reload') return 0 // `onSessionEnd` tells the user
  const { view } = state
  if (action === 'sign-in-again' && view.is === 'portal')
    signInAgain(view.session.login, view.session, message, repeat)
  else if (action === 'unlock') replace({ is: 'sign-in', step: undefined, first: 'unlock' }, message)
  else if (action === 'reset-password') replace({ is: 'sign-in', step: undefined, first: 'forgot' }, message)
  else if (action === 'restart' || action === 'sign-out') await showFirst(message)
  else if (form && action === 'correct') {
    say({ ...message, details: details.map((detail) => labelled(form, detail)) })
    markField(form, causes, field)
  } else {
    say(message)
    if (form && action === 'continue') emptyField(form, field)
  }
  return waitSeconds
}
