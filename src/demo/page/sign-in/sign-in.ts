import type { RequestError } from '../parts/call.js'
import { actions, type Child, element } from '../parts/elements.js'
import { button, form, type Values } from '../parts/form.js'
import { MESSAGES } from '../parts/messages.js'
import { pause, show, showError, showMessage } from '../parts/screen.js'
import type { Action } from './step.js'
import { START, stepOf } from './steps.js'
import { factorsOf, followLink, linkOf, linksOf, type Transaction } from './transaction.js'
import { forgetUserName, keepUserName } from './user-name.js'

/**
 * Shows the screen for an answer of the sign-in API: the answer becomes a step (steps.ts, factors.ts), the step a screen, and each
 * action of the screen follows a link to the next answer. After SUCCESS the event `restart` shows the session.
 */
export async function showAnswer(answer: Transaction): Promise<void> {
  if (answer.status === undefined) return showAnswer(START)
  if (answer.status === 'SUCCESS') return succeed(answer)
  const { title, content = [], main, others = [], poll: link, first } = await stepOf(answer)
  if (main?.label === '') return takeAction(answer, main)
  const formOf = (action: Action, label: string, more: Child[] = []) =>
    form(action.fields ?? [], label, (values) => takeAction(answer, action, values), more)
  const offer = (action: Action) =>
    action.fields
      ? element('details', {}, element('summary', {}, action.label), formOf(action, 'Send'))
      : button(action.label, () => takeAction(answer, action))
  const ways = otherLinks(answer, main).map(offer)
  const screen = show(
    title,
    ...content.map((said) => (typeof said === 'string' ? element('p', {}, said) : said)),
    link && !first && element('p', { class: 'waiting' }, 'Waiting for your phone'),
    main && formOf(main, main.label, ways),
    element('div', { class: 'actions others' }, ...others.map(offer)),
    !main && actions(...ways),
  )
  showMessage(MESSAGES[answer.factorResult ?? ''] ?? '')
  if (!link) return
  const polls = poll(screen, () => followLink(answer, link), first?.())
  polls.catch((error) => (screen.isConnected ? showError(error) : undefined))
}

async function takeAction(answer: Transaction, action: Action, values: Values = {}): Promise<void> {
  const { link, sends, notice } = action
  if (link === undefined) return
  keepUserName()
  await showAnswer(await followLink(answer, link, sends ? await sends(values) : values))
  if (notice) showMessage(notice, 'good')
}

const LINK_LABELS = { resend: 'Send it again', skip: 'Skip', prev: 'Back', cancel: 'Cancel' }

/** The answer's further links: resend, skip, previous, cancel. */
function otherLinks(answer: Transaction, main: Action | undefined): Action[] {
  const { factorType, provider } = factorsOf(answer)[0] ?? {}
  const resend = { sends: () => ({ factorType, provider }), notice: 'We have sent it again.' }
  const ways = Object.entries(LINK_LABELS).flatMap(([relation, label]) => {
    const links = linksOf(answer, relation).filter((link) => link !== main?.link)
    return links.map((link) => ({ label, link, ...(relation === 'resend' && resend) }))
  })
  const hasNoCancel = answer !== START && linkOf(answer, 'cancel') === undefined
  return hasNoCancel ? [...ways, { label: 'Back to sign-in', link: { answer: START } }] : ways
}

/** SUCCESS leads to the app that started the sign-in, to an unlocked account, or to a session. */
async function succeed(answer: Transaction): Promise<void> {
  const app = linkOf(answer, 'next')?.href
  if (app !== undefined) return location.assign(app)
  if (answer.recoveryType !== 'UNLOCK') {
    forgetUserName()
    return void dispatchEvent(new CustomEvent('restart'))
  }
  await showAnswer(START)
  showMessage('Your account is unlocked. You can sign in again.', 'good')
}

const EVERY_MS = 2000
/** Delays after a 429 or a lost connection. After the last one, the error is shown. */
const BACK_OFF_MS = [1000, 2000, 4000, 8000, 16_000]

/** Polls until `factorResult` is no longer WAITING or another screen is shown. @param first resolves before the first poll */
export async function poll(
  screen: Node,
  ask: () => Promise<Transaction>,
  first = pause(EVERY_MS),
): Promise<void> {
  for (let failures = 0, wait = first; ; wait = pause(BACK_OFF_MS[failures - 1] ?? EVERY_MS)) {
    await wait
    if (!screen.isConnected) return
    const [asked] = await Promise.allSettled([ask()])
    if (!screen.isConnected) return
    if (asked.status === 'fulfilled') {
      if (asked.value.factorResult !== 'WAITING') return showAnswer(asked.value)
      if (failures > 0) showMessage('')
      failures = 0
    } else {
      const { message, status }: Partial<RequestError> = asked.reason
      const isPassing = status === 0 || status === 429
      if (!isPassing || failures === BACK_OFF_MS.length) throw asked.reason
      failures += 1
      showMessage(message ?? '')
    }
  }
}
