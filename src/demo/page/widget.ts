import { openCorner } from './corner/corner.js'
import type { User } from './corner/user.js'
import { byId, element } from './parts/elements.js'

/** Okta's sign-in widget in its classic form, pointed at the broker: all that a portal's page has to contain. */
interface Widget {
  renderEl(
    options: { el: string },
    success: (result: { status: string; user?: { profile?: { login?: string } } }) => void,
    failure: (error: Error) => void,
  ): void
  once(event: 'afterRender', handle: () => void): void
  remove(): void
}
declare const OktaSignIn: new (options: {
  baseUrl: string
  useClassicEngine: true
  features: Readonly<Record<string, boolean>>
}) => Widget

let ready = render()

/** Resolves when the widget shows its first screen. */
function render(): Promise<Widget> {
  const made = new OktaSignIn({
    baseUrl: location.origin,
    useClassicEngine: true,
    features: { selfServiceUnlock: true, smsRecovery: true, callRecovery: true },
  })
  const rendered = new Promise<Widget>((resolve) => made.once('afterRender', () => resolve(made)))
  made.renderEl({ el: '#widget' }, succeed, (error) => {
    byId('outcome').textContent = error.message
  })
  return rendered

  function succeed({ status, user }: { status: string; user?: { profile?: { login?: string } } }): void {
    if (status !== 'SUCCESS') return // an email was sent: the widget tells the user
    byId('widget').replaceChildren()
    byId('outcome').replaceChildren(
      `Signed in as ${user?.profile?.login ?? 'somebody'}. `,
      element('a', { href: '/' }, 'Look at your access'),
    )
  }
}

/** A new widget, as the old one may show any screen, or two of them while one slides in. */
async function fillIn({ login: username, password }: User): Promise<void> {
  const before = await ready
  before.remove()
  byId('outcome').replaceChildren()
  ready = render()
  await ready
  for (const [name, value] of Object.entries({ username, password })) {
    const input = byId('widget').querySelector<HTMLInputElement>(`input[name="${name}"]`)
    if (input === null) continue
    input.value = value
    for (const type of ['input', 'change']) input.dispatchEvent(new Event(type, { bubbles: true }))
  }
}

let filled = Promise.resolve()
await openCorner((user) => {
  filled = filled.then(() => fillIn(user)) // one after the other: each waits for a widget that is drawn
})
