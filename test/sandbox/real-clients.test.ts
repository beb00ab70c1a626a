import { expect, test } from '@jest/globals'
import { type Answer, PASSWORD, useSandbox } from './authn/sandbox-client.ts'

/** Response shapes of real clients and recordings that no other sandbox test covers (docs/conformance.md, F-1). */

const client = useSandbox()

const AUTHN = '/api/v1/authn'
const stepUp = (login?: string) =>
  client.post(AUTHN, { stateToken: client.sandbox.startStepUp('payroll', login).stateToken })
const enroll = async (login: string, factorType: string, provider: string) =>
  client.follow(await client.signIn(login), `_embedded.factors.${factorType}._links.enroll`, {
    factorType,
    provider,
  })
const verify = async (login: string, factorType: string) =>
  client.follow(await client.signIn(login), `_embedded.factors.${factorType}._links.verify`)
const recoveryToken = () => client.sandbox.recoveryToken('amelia.stone')

const NEXT: [state: string, name: string, answer: () => Promise<Answer>][] = [
  ['PASSWORD_EXPIRED', 'changePassword', () => client.signIn('olga.expired')],
  [
    'PASSWORD_WARN',
    'changePassword',
    () => client.signIn('walter.warn', { options: { warnBeforePasswordExpired: true } }),
  ],
  [
    'PASSWORD_RESET',
    'resetPassword',
    () => client.post(AUTHN, { token: client.sandbox.activationToken('aida.nopassword') }),
  ],
  ['LOCKED_OUT', 'unlock', () => client.signIn('luis.locked')],
  ['RECOVERY', 'answer', () => client.post(`${AUTHN}/recovery/token`, { recoveryToken: recoveryToken() })],
  [
    'RECOVERY with a recovery token',
    'recovery',
    () => client.post(`${AUTHN}/recovery/password`, { username: 'amelia.stone' }),
  ],
  [
    'RECOVERY_CHALLENGE',
    'verify',
    () => client.post(`${AUTHN}/recovery/password`, { username: 'amelia.stone', factorType: 'SMS' }),
  ],
  ['MFA_CHALLENGE for a code', 'verify', () => verify('sana.sms', 'sms')],
  ['MFA_CHALLENGE of a push', 'poll', () => verify('priya.nair', 'push')],
  ['MFA_ENROLL_ACTIVATE of an email', 'activate', () => enroll('erin.enroll', 'email', 'OKTA')],
  ['MFA_ENROLL_ACTIVATE of a push', 'poll', () => enroll('erin.enroll', 'push', 'OKTA')],
  ['UNAUTHENTICATED', 'authenticate', () => stepUp()],
  [
    'SUCCESS after a step-up',
    'original',
    async () => {
      const { stateToken } = (await stepUp()).body
      return client.post(AUTHN, { stateToken, username: 'amelia.stone', password: PASSWORD })
    },
  ],
]

test.each(NEXT)('in %s, the next link is named %s', async (state, name, answer) => {
  const response = await answer()
  expect([response.body.status, response.at('_links.next.name')]).toEqual([state.split(' ')[0], name])
})

test.each<[link: string, at: string, answer: () => Promise<Answer>]>([
  [
    'qrcode',
    '_embedded.factor._embedded.activation._links.qrcode',
    () => enroll('erin.enroll', 'push', 'OKTA'),
  ],
  ['logo', '_embedded.target._links.logo', () => stepUp()],
  ['script', '_embedded.factor._embedded.verification._links.script', () => verify('dario.duo', 'web')],
])('the link %s has a type and no hints', async (_link, at, answer) => {
  const link = (await answer()).at(at)
  expect(link).toEqual(expect.objectContaining({ href: expect.any(String), type: expect.any(String) }))
  expect(link).not.toHaveProperty('hints')
})
