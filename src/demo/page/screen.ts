import { BrokerTrouble } from './broker.js'
import { byId, type Child, element } from './elements.js'
import { adviceFor, type Remedy } from './errors.js'

/** One screen at a time stands in the page's `main`. What goes wrong on it is said under its title, as an alert. */
export interface Screen {
  /** False once another screen has taken its place: a poll stops then. */
  isShown(): boolean
}

/** The cursor goes to the first empty field of the screen's own form, else to its button, else to the title. */
export function show(title: string, ...content: readonly Child[]): Screen {
  const heading = element('h2', { id: 'portal-title', tabindex: '-1' }, title)
  const trouble = element('div', { id: 'trouble', class: 'trouble', role: 'alert' })
  const screen = element('div', { class: 'screen' }, heading, trouble, ...content)
  document.title = `${title} · Gatehouse demo`
  byId('portal').replaceChildren(screen)
  const form = screen.querySelector<HTMLFormElement>(':scope > form')
  const fields = fieldsOf(form)
  const goOn = fields.length === 0 ? null : form?.querySelector<HTMLElement>('button[type="submit"]')
  const next = fields.find(({ value }) => value === '') ?? goOn ?? heading
  next.focus()
  return { isShown: () => screen.isConnected }
}

/** Says it under the title of the screen that is shown; an empty text takes back what was said. */
export function say(text: string, causes: readonly string[] = [], tone: 'bad' | 'good' = 'bad'): void {
  const trouble = byId('trouble')
  trouble.className = tone === 'bad' ? 'trouble' : 'trouble good'
  trouble.replaceChildren(
    ...(text === '' ? [] : [element('p', {}, text)]),
    ...(causes.length === 0 ? [] : [element('ul', {}, ...causes.map((cause) => element('li', {}, cause)))]),
  )
}

type RemedyHandler = (remedy: Remedy, notice: string) => void
let applyRemedy: RemedyHandler = () => {}

/** What the page does when a screen cannot go on: main.ts says it once. */
export function onRemedy(handler: RemedyHandler): void {
  applyRemedy = handler
}

/** Shows what an error means, on the screen that is shown or by another one. */
export function report(error: unknown, trigger?: HTMLButtonElement): void {
  const { text, causes, remedy, waitSeconds } = adviceFor(error)
  if (remedy !== undefined) {
    applyRemedy(remedy, text)
    return
  }
  const form = trigger?.form ?? null
  say(
    text,
    causes.map((cause) => inWords(cause, form)),
  )
  if (trigger === undefined) return
  if (waitSeconds !== undefined) countDown(trigger, waitSeconds)
  else if (trigger.type === 'submit' && isAboutInput(error)) pointAt(form, causes)
}

/**
 * Does what a button is for. It is busy meanwhile but keeps the focus: a `disabled` one would lose it, and with it
 * the place of whoever uses a keyboard.
 */
export async function attempt(trigger: HTMLButtonElement, work: () => Promise<void> | void): Promise<void> {
  if (trigger.ariaDisabled === 'true') return
  say('')
  trigger.ariaDisabled = 'true'
  try {
    await work()
    trigger.ariaDisabled = null
  } catch (error) {
    trigger.ariaDisabled = null
    if (trigger.isConnected) report(error, trigger) // else somebody has gone on to another screen
  }
}

/** The button says how long it is still to wait. */
function countDown(trigger: HTMLButtonElement, seconds: number): void {
  const label = trigger.textContent
  const endsAt = Date.now() + seconds * 1000
  trigger.ariaDisabled = 'true'
  const tick = () => {
    const left = Math.ceil((endsAt - Date.now()) / 1000)
    if (left > 0) {
      trigger.textContent = `${label} (in ${left} s)`
      setTimeout(tick, 500)
      return
    }
    trigger.textContent = label
    trigger.ariaDisabled = null
    if (trigger.isConnected) say('')
  }
  tick()
}

function isAboutInput(error: unknown): boolean {
  return error instanceof BrokerTrouble && error.status >= 400 && error.status < 500
}

/** The cursor goes to the field that is named in a cause, else to the last one. */
function pointAt(form: HTMLFormElement | null, causes: readonly string[]): void {
  const named = causes.map((cause) => fieldIn(cause, form)).find((field) => field !== undefined)
  const field = named ?? fieldsOf(form).at(-1)
  if (field === undefined) return
  field.setAttribute('aria-invalid', 'true')
  field.setAttribute('aria-describedby', 'trouble')
  field.addEventListener('input', () => field.removeAttribute('aria-invalid'), { once: true })
  field.focus()
  if (field instanceof HTMLInputElement) field.select()
}

const NAMED = /^(?:[\w]+\.)*(\w+): (.+)$/s

/** "oldPassword: …" and "profile.phoneNumber: …" name a field of the request: people know it by its label. */
function inWords(cause: string, form: HTMLFormElement | null): string {
  const label = fieldIn(cause, form)?.labels?.[0]?.textContent
  return label ? `${label}: ${NAMED.exec(cause)?.[2]}` : cause
}

function fieldIn(cause: string, form: HTMLFormElement | null): HTMLInputElement | undefined {
  const name = NAMED.exec(cause)?.[1]
  return fieldsOf(form).find((field) => field.name === name)
}

function fieldsOf(form: HTMLFormElement | null): HTMLInputElement[] {
  return [...(form?.querySelectorAll<HTMLInputElement>('input:not([type="checkbox"]), select') ?? [])]
}
