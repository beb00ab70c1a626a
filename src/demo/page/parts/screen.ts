import type { Trouble } from './call.js'
import { durationOf } from './duration.js'
import { byId, type Child, element } from './elements.js'

/**
 * One screen at a time stands in the page's `main`; what goes wrong on it is said under its title, as an alert. The
 * cursor goes to the first empty field of its form, else to its button, else to the title.
 * @returns what is in the page for as long as it is shown
 */
export function show(title: string, ...content: readonly Child[]): HTMLElement {
  const heading = element('h2', { id: 'portal-title', tabindex: '-1' }, title)
  const trouble = element('div', { id: 'trouble', class: 'trouble', role: 'alert' })
  const screen = element('div', {}, heading, trouble, ...content)
  document.title = `${title} · Gatehouse demo`
  byId('portal').replaceChildren(screen)
  const next = screen.querySelector<HTMLElement>(':scope > form :is(:invalid, [type="submit"])') ?? heading
  next.focus()
  return screen
}

/** Says it under the title of the screen that is shown; an empty text takes back what was said. */
export function say(words: string, tone: 'bad' | 'good' = 'bad'): void {
  byId('trouble').className = `trouble ${tone}`
  byId('trouble').textContent = words
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
  } catch (error) {
    if (trigger.isConnected) await report(error, trigger) // else somebody has gone on to another screen
  }
  trigger.ariaDisabled = null
}

/** Says what is wrong: on the screen that is shown, or, by the event `restart`, on the one to start again with. */
export async function report(error: unknown, trigger?: HTMLButtonElement): Promise<void> {
  const trouble: Partial<Trouble> = error instanceof Error ? error : {}
  const { message = '', status = 0, causes = [], isOver, waitSeconds } = trouble
  if (isOver) return void dispatchEvent(new CustomEvent('restart', { detail: message }))
  const isRefused = status >= 400 && status < 500 && !waitSeconds && trigger?.type === 'submit'
  say([message, ...(isRefused ? pointAt(trigger, causes) : causes)].join('\n'))
  if (trigger && waitSeconds) await countDown(trigger, waitSeconds)
}

/** The button shows the time that is left. */
async function countDown(trigger: HTMLButtonElement, seconds: number): Promise<void> {
  const label = trigger.textContent
  const endsAt = Date.now() + seconds * 1000
  for (let left = seconds; left > 0; left = Math.ceil((endsAt - Date.now()) / 1000)) {
    trigger.textContent = `${label} (in ${durationOf(left, 'short')})`
    await pause(500)
  }
  trigger.textContent = label
  if (trigger.isConnected) say('')
}

/**
 * The cursor goes to the field that a cause names ("oldPassword: …", "profile.phoneNumber: …"), else to the last one.
 * @returns the causes with the label in the place of that name
 */
function pointAt({ form }: HTMLButtonElement, causes: readonly string[]): string[] {
  const fields = [...(form?.querySelectorAll<HTMLInputElement>('[required]') ?? [])]
  let field = fields.at(-1)
  const words = causes.map((cause) => {
    const [path = '', sentence] = cause.split(/: (.*)/s)
    const named = fields.find(({ name }) => name === path.split('.').at(-1))
    field = named ?? field
    return named ? `${named.labels?.[0]?.firstChild?.textContent}: ${sentence}` : cause
  })
  field?.setAttribute('aria-invalid', 'true')
  field?.addEventListener('input', () => field?.removeAttribute('aria-invalid'), { once: true })
  field?.focus()
  field?.select?.()
  return words
}

export function pause(ms: number): Promise<void> {
  return new Promise((resume) => setTimeout(resume, ms))
}
