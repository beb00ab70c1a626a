import { allowedReturnTo, type Denial, type Session, type SignInState } from 'gatehouse-client'
import { RETURN_TARGETS, signIn } from './gatehouse.ts'
import { texts } from './language/language.ts'
import { canSignInHelp, messageOfSignIn } from './messages.ts'
import { replace, run, say, showStep, username, type WayBack } from './page.ts'
import { forgetUrlParameters, takeUrlParameters } from './url-parameters.ts'

/** Where the user goes after the sign-in. */
let returnTo: string | undefined
/** Why the application has refused the session, if it tells. */
let denial: Denial | undefined
/** The open session has nothing to gain from a sign-in of the same user. */
let isRefused = false

/**
 * A link of an email starts a sign-in, a step-up continues, and so does a sign-in after a reload.
 */
export async function start(): Promise<void> {
  const { hash } = location
  const parameters = takeUrlParameters()
  const { activation: token, recovery, stateToken, returnTo: target, handover, prompt } = parameters
  denial = parameters.denial
  returnTo = handover ? `/signin${location.search}${hash}` : allowedReturnTo(target, RETURN_TARGETS)
  isRefused = prompt === 'login' && denial !== undefined && !canSignInHelp(denial)
  await run(async () => {
    if (token) await signIn.signIn({ token })
    else if (recovery) await signIn.redeemRecoveryToken(recovery)
    else if (stateToken) await signIn.signIn({ stateToken })
    else await signIn.start(isRefused ? {} : { prompt, denial })
  })
  if (target && !returnTo) say({ tone: 'info', text: texts.targetRefused })
}

/** Shows a screen for each state of the sign-in. */
export function follow(): void {
  let last: SignInState | undefined
  signIn.subscribe((state) => {
    const { view, step, message, session } = state
    const isNew = view !== last?.view || step !== last.step
    const isOtherSession = view === 'signed-in' && session !== last?.session
    const isTold = message !== last?.message
    const wayBack = isTold && !step ? wayBackOf(state) : undefined
    last = state
    if (isTold) say(undefined)
    if (view === 'sign-in') isRefused = false
    if (isNew || wayBack) showStep(state, wayBack)
    if (session && isOtherSession) enter(session)
    if (view === 'replaced' && isNew) queueMicrotask(() => void showNewSession(state))
  })
}

function wayBackOf({ message }: SignInState): WayBack | undefined {
  if (message?.action === 'unlock') return 'unlock'
  return message?.action === 'reset-password' ? 'forgot' : undefined
}

/** With an open session: where the user wanted to go. */
function enter(session: Session): void {
  username.keep(undefined)
  if (denial && isDenied(denial, session)) replace({ place: denial })
  else if (returnTo) {
    replace({ place: 'elsewhere' })
    location.replace(returnTo)
  } else {
    forgetUrlParameters()
    replace({ place: 'portal' })
  }
}

function isDenied({ amr }: Denial, session: Session): boolean {
  return isRefused || amr.some((method) => !session.amr.includes(method))
}

/** Another tab has signed in. */
async function showNewSession(state: SignInState): Promise<void> {
  await signIn.start()
  say(messageOfSignIn(state))
}

/** Despite the refusal of the application: with another factor, or as another user. */
export async function signInOtherwise(refused: Denial): Promise<void> {
  username.keep(refused.reason === 'amr' ? undefined : '')
  await signIn.start({ prompt: 'login', denial: refused })
}

/** Ends the sign-in of this user, for another one's. */
export async function signInAsOther(): Promise<void> {
  username.keep('')
  await signIn.cancel()
}

/** The user may have access by now. */
export async function tryAgain(): Promise<void> {
  denial = undefined
  const { session } = signIn.getState()
  if (session) enter(session)
}

/** The user does not sign in again. */
export async function stay(): Promise<void> {
  returnTo = undefined
  username.keep(undefined)
  const { view } = signIn.getState()
  if (view === 'signed-in') return tryAgain()
  denial = undefined
  await signIn.cancel()
}
