import type { OwnSession } from '/demo/client/index.js'
import { gatehouse } from '../gatehouse.js'
import { actions, type Child, element, fill, fillText, paragraph } from '../parts/elements.js'
import { button } from '../parts/form.js'
import { texts, timeOf } from '../parts/language.js'

const words = texts.sessions

/** The user's own sessions. An ended one stops working at once on every replica. The list is loaded again after each change. */
export async function createSessionList(): Promise<Child[]> {
  const place = element('div', { tabindex: '-1' })
  await show()
  return [place]

  async function show(): Promise<void> {
    const sessions = await gatehouse.ownSessions()
    const n = sessions.filter(({ current }) => !current).length
    const all = button(fill(words.endAll, { n }), () => change(gatehouse.endOtherSessions()))
    place.replaceChildren(
      element('ul', { class: 'sessions' }, ...sessions.map(viewOf)),
      n > 0 ? actions(all) : paragraph(words.none),
    )
  }

  async function change(ended: Promise<void>): Promise<void> {
    await ended
    await show()
    place.focus() // the pressed button no longer exists
  }

  function viewOf({ id, userAgent, current, lastSeenAt: at }: OwnSession): HTMLLIElement {
    const name = browserOf(userAgent)
    const time = element('time', { datetime: at }, timeOf(at))
    const title = element('strong', {}, element('bdi', {}, name), current && ` ${words.current}`)
    const used = element('span', { class: 'soft' }, ...fill(words.used, { time }))
    const ending = button(words.end, () => change(gatehouse.endSession(id)))
    ending.ariaLabel = fillText(words.endOne, { name, time: timeOf(at) })
    return element('li', {}, element('span', {}, title, ' ', used), !current && ending)
  }
}

/** A short name by which users recognize their own sessions. */
function browserOf(userAgent: string): string {
  const system = /Android|iPhone|iPad|Windows|Mac OS X|Linux/.exec(userAgent)?.[0] ?? texts.unknownSystem
  const browser = /Edg|Firefox|Chrome|Safari/.exec(userAgent)?.[0] ?? texts.unknownBrowser
  const values = { browser: browser.replace('Edg', 'Edge'), system: system.replace('Mac OS X', 'macOS') }
  return fillText(texts.browserOnSystem, values)
}
