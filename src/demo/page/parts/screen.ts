import { GatehouseError } from '/demo/client/index.js'
import { type Action, describeError } from '/demo/client/messages/index.js'
import { byId, type Child, element, fillText, type Words } from './elements.js'
import { durationOf, language, texts } from './language.js'

let shown = new AbortController()

/**
 * Replaces the screen in the page's `main`. Errors appear below its title, as an alert. The focus moves to the first empty
 * field of the form, else to its submit button, else to the title.
 * @returns is aborted when another screen is shown
 */
export function show(title: Words, ...content: readonly Child[]): AbortSignal {
  shown.abort()
  shown = new AbortController()
  const heading = element('h2', { id: 'portal-title', tabindex: '-1' }, ...[title].flat())
  const error = element('div', { id: 'error', class: 'error', role: 'alert' })
  const screen = element('div', {}, heading, error, ...content)
  document.title = `${heading.textContent} · ${texts.demo}`
  byId('portal').replaceChildren(screen)
  const next = screen.querySelector<HTMLElement>(':scope > form :is(:invalid, [type="submit"])') ?? heading
  next.focus()
  return shown.signal
}

/** Shows a message below the title of the current screen. Without words it removes the message. */
export function showMessage(words: Words, tone: 'bad' | 'good' = 'bad'): void {
  byId('error').className = `error ${tone}`
  byId('error').replaceChildren(...element('div', {}, ...[words].flat()).childNodes)
}

/** Shows the first screen, or the session, with a message. */
export function restart(message: Words = ''): void {
  dispatchEvent(new CustomEvent('restart', { detail: message }))
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

/** Shows an error on the current screen. If the transaction is over, the first screen shows it. */
export async function showError(error: unknown, trigger?: HTMLButtonElement): Promise<void> {
  const { action, words, details } = wordsOf(error)
  if (action === 'sign-in' || action === 'reload') return // `onSessionEnd` tells the user
  if (action === 'restart' || action === 'sign-out') return restart(words)
  const { causes = [], retryAfterSeconds } = error instanceof GatehouseError ? error : {}
  const named = action === 'correct' && trigger?.type === 'submit' ? markFields(trigger, causes) : details
  const more = details.length > 0 ? named : []
  showMessage([...words, ...more.map((cause) => element('p', { dir: 'auto' }, cause))])
  if (trigger && retryAfterSeconds) await countDown(trigger, retryAfterSeconds)
}

/** An error of the page itself, with a message for the user. */
export class PageError extends Error {}

/** The message for an error of the broker, or the text of one of this page. */
export function wordsOf(error: unknown): {
  action: Action
  words: readonly Child[]
  details: readonly string[]
} {
  if (!(error instanceof GatehouseError)) {
    const words = [error instanceof PageError ? error.message : texts.cannotContinue]
    return { action: 'retry', words, details: [] }
  }
  const { title, text, action, details } = describeError(error, language)
  return { action, words: [element('strong', {}, title), ' ', text], details }
}

/** Shows the remaining time on the button. */
async function countDown(trigger: HTMLButtonElement, seconds: number): Promise<void> {
  const label = trigger.textContent
  const endsAt = Date.now() + seconds * 1000
  for (let left = seconds; left > 0; left = Math.ceil((endsAt - Date.now()) / 1000)) {
    trigger.textContent = fillText(texts.labelWithWait, { label, time: durationOf(left) })
    await new Promise((resume) => setTimeout(resume, 500))
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
