import { gatehouse } from '../gatehouse.js'
import { actions, type Child, element, fill, fillText, paragraph } from '../parts/elements.js'
import { button } from '../parts/form.js'
import { texts, timeOf } from '../parts/language.js'

interface Item {
  readonly id: string
  readonly name: string
  readonly current: boolean
  readonly at: string
  /** The session that shows this page has no button. */
  readonly canEnd: boolean
}

interface List {
  readonly words: Readonly<Record<'current' | 'used' | 'end' | 'endOne' | 'endAll' | 'none', string>>
  readonly load: () => Promise<readonly Item[]>
  readonly end: (id: string) => Promise<void>
  readonly endAll: () => Promise<void>
}

/** An ended session stops working at once on every replica of the broker. */
export const OWN_SESSIONS: List = {
  words: texts.sessions,
  async load() {
    const sessions = await gatehouse.ownSessions()
    return sessions.map(({ userAgent, lastSeenAt: at, id, current }) => {
      return { id, current, at, name: browserOf(userAgent), canEnd: !current }
    })
  },
  end: gatehouse.endSession,
  endAll: gatehouse.endOtherSessions,
}

/** After a device is forgotten, its next sign-in requires a factor again. */
export const OWN_DEVICES: List = {
  words: texts.devices,
  async load() {
    const devices = await gatehouse.devices()
    return devices.map(({ label: name, lastUsedAt: at, ...device }) => ({
      ...device,
      name,
      at,
      canEnd: true,
    }))
  },
  end: gatehouse.forgetDevice,
  endAll: gatehouse.forgetDevices,
}

/** The list is loaded again after each change. */
export async function createOwnList({ words, load, end, endAll }: List): Promise<Child[]> {
  const place = element('div', { tabindex: '-1' })
  await show()
  return [place]

  async function show(): Promise<void> {
    const items = await load()
    const n = items.filter(({ canEnd }) => canEnd).length
    const all = button(fill(words.endAll, { n }), () => change(endAll()))
    place.replaceChildren(
      element('ul', { class: 'sessions' }, ...items.map(viewOf)),
      n > 0 ? actions(all) : paragraph(words.none),
    )
  }

  async function change(ended: Promise<void>): Promise<void> {
    await ended
    await show()
    place.focus() // the pressed button no longer exists
  }

  function viewOf({ id, name, current, at, canEnd }: Item): HTMLLIElement {
    const time = element('time', { datetime: at }, timeOf(at))
    const title = element('strong', {}, element('bdi', {}, name), current && ` ${words.current}`)
    const used = element('span', { class: 'soft' }, ...fill(words.used, { time }))
    const ending = button(words.end, () => change(end(id)))
    ending.ariaLabel = fillText(words.endOne, { name, time: timeOf(at) })
    return element('li', {}, element('span', {}, title, ' ', used), canEnd && ending)
  }
}

/** A short name by which users recognize their own devices. */
function browserOf(userAgent: string): string {
  const system = /Android|iPhone|iPad|Windows|Mac OS X|Linux/.exec(userAgent)?.[0] ?? texts.unknownSystem
  const browser = /Edg|Firefox|Chrome|Safari/.exec(userAgent)?.[0] ?? texts.unknownBrowser
  const values = { browser: browser.replace('Edg', 'Edge'), system: system.replace('Mac OS X', 'macOS') }
  return fillText(texts.browserOnSystem, values)
}
