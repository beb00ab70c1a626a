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

let widget = render()

function render(): Widget {
  const made = new OktaSignIn({
    baseUrl: location.origin,
    useClassicEngine: true,
    features: { selfServiceUnlock: true, smsRecovery: true, callRecovery: true },
  })
  made.renderEl({ el: '#widget' }, succeed, (error) => {
    byId('outcome').textContent = error.message
  })
  return made

  function succeed({ status, user }: { status: string; user?: { profile?: { login?: string } } }): void {
    if (status !== 'SUCCESS') return // a mail was sent: the widget says so itself
    made.remove()
    byId('outcome').replaceChildren(
      `Signed in as ${user?.profile?.login ?? 'somebody'}. `,
      element('a', { href: '/' }, 'Look at your access'),
    )
  }
}

/** Any screen but the first gives way to a new widget, which has the first. */
async function fillIn({ login: username, password }: User): Promise<void> {
  if (inputNamed('username') === null) {
    widget.remove()
    widget = render()
    await new Promise<void>((resolve) => widget.once('afterRender', resolve))
  }
  byId('outcome').replaceChildren()
  for (const [name, value] of Object.entries({ username, password })) {
    const input = inputNamed(name)
    if (input === null) continue
    input.value = value
    for (const type of ['input', 'change']) input.dispatchEvent(new Event(type, { bubbles: true }))
  }
}

function inputNamed(name: string): HTMLInputElement | null {
  return byId('widget').querySelector<HTMLInputElement>(`input[name="${name}"]`)
}

let filled = Promise.resolve()
await openCorner((user) => {
  filled = filled.then(() => fillIn(user)) // one after the other: a widget that is not drawn yet cannot be removed
})
