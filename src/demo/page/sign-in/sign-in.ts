import type { Trouble } from '../parts/call.js'
import { actions, type Child, element } from '../parts/elements.js'
import { button, form, type Values } from '../parts/form.js'
import { pause, report, say, show } from '../parts/screen.js'
import { WORDS } from '../parts/words.js'
import type { Action } from './step.js'
import { START, stepOf } from './steps.js'
import { factorsOf, follow, linkOf, linksOf, type Transaction } from './transaction.js'
import { forgetUserName, keepUserName } from './user-name.js'

/**
 * The whole sign-in, as the answers lead it: an answer becomes a step (steps.ts, factors.ts), the step a screen, and
 * what is done there follows a link, to the next answer. At its end is the event `restart`: who is signed in now?
 */
export async function go(answer: Transaction): Promise<void> {
  if (answer.status === undefined) return go(START)
  if (answer.status === 'SUCCESS') return succeed(answer)
  const { title, says = [], main, others = [], poll: link, first } = await stepOf(answer)
  if (main?.label === '') return take(answer, main)
  const formOf = (action: Action, label: string, more: Child[] = []) =>
    form(action.fields ?? [], label, (values) => take(answer, action, values), more)
  const offer = (action: Action) =>
    action.fields
      ? element('details', {}, element('summary', {}, action.label), formOf(action, 'Send'))
      : button(action.label, () => take(answer, action))
  const ways = waysOut(answer, main).map(offer)
  const screen = show(
    title,
    ...says.map((said) => (typeof said === 'string' ? element('p', {}, said) : said)),
    link && !first && element('p', { class: 'waiting' }, 'Waiting for your phone'),
    main && formOf(main, main.label, ways),
    element('div', { class: 'actions others' }, ...others.map(offer)),
    !main && actions(...ways),
  )
  say(WORDS[answer.factorResult ?? ''] ?? '')
  if (!link) return
  const polls = poll(screen, () => follow(answer, link), first?.())
  polls.catch((error) => (screen.isConnected ? report(error) : undefined))
}

async function take(answer: Transaction, action: Action, values: Values = {}): Promise<void> {
  const { link, sends, notice } = action
  if (link === undefined) return
  keepUserName()
  await go(await follow(answer, link, sends ? await sends(values) : values))
  if (notice) say(notice, 'good')
}

const WAYS = { resend: 'Send it again', skip: 'Skip', prev: 'Back', cancel: 'Cancel' }

/** The links that lead away from a screen, as far as the answer has them. */
function waysOut(answer: Transaction, main: Action | undefined): Action[] {
  const { factorType, provider } = factorsOf(answer)[0] ?? {}
  const resend = { sends: () => ({ factorType, provider }), notice: 'It is on its way.' }
  const ways = Object.entries(WAYS).flatMap(([relation, label]) => {
    const links = linksOf(answer, relation).filter((link) => link !== main?.link)
    return links.map((link) => ({ label, link, ...(relation === 'resend' && resend) }))
  })
  const isAlone = answer !== START && linkOf(answer, 'cancel') === undefined
  return isAlone ? [...ways, { label: 'Back to sign-in', link: { answer: START } }] : ways
}

/** The end: a redirect to the app that began it, an account that is unlocked, or a session. */
async function succeed(answer: Transaction): Promise<void> {
  const app = linkOf(answer, 'next')?.href
  if (app !== undefined) return location.assign(app)
  if (answer.recoveryType !== 'UNLOCK') {
    forgetUserName()
    return void dispatchEvent(new CustomEvent('restart'))
  }
  await go(START)
  say('Your account is unlocked. You can sign in again.', 'good')
}

const EVERY_MS = 2000
/** After a 429 or a lost connection; then it is an error. */
const BACK_OFF_MS = [1000, 2000, 4000, 8000, 16_000]

/** Asks again until the answer is another than "waiting", or the screen is gone. @param first before it asks at all */
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
      if (asked.value.factorResult !== 'WAITING') return go(asked.value)
      if (failures > 0) say('')
      failures = 0
    } else {
      const { message, status }: Partial<Trouble> = asked.reason
      const isPassing = status === 0 || status === 429
      if (!isPassing || failures === BACK_OFF_MS.length) throw asked.reason
      failures += 1
      say(message ?? '')
    }
  }
}
