import { type Denial, ReauthenticationError, type SignInState } from 'gatehouse-client'
import { useSyncExternalStore } from 'react'
import { signIn } from './gatehouse.ts'
import { type Message, messageOf } from './messages.ts'
import { emptyField, labelled, markField } from './parts/mark-field.ts'
import { beginOnlyChallenge } from './sign-in/factors.tsx'

/** What the page adds to the state of the sign-in (`signIn`). */
export interface PageState {
  /** Another one for each screen, so that React replaces it. */
  readonly screenKey: number
  /** Instead of the message of the sign-in. null: none. */
  readonly message: Message | null | undefined
  /** A way back into the account, instead of the first form. */
  readonly wayBack: WayBack | undefined
  /** What comes next is not known yet, such as a challenge that begins by itself. */
  readonly isPending: boolean
  /** Where an open session leads: also to why an application refuses it. */
  readonly place: 'elsewhere' | 'portal' | Denial
}

export type WayBack = 'forgot' | 'unlock'

let state: PageState = {
  screenKey: 0,
  message: undefined,
  wayBack: undefined,
  isPending: false,
  place: 'elsewhere',
}
const listeners = new Set<() => void>()

export function usePage(): PageState {
  return useSyncExternalStore(subscribe, () => state)
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

export function change(changes: Partial<Omit<PageState, 'screenKey'>>): void {
  state = { ...state, ...changes }
  for (const listener of listeners) listener()
}

/** Shows another screen. */
export function replace(changes: Partial<Omit<PageState, 'screenKey'>> = {}): void {
  state = { ...state, screenKey: state.screenKey + 1 }
  change(changes)
}

/** Shows another step of the sign-in. While it is being cancelled, it is busy without one. */
export function showStep({ step, busy }: SignInState, wayBack: WayBack | undefined): void {
  replace({ wayBack, isPending: running !== undefined && (busy || step?.status === 'MFA_REQUIRED') })
}

/** Undefined: shows the message of the sign-in, if there is one. null: shows none. */
export function say(message: Message | null | undefined): void {
  change({ message })
}

/** Undefined: back to the form. */
export function showWayBack(wayBack: WayBack | undefined): void {
  replace({ wayBack, message: null })
}

/** Undefined: what the sign-in knows. */
let typedUsername: string | undefined

/** The username is kept from screen to screen. */
export const username = {
  get: () => typedUsername ?? signIn.getState().login ?? '',
  keep: (typed: string | undefined) => {
    typedUsername = typed
  },
}

/** The screen on which an action runs: on the next one, others can run. */
let running: { readonly screenKey: number } | undefined

/**
 * Runs an action of the user, unless another one is running, and shows its error. With a form, the
 * wrong field is marked.
 * @returns the seconds to wait before the next try, if the error tells them
 */
export async function run(action: () => Promise<void>, form?: HTMLFormElement): Promise<number> {
  if (running?.screenKey === state.screenKey) return 0
  const own = { screenKey: state.screenKey }
  running = own
  say(undefined)
  try {
    await action()
    await beginOnlyChallenge(signIn)
    const { error } = signIn.getState()
    return error === undefined ? 0 : fail(error, form)
  } catch (error) {
    return fail(error, form)
  } finally {
    if (running === own) {
      running = undefined
      change({ isPending: false })
    }
  }
}

/** Runs a move of the sign-in, and tells the user that it was done. */
export async function confirm(move: Promise<void>, text: string): Promise<void> {
  await move
  if (signIn.getState().error === undefined) say({ tone: 'good', text })
}

function fail(error: unknown, form?: HTMLFormElement): number {
  const message = messageOf(error)
  const { action, field, details = [], causes, waitSeconds } = message
  if (error instanceof ReauthenticationError) {
    if (error.reason === 'other-user') say(null) // this user has begun nothing
    return 0
  }
  if (action === 'sign-in' || action === 'reload') return 0 // the end of the session tells the user
  if (!form?.isConnected) say(message)
  else if (action === 'correct') {
    say({ ...message, details: details.map((detail) => labelled(form, detail)) })
    markField(form, causes, field)
  } else {
    say(message)
    if (action === 'continue') emptyField(form, field)
  }
  return waitSeconds
}
