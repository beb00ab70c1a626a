import type { RequestError } from './call.js'
import { durationOf } from './duration.js'
import { byId, type Child, element } from './elements.js'

/**
 * Replaces the screen in the page's `main`. Errors appear below its title, as an alert. The focus moves to the first empty
 * field of the form, else to its submit button, else to the title.
 * @returns the screen's element: it is connected for as long as the screen is shown
 */
export function show(title: string, ...content: readonly Child[]): HTMLElement {
  const heading = element('h2', { id: 'portal-title', tabindex: '-1' }, title)
  const error = element('div', { id: 'error', class: 'error', role: 'alert' })
  const screen = element('div', {}, heading, error, ...content)
  document.title = `${title} · Gatehouse demo`
  byId('portal').replaceChildren(screen)
  const next = screen.querySelector<HTMLElement>(':scope > form :is(:invalid, [type="submit"])') ?? heading
  next.focus()
  return screen
}

/** Shows a message below the title of the current screen. An empty text removes it. */
export function showMessage(words: string, tone: 'bad' | 'good' = 'bad'): void {
  byId('error').className = `error ${tone}`
  byId('error').textContent = words
}

/**
 * Runs the action of a button and shows its errors. Meanwhile the button is `aria-disabled`, not `disabled`: a disabled button
 * loses the focus, and keyboard users would lose their position.
 */
export async function runAction(trigger: HTMLButtonElement, work: () => Promise<void> | void): Promise<void> {
  if (trigger.ariaDisabled === 'true') return
  showMessage('')
  trigger.ariaDisabled = 'true'
  try {
    await work()
  } catch (error) {
    if (trigger.isConnected) await showError(error, trigger) // otherwise another screen is shown by now
  }
  trigger.ariaDisabled = null
}

/** Shows an error on the current screen. If the transaction is over, the event `restart` shows it on the first screen. */
export async function showError(error: unknown, trigger?: HTMLButtonElement): Promise<void> {
  const details: Partial<RequestError> = error instanceof Error ? error : {}
  const { message = '', status = 0, causes = [], isOver, waitSeconds } = details
  if (isOver) return void dispatchEvent(new CustomEvent('restart', { detail: message }))
  const isRefused = status >= 400 && status < 500 && !waitSeconds && trigger?.type === 'submit'
  showMessage([message, ...(isRefused ? markFields(trigger, causes) : causes)].join('\n'))
  if (trigger && waitSeconds) await countDown(trigger, waitSeconds)
}

/** Shows the remaining time on the button. */
async function countDown(trigger: HTMLButtonElement, seconds: number): Promise<void> {
  const label = trigger.textContent
  const endsAt = Date.now() + seconds * 1000
  for (let left = seconds; left > 0; left = Math.ceil((endsAt - Date.now()) / 1000)) {
    trigger.textContent = `${label} (in ${durationOf(left, 'short')})`
    await pause(500)
  }
  trigger.textContent = label
  if (trigger.isConnected) showMessage('')
}

/**
 * Moves the focus to the field that a cause names ("oldPassword: …", "profile.phoneNumber: …"), else to the last one.
 * @returns the causes, with the field's label instead of its name
 */
function markFields({ form }: HTMLButtonElement, causes: readonly string[]): string[] {
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
