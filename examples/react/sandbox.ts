import type { SandboxWithBroker } from 'gatehouse/sandbox'
import type { Plugin } from 'vite'

/**
 * Gatehouse and a simulation of Okta, as long as the development server runs. The page calls them
 * on its own origin.
 */
export function gatehouseSandbox(portalUrl: string): Plugin {
  let sandbox: SandboxWithBroker
  return {
    name: 'gatehouse-sandbox',
    apply: 'serve',
    async config() {
      const { startSandbox } = await import('gatehouse/sandbox') // not to build the page
      sandbox = await startSandbox({
        people: [
          {
            login: 'ada@example.test',
            password: 'Demo-Password-1',
            factors: [
              'totp',
              'sms',
              { type: 'push', numberChallenge: true, answersAfterPolls: 1, answers: 'approve' },
            ],
            groups: ['Auditors'],
          },
        ],
        groups: { Auditors: ['end_user'] },
        broker: { publicUrl: portalUrl },
      })
      return { server: { proxy: { '/api': sandbox.brokerUrl } } }
    },
    configureServer({ httpServer }) {
      httpServer?.once('listening', () =>
        console.log(`
  Sign in as ada with the password Demo-Password-1.
  Codes: ${sandbox.authnUrl}/sandbox/users/ada
  Emails and text messages: ${sandbox.authnUrl}/sandbox/outbox
  The phone approves a push after some seconds.

  Open ${portalUrl}
`),
      )
      httpServer?.once('close', () => sandbox.stop().catch(console.error))
    },
  }
}
