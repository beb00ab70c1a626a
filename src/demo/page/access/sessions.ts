import { actions, element } from '../parts/elements.js'
import { button } from '../parts/form.js'
import { type CallBroker, text, time } from './access.js'

interface OwnSession {
  readonly id: string
  readonly createdAt: string
  readonly lastSeenAt: string
  readonly current: boolean
  readonly userAgent: string
}

/** The user's sessions. An ended session stops working at once on every replica of the broker. */
export async function createOwnSessions(callBroker: CallBroker): Promise<HTMLElement[]> {
  const place = element('div', { tabindex: '-1' })

  const show = async () => {
    const { sessions } = await callBroker<{ sessions: OwnSession[] }>('GET', '/api/v1/sessions')
    const others = sessions.filter(({ current }) => !current)
    const end = (path: string) => async () => {
      await callBroker('DELETE', `/api/v1/sessions${path}`)
      await show()
      place.focus() // the pressed button no longer exists
    }
    place.replaceChildren(
      element(
        'ul',
        { class: 'sessions' },
        ...sessions.map((session) =>
          element(
            'li',
            {},
            element(
              'span',
              {},
              element('strong', {}, browserOf(session.userAgent), session.current && ' (this one)'),
              element('span', { class: 'soft' }, ' last used ', time(session.lastSeenAt)),
            ),
            !session.current && endButton(session, end(`/${session.id}`)),
          ),
        ),
      ),
      others.length === 0
        ? text('You are not signed in anywhere else.')
        : actions(button(`End all others (${others.length})`, end(''))),
    )
  }
  await show()
  return [place]
}

function endButton(session: OwnSession, end: () => Promise<void>): HTMLButtonElement {
  const made = button('End', end)
  made.setAttribute(
    'aria-label',
    `End the session of ${browserOf(session.userAgent)} on ${session.lastSeenAt}`,
  )
  return made
}

/** A short name by which users recognize their own devices. */
function browserOf(userAgent: string): string {
  const system = /Android|iPhone|iPad|Windows|Mac OS X|Linux/.exec(userAgent)?.[0] ?? 'an unknown system'
  const browser = /Edg|Firefox|Chrome|Safari/.exec(userAgent)?.[0] ?? 'Browser'
  return `${browser === 'Edg' ? 'Edge' : browser} on ${system.replace('Mac OS X', 'macOS')}`
}
