import { byId, element } from './parts/elements.js'

/** The vendor's sign-in widget in its classic form, pointed at the broker: all that a portal's page has to say. */
interface Widget {
  renderEl(
    options: { el: string },
    success: (result: { status: string; user?: { profile?: { login?: string } } }) => void,
    failure: (error: Error) => void,
  ): void
}
declare const OktaSignIn: new (options: {
  baseUrl: string
  useClassicEngine: true
  features: Readonly<Record<string, boolean>>
}) => Widget

const widget = new OktaSignIn({
  baseUrl: location.origin,
  useClassicEngine: true,
  features: { selfServiceUnlock: true, smsRecovery: true, callRecovery: true },
})

widget.renderEl(
  { el: '#widget' },
  ({ status, user }) => {
    if (status !== 'SUCCESS') return // a mail was sent: the widget says so itself
    byId('widget').replaceChildren()
    byId('outcome').replaceChildren(
      `Signed in as ${user?.profile?.login ?? 'somebody'}. `,
      element('a', { href: '/' }, 'Look at your access'),
    )
  },
  (error) => {
    byId('outcome').textContent = error.message
  },
)
