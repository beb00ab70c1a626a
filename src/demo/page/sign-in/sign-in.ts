import { describeResult } from '/demo/client/messages/index.js'
import { actions, element } from '../parts/elements.js'
import { button, form, type Values } from '../parts/form.js'
import { language, texts } from '../parts/language.js'
import { restart, show, showError, showMessage } from '../parts/screen.js'
import { setHandle } from './handle.js'
import { forgetUserName, keepUserName, type Move, type Next, type Screen } from './screens.js'
import { screenOf, startScreen } from './steps.js'

/** The values of `factorResult` that are no failure. */
const IN_PROGRESS = new Set(['WAITING', 'CHALLENGE'])

/**
 * Shows what follows a move: the first screen, a screen, or the screen of a step (steps.ts, factors.ts). After SUCCESS the
 * event `restart` shows the session.
 */
export async function showNext(next: Next): Promise<void> {
  if (next === undefined) {
    setHandle(undefined)
    return showScreen(startScreen())
  }
  if (!('status' in next)) return showScreen(next)
  setHandle(next.stateToken)
  if (next.status !== 'SUCCESS') return showNext(await screenOf(next))
  setHandle(undefined)
  if (next.redirectUrl !== undefined) return location.assign(next.redirectUrl)
  if (next.unlocked) {
    await showNext(undefined)
    return showMessage(texts.accountUnlocked, 'good')
  }
  forgetUserName()
  restart()
}

function showScreen({ title, content = [], main, others = [], ways = [], result, wait }: Screen): void {
  const more = ways.map(offer)
  const signal = show(
    title,
    ...content,
    main && form(main.fields ?? [], main.label, (values) => take(main, values), more),
    element('div', { class: 'actions others' }, ...others.map(offer)),
    !main && actions(...more),
  )
  if (result !== undefined && !IN_PROGRESS.has(result)) showMessage(describeResult(result, language).text)
  wait?.(signal)
    .then(showNext)
    .catch((error) => (signal.aborted ? undefined : showError(error)))
}

function offer(move: Move): HTMLElement {
  const { label, fields } = move
  if (!fields) return button(label, () => take(move, {}))
  const send = form(fields, texts.send, (values) => take(move, values))
  return element('details', {}, element('summary', {}, ...[label].flat()), send)
}

async function take({ go, notice }: Move, values: Values): Promise<void> {
  keepUserName()
  await showNext(await go(values))
  if (notice) showMessage(notice, 'good')
}
