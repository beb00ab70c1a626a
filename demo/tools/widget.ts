import { byId, element } from './elements.js'
import { openTools } from './tools.js'
import type { User } from './user.js'

/** Okta's sign-in widget in classic mode. Its only required setting is the broker's address. */
interface Widget {
  renderEl(
    options: { el: string },
    success: (result: { status: string; user?: { profile?: { login?: string } } }) => void,
    failure: (error: Error) => void,
  ): void
  on(event: 'afterRender', handle: () => void): void
  off(event: 'afterRender', handle: () => void): void
  remove(): void
}
declare const OktaSignIn: new (options: {
  baseUrl: string
  useClassicEngine: true
  features: Readonly<Record<string, boolean>>
}) => Widget

let ready = render()

/**
 * Resolves when the widget shows its first screen. All widgets of a page share their events: one
 * that was removed during an animation still sends `afterRender` at its end, before the new widget
 * has a form.
 */
function render(): Promise<Widget> {
  const made = new OktaSignIn({
    baseUrl: location.origin,
    useClassicEngine: true,
    features: { selfServiceUnlock: true, smsRecovery: true, callRecovery: true },
  })
  const rendered = new Promise<Widget>((resolve) => {
    made.on('afterRender', function onRender() {
      if (byId('widget').querySelector('input[name="username"]') === null) return
      made.off('afterRender', onRender)
      resolve(made)
    })
  })
  made.renderEl({ el: '#widget' }, succeed, (error) => {
    byId('outcome').textContent = error.message
  })
  return rendered

  function succeed({ status, user }: { status: string; user?: { profile?: { login?: string } } }): void {
    if (status !== 'SUCCESS') return // an email was sent: the widget tells the user
    byId('widget').replaceChildren()
    byId('outcome').replaceChildren(
      `Signed in as ${user?.profile?.login ?? 'unknown'}. `,
      element('a', { href: '/' }, 'See your access'),
    )
  }
}

/** Renders a new widget, because the current one may show any screen. */
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
await openTools((user) => {
  filled = filled.then(() => fillIn(user)) // sequentially: each waits for a rendered widget
})
