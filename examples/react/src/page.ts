import type { Session, SignInStep } from 'gatehouse-client'
import { useSyncExternalStore } from 'react'
import { gatehouse } from './gatehouse.ts'
import { texts } from './language/language.ts'
import { type Message, messageOf, resultOf, sessionEndOf } from './messages.ts'
import { labelled, markField } from './parts/mark-field.ts'
import { onlyChallenge } from './sign-in/factors.tsx'
import { takeUrlParameters } from './url-parameters.ts'

/** What the page shows, and the functions that change it. They are outside React, which may run an effect twice. */
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
  | { readonly is: 'sign-in'; readonly step: Next }
  | { readonly is: 'portal'; readonly session: Session }

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

/** The username that was typed last. It is forgotten after a sign-in, because the next user may be another. */
let typedUsername = ''

export const username = {
  get: () => typedUsername,
  keep: (typed: string) => {
    typedUsername = typed
  },
}

/** A link of an email starts a sign-in, a step-up continues, and so does a sign-in after a reload. */
export async function start(): Promise<void> {
  const { activation: token, recovery, stateToken } = takeUrlParameters()
  try {
    if (token) await show(gatehouse.signIn({ token }))
    else if (recovery) await show(gatehouse.redeemRecoveryToken(recovery))
    else await show(stateToken ? gatehouse.signIn({ stateToken }) : gatehouse.resume())
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
  await showFirst()
}

let isAsking = false

/** The portal, or without a session the form. Asking for the session also sets the device cookie. */
async function showFirst(message?: Message): Promise<void> {
  isAsking = true
  try {
    const session = await gatehouse.session()
    replace(session ? { is: 'portal', session } : { is: 'sign-in', step: undefined }, message)
  } catch (error) {
    replace({ is: 'unavailable' }, messageOf(error))
  } finally {
    isAsking = false
  }
}

gatehouse.onSessionEnd((reason) => {
  if (state.view.is === 'portal' && !isAsking) void showFirst(sessionEndOf(reason))
})

let isRunning = false

/**
 * Runs an action of the user, unless another one is running, and shows its error. With a form, the wrong field is marked.
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
    return await fail(error, form)
  } finally {
    isRunning = false
  }
}

/** Shows an error. If the sign-in is over, with the first screen. @returns as `run` */
export async function fail(error: unknown, form?: HTMLFormElement): Promise<number> {
  const message = messageOf(error)
  const { action, details = [], causes, waitSeconds } = message
  if (action === 'sign-in' || action === 'reload') return 0 // `onSessionEnd` tells the user
  if (action === 'sign-in-again') replace({ is: 'sign-in', step: undefined }, message)
  else if (action === 'restart' || action === 'sign-out') await showFirst(message)
  else if (form && action === 'correct') {
    say({ ...message, details: details.map((detail) => labelled(form, detail)) })
    markField(form, causes)
  } else say(message)
  return waitSeconds
}
