import { call } from '../parts/call.js'
import { actions, element, text } from '../parts/elements.js'
import { adviceFor, RESULTS } from '../parts/errors.js'
import { button, form, type Values } from '../parts/form.js'
import { report, say, show } from '../parts/screen.js'
import { poll } from './poll.js'
import { type Action, type Choice, type Step, unknownStep } from './step.js'
import { OPTIONS, START, startStep, stepOf } from './steps.js'
import { factorsOf, follow, type Link, linkOf, linksOf, type Transaction } from './transaction.js'

export type SignIn = ReturnType<typeof createSignIn>

/**
 * The whole sign-in, as the answers lead it: an answer becomes a step (steps.ts, factors.ts), the step a screen, and
 * what is done there follows a link, to the next answer.
 * @param done somebody is signed in now
 */
export function createSignIn(done: () => Promise<void>) {
  async function go(transaction: Transaction): Promise<void> {
    if (transaction.status === 'SUCCESS') return succeed(transaction)
    return open(transaction, await stepOf(transaction))
  }

  async function open(transaction: Transaction, step: Step, isChosen = false): Promise<void> {
    if (step.main?.label === '') return take(transaction, step.main)
    render(transaction, step, isChosen)
  }

  async function take(transaction: Transaction, action: Action, values: Values = {}): Promise<void> {
    const { link, sends, notice } = action
    if (link === undefined) return render(transaction, unknownStep(transaction))
    const more = typeof sends === 'function' ? await sends() : sends
    await go(await follow(transaction, link, { ...more, ...values }))
    if (notice !== undefined) say(notice, [], 'good')
  }

  function render(transaction: Transaction, wanted: Step, isChosen = false): void {
    const step = wanted.main && !wanted.main.link ? unknownStep(transaction) : wanted
    const { title, says = [], main, choices = [], also = [] } = step
    const ways = waysOut(transaction, step, isChosen)
    const content = [
      ...says.map((said) => (typeof said === 'string' ? text(said) : said)),
      main && formOf(transaction, main, main.label, ways),
      choices.length > 0 && actions(...choices.map((choice) => choiceButton(transaction, step, choice))),
      ...also.map((action) => alsoElement(transaction, action)),
      !main && actions(...ways),
    ]
    const isShown = show(title, ...content)
    say(RESULTS[transaction.factorResult ?? '']?.text ?? '')
    if (step.poll !== undefined) wait(transaction, step.poll, isShown).catch(report)
  }

  function formOf(transaction: Transaction, action: Action, label: string, others: HTMLElement[] = []) {
    return form(action.fields ?? [], label, (values) => take(transaction, action, values), others)
  }

  function choiceButton(transaction: Transaction, { main }: Step, choice: Choice): HTMLElement {
    const choose = async () => open(transaction, await choice.open(), true)
    return button(choice.label, choose, main ? 'link' : 'quiet choice')
  }

  function alsoElement(transaction: Transaction, action: Action): HTMLElement {
    const { label, fields = [] } = action
    if (fields.length === 0) return actions(button(label, () => take(transaction, action), 'link'))
    return element('details', {}, element('summary', {}, label), formOf(transaction, action, 'Send'))
  }

  /** Buttons for the links that lead away from a screen, as far as the answer has them. */
  function waysOut(transaction: Transaction, { main, skip = 'Not now' }: Step, isChosen: boolean) {
    if (transaction === START && !isChosen) return []
    if (transaction.stateToken === undefined) return [button('Back to sign-in', () => begin())]
    const [{ factorType, provider } = {}] = factorsOf(transaction)
    const resend = { sends: { factorType, provider }, notice: 'It is on its way.' }
    const follows = (relation: string, label: string, more: Partial<Action> = {}) =>
      linksOf(transaction, relation)
        .filter((link) => link !== main?.link)
        .map((link) => button(label, () => take(transaction, { label, link, ...more })))
    const back = 'Choose another way'
    return [
      ...follows('resend', 'Send it again', resend),
      ...follows('skip', skip),
      ...(isChosen ? [button(back, () => go(transaction))] : follows('prev', back)),
      button('Cancel', () => cancel(transaction)),
    ]
  }

  /** Cancelling what is over already is fine too. */
  async function cancel(transaction: Transaction): Promise<void> {
    const link = linkOf(transaction, 'cancel')
    if (link !== undefined) await follow(transaction, link).catch(() => undefined)
    begin()
  }

  async function wait(transaction: Transaction, link: Link, isShown: () => boolean): Promise<void> {
    const answer = await poll(
      isShown,
      () => follow(transaction, link, { rememberDevice: transaction.remember }),
      ({ status, factorResult }) => status === transaction.status && factorResult === 'WAITING',
      (error) => say(error === undefined ? '' : adviceFor(error).text),
    )
    if (answer !== undefined) await go(answer)
  }

  /** The end: a redirect to the app that began it, an account that is unlocked, or a session. */
  async function succeed(transaction: Transaction): Promise<void> {
    const next = linkOf(transaction, 'next')
    if (next !== undefined) return location.assign(next.href)
    if (transaction.recoveryType !== 'UNLOCK') return done()
    begin()
    say('Your account is unlocked. You can sign in again.', [], 'good')
  }

  function begin(filledIn?: { readonly username: string; readonly password: string }): void {
    render(START, startStep(filledIn))
  }

  const start = async (path: string, body: object) => go(await call('POST', path, { body }))
  return {
    /** The first screen. */
    begin,
    /** From a mail: sets an account up. */
    activate: (token: string) => start('/api/v1/authn', { token, options: OPTIONS }),
    /** From a mail: a forgotten password, or an account to unlock. */
    recover: (recoveryToken: string) => start('/api/v1/authn/recovery/token', { recoveryToken }),
    /** Goes on with a transaction that began elsewhere: a step-up for an app. */
    resume: (stateToken: string) => start('/api/v1/authn', { stateToken }),
  }
}
