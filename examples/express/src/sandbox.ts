import { startSandbox } from 'gatehouse/sandbox'

/** Starts Gatehouse and a simulation of Okta. Returns the address of Gatehouse. */
export async function startGatehouseSandbox(portalUrl: string): Promise<string> {
  const { brokerUrl, authnUrl } = await startSandbox({
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
    broker: {
      publicUrl: portalUrl,
      signInUrl: `${portalUrl}/sign-in`,
      env: { TRUST_PROXY: '127.0.0.1,::1' },
    },
  })
  console.log(`
  Sign in as ada with the password Demo-Password-1.
  Codes: ${authnUrl}/sandbox/users/ada
  Emails and text messages: ${authnUrl}/sandbox/outbox
  The phone approves a push after some seconds.
`)
  return brokerUrl
}
