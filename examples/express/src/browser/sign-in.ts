import type { MfaChallenge, MfaRequired, SignInStep } from 'gatehouse-client'
import { allowedReturnTo, createGatehouse, GatehouseError, readDenial } from 'gatehouse-client'
import { describeDenial, describeError, describeResult, type Message } from 'gatehouse-client/messages'

type Move = () => Promise<SignInStep>
type Moves = { resend?: Move; previous?: Move }
const gatehouse = createGatehouse()
const { returnTo, prompt, handover } = Object.fromEntries(new URLSearchParams(location.search))
/** Gatehouse itself leads to an application on another host. */
const target = handover ? `/signin${location.search}${location.hash}` : (allowedReturnTo(returnTo) ?? '/')
const denial = readDenial() // why an application refuses the session
let polling = new AbortController()

function find<Found extends HTMLElement>(selector: string, root: ParentNode = document): Found {
  const found = root.querySelector<Found>(selector)
  if (!found) throw new Error(`The page has no ${selector}`)
  return found
}

/** Shows one part of the page, and moves the focus to it. */
function show(id: string): HTMLElement {
  for (const part of document.querySelectorAll<HTMLElement>('.part')) part.hidden = part.id !== id
  const part = find(`#${id}`)
  for (const input of part.querySelectorAll('input')) input.value = ''
  find('input, h1', part).focus()
  return part
}

function say(message?: Pick<Message, 'title' | 'text' | 'language'>): void {
  const textContent = message ? `${message.title}. ${message.text}` : ''
  Object.assign(find('#alert'), { lang: message?.language ?? 'en', textContent })
}

/**
 * Runs an action of the user, and shows why it failed. Gatehouse takes a second click for the same
 * request.
 */
async function run(action: () => Promise<void>): Promise<void> {
  say()
  try {
    await action()
  } catch (error) {
    // the user chose another way
    if (error instanceof DOMException && error.name === 'AbortError') return
    if (!(error instanceof GatehouseError)) throw error
    const message = describeError(error)
    say(message)
    if (message.action === 'restart' || message.action === 'sign-in') await start()
  }
}

const take = (move: Move) => run(async () => next(await move()))
function onClick(button: HTMLElement, move: Move | undefined): void {
  button.hidden = !move
  button.onclick = () => move && take(move)
}

async function start(): Promise<void> {
  // until Gatehouse has answered: an error does not mean that the user is signed out
  show('unavailable')
  const session = await gatehouse.session()
  if (session && prompt !== 'login') return location.replace(target)
  show('password')
  if (session && denial) say(describeDenial(denial))
}

/** Shows what the step needs. */
async function next(step: SignInStep): Promise<void> {
  polling.abort()
  if (step.status === 'MFA_REQUIRED') chooseFactor(step)
  else if (step.status === 'MFA_CHALLENGE' && step.factor?.factorType === 'push') await waitForPush(step)
  else if (step.status === 'MFA_CHALLENGE' && step.next === 'verify') enterCode(step.verify, step)
  else if (step.status === 'SUCCESS') location.replace(step.redirectUrl ?? target)
  else {
    show('password')
    say({
      title: 'Not possible',
      text: `This page cannot continue the sign-in (${step.status}).`,
      language: 'en',
    })
    await step.cancel()
  }
}

/** The demo of Gatehouse has an example of every other factor. */
function chooseFactor(step: MfaRequired): void {
  for (const button of show('factors').querySelectorAll('button')) {
    const factor = step.factors.find(({ factorType }) => factorType === button.dataset.factor)
    onClick(button, factor && (() => step.verify(factor)))
    if (factor?.factorType === 'token:software:totp')
      button.onclick = () => enterCode((proof) => step.verify(factor, proof), { previous: async () => step })
  }
}

function enterCode(verify: (proof: { passCode: string }) => Promise<SignInStep>, moves: Moves): void {
  const form = show('code')
  form.onsubmit = (event) => {
    event.preventDefault()
    void take(() => verify({ passCode: find<HTMLInputElement>('input', form).value }))
  }
  onClick(find('.resend', form), moves.resend)
  onClick(find('.back', form), moves.previous)
}

async function waitForPush(step: MfaChallenge): Promise<void> {
  const part = show('push')
  const status = find('[role=status]', part)
  onClick(find('.resend', part), step.next === 'verify' ? () => step.verify() : step.resend)
  onClick(find('.back', part), step.previous)
  status.textContent = step.result === 'WAITING' ? '' : describeResult(step.result ?? 'ERROR').text
  if (step.next !== 'poll') return
  polling = new AbortController()
  let polled: SignInStep = step
  tellNumber(status, polled)
  for await (polled of step.poll({ signal: polling.signal })) tellNumber(status, polled)
  await next(polled)
}

function tellNumber(status: HTMLElement, step: SignInStep): void {
  const number = 'correctAnswer' in step ? step.correctAnswer : undefined
  const text = number === undefined ? 'Approve the request.' : `Choose ${number} on your phone.`
  if (status.textContent !== text) status.textContent = text // a change is read aloud
}

find('#password').onsubmit = (event) => {
  event.preventDefault()
  const value = (name: string) => find<HTMLInputElement>(`[name=${name}]`).value
  void take(() => gatehouse.signIn({ username: value('username'), password: value('password') }))
}
await run(start)
