import {
  allowedReturnTo,
  createGatehouse,
  createSignInController,
  readDenial,
  type Session,
  type SignInState,
} from 'gatehouse-client'
import * as messages from 'gatehouse-client/messages'

const gatehouse = createGatehouse()
const signIn = createSignInController(gatehouse, { messages })
const query = new URLSearchParams(location.search)
/** Gatehouse itself leads to an application on another host. */
const target = query.has('handover')
  ? `/signin${location.search}${location.hash}`
  : allowedReturnTo(query.get('returnTo'))

function find<Found extends HTMLElement>(selector: string, root: ParentNode = document): Found {
  const found = root.querySelector<Found>(selector)
  if (!found) throw new Error(`The page has no ${selector}`)
  return found
}

/** The part of the page for a state. */
function partOf({ view, step, factor }: SignInState): string {
  if (view === 'signed-in') return target ? 'unavailable' : 'portal'
  if (view !== 'sign-in') return 'unavailable'
  if (!step) return 'password'
  if (step.status === 'MFA_REQUIRED') return factor ? 'code' : 'factors'
  if (step.status !== 'MFA_CHALLENGE') return 'other'
  if (factor?.factorType === 'push') return 'push'
  return step.next === 'verify' ? 'code' : 'other'
}

let entered: Session | undefined

/** Shows a state. The page changes nothing else. */
function render(state: SignInState): void {
  show(partOf(state))
  say(state.message)
  const { step, offers } = state
  for (const button of document.querySelectorAll<HTMLElement>('.resend')) button.hidden = !offers.resend
  for (const button of document.querySelectorAll<HTMLElement>('.back')) button.hidden = !offers.previous
  for (const button of document.querySelectorAll<HTMLElement>('[data-factor]'))
    button.hidden = !factorOf(button)
  setText('#status', step?.status ?? '')
  setText('#push [role=status]', instructionOf(state))
  const session = state.view === 'signed-in' ? state.session : undefined
  if (session?.id === entered?.id) return
  entered = session
  find('#groups').replaceChildren() // the page keeps nothing of a session
  setText('#login', session ? `Signed in as ${session.login}` : '')
  if (session) void (target ? location.replace(target) : showGroups())
}

let shown: string | undefined

/** Shows one part of the page, and moves the focus to it. */
function show(id: string): void {
  if (id === shown) return
  shown = id
  for (const part of document.querySelectorAll<HTMLElement>('.part')) part.hidden = part.id !== id
  const part = find(`#${id}`)
  for (const input of part.querySelectorAll('input')) input.value = ''
  find('input, h1', part).focus()
}

/** A change of a status is read aloud. */
function setText(selector: string, text: string): void {
  const element = find(selector)
  if (element.textContent !== text) element.textContent = text
}

function say(message?: messages.Message): void {
  find('#alert').lang = message?.language ?? 'en'
  setText('#alert', message ? `${message.title}. ${message.text}` : '')
}

function factorOf(button: HTMLElement) {
  const { step } = signIn.getState()
  const factors = step?.status === 'MFA_REQUIRED' ? step.factors : []
  return factors.find(({ factorType }) => factorType === button.dataset.factor)
}

function instructionOf({ step, message }: SignInState): string {
  if (message || step?.status !== 'MFA_CHALLENGE' || step.next !== 'poll') return ''
  return step.correctAnswer === undefined
    ? 'Approve the request.'
    : `Choose ${step.correctAnswer} on your phone.`
}

async function showGroups(): Promise<void> {
  try {
    const { groups } = await gatehouse.groups()
    for (const { name } of groups)
      find('#groups').appendChild(document.createElement('li')).textContent = name
  } catch (error) {
    say(messages.describeError(error))
  }
}

function onClick(selector: string, action: (button: HTMLElement) => unknown): void {
  for (const button of document.querySelectorAll<HTMLElement>(selector)) button.onclick = () => action(button)
}

function onSubmit(selector: string, action: (value: (name: string) => string) => Promise<void>): void {
  const form = find<HTMLFormElement>(selector)
  form.onsubmit = (event) => {
    event.preventDefault()
    void action((name) => find<HTMLInputElement>(`[name=${name}]`, form).value)
  }
}

onSubmit('#password', (value) => signIn.signIn({ username: value('username'), password: value('password') }))
onSubmit('#code', (value) => signIn.verify({ passCode: value('passCode') }))
onClick('[data-factor]', (button) => {
  const factor = factorOf(button)
  return factor && signIn.choose(factor)
})
onClick('.resend', signIn.resend)
onClick('.back', signIn.previous)
onClick('.cancel', signIn.cancel)
onClick('#sign-out', signIn.signOut)
signIn.subscribe(render)
await signIn.start({ prompt: query.get('prompt'), denial: readDenial() })
