import { BrokerTrouble } from './call.js'
import { byId, type Child, element } from './elements.js'
import { adviceFor } from './errors.js'

/**
 * One screen at a time stands in the page's `main`; what goes wrong on it is said under its title, as an alert. The
 * cursor goes to the first empty field of its form, else to its button, else to the title.
 * @returns whether it is still shown
 */
export function show(title: string, ...content: readonly Child[]): () => boolean {
  const heading = element('h2', { id: 'portal-title', tabindex: '-1' }, title)
  const trouble = element('div', { id: 'trouble', class: 'trouble', role: 'alert' })
  const screen = element('div', { class: 'screen' }, heading, trouble, ...content)
  document.title = `${title} · Gatehouse demo`
  byId('portal').replaceChildren(screen)
  const form = screen.querySelector<HTMLFormElement>(':scope > form')
  const fields = fieldsOf(form)
  const submit = fields.length === 0 ? form?.querySelector<HTMLElement>('[type="submit"]') : undefined
  const next = fields.find(({ value }) => value === '') ?? submit ?? heading
  next.focus()
  return () => screen.isConnected
}

/** Says it under the title of the screen that is shown; an empty text takes back what was said. */
export function say(text: string, causes: readonly string[] = [], tone: 'bad' | 'good' = 'bad'): void {
  const trouble = byId('trouble')
  trouble.className = `trouble ${tone}`
  trouble.replaceChildren()
  if (text !== '') trouble.append(element('p', {}, text))
  if (causes.length > 0) trouble.append(element('ul', {}, ...causes.map((cause) => element('li', {}, cause))))
}

/** Shows what an error means: on the screen that is shown, or, by the event `over`, on the one to start again with. */
export function report(error: unknown, trigger?: HTMLButtonElement): void {
  const { text, isOver, showsCauses, waitSeconds } = adviceFor(error)
  if (isOver) {
    dispatchEvent(new CustomEvent('over', { detail: text }))
    return
  }
  const { status = 0, causes = [] } = error instanceof BrokerTrouble ? error : {}
  const isAboutInput =
    status >= 400 && status < 500 && waitSeconds === undefined && trigger?.type === 'submit'
  const words = isAboutInput ? pointAt(causes, fieldsOf(trigger.form)) : causes
  say(text, showsCauses ? words : [])
  if (trigger !== undefined && waitSeconds !== undefined) countDown(trigger, waitSeconds)
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
  const tick = () => {
    const left = Math.ceil((endsAt - Date.now()) / 1000)
    trigger.textContent = left > 0 ? `${label} (in ${left} s)` : label
    trigger.ariaDisabled = left > 0 ? 'true' : null
    if (left > 0) setTimeout(tick, 500)
    else if (trigger.isConnected) say('')
  }
  tick()
}

/**
 * The cursor goes to the field that a cause names ("oldPassword: …", "profile.phoneNumber: …"), else to the last one.
 * @returns the causes with the label in the place of that name
 */
function pointAt(causes: readonly string[], fields: readonly HTMLInputElement[]): string[] {
  const named = causes.map((cause) => {
    const [, name, sentence] = /^(?:\w+\.)*(\w+): (.+)$/s.exec(cause) ?? []
    const field = fields.find((one) => name !== undefined && one.name.split('.').at(-1) === name)
    return { field, words: field === undefined ? cause : `${field.labels?.[0]?.textContent}: ${sentence}` }
  })
  const field = named.find((one) => one.field !== undefined)?.field ?? fields.at(-1)
  field?.setAttribute('aria-invalid', 'true')
  field?.setAttribute('aria-describedby', 'trouble')
  field?.addEventListener('input', () => field.removeAttribute('aria-invalid'), { once: true })
  field?.focus()
  if (field instanceof HTMLInputElement) field.select()
  return named.map(({ words }) => words)
}

function fieldsOf(form: HTMLFormElement | null): HTMLInputElement[] {
  return [...(form?.querySelectorAll<HTMLInputElement>('input:not([type="checkbox"]), select') ?? [])]
}
