import { expect, test } from '@jest/globals'
import type { Operation, Status } from '../../src/authn/statuses.ts'
import { type Answer, answerOf, outcome, useSandbox } from './sandbox-client.ts'

const client = useSandbox()

const AUTHN = '/api/v1/authn'
const WARN = { options: { warnBeforePasswordExpired: true } }
const stepUp = (login?: string) =>
  client.post(AUTHN, { stateToken: client.sandbox.startStepUp('payroll', login).stateToken })

/** Requests that lead to each status with a state token. */
const REQUESTS_TO_REACH: Record<Exclude<Status, 'LOCKED_OUT'>, () => Promise<Answer>> = {
  SUCCESS: () => stepUp('amelia.stone'),
  PASSWORD_EXPIRED: () => client.signIn('olga.expired'),
  PASSWORD_WARN: () => client.signIn('walter.warn', WARN),
  PASSWORD_RESET: () => client.post(AUTHN, { token: client.sandbox.activationToken('aida.nopassword') }),
  MFA_REQUIRED: () => client.signIn('tomas.berg'),
  // sandbox shows: F-1.4
  MFA_CHALLENGE: async () =>
    client.follow(await client.signIn('sana.sms'), '_embedded.factors.sms._links.verify'),
  // With one enrolled factor, as only then enrollment can be skipped.
  MFA_ENROLL: async () =>
    client.follow(
      await client.signIn('erin.enroll', { options: { multiOptionalFactorEnroll: true } }),
      '_embedded.factors.question._links.enroll',
      { factorType: 'question', provider: 'OKTA', profile: { question: 'favorite_toy', answer: 'a kite' } },
    ),
  // sandbox shows: F-1.4
  MFA_ENROLL_ACTIVATE: async () =>
    client.follow(await client.signIn('erin.enroll'), '_embedded.factors.push._links.enroll', {
      factorType: 'push',
      provider: 'OKTA',
    }),
  // sandbox shows: F-1.4
  RECOVERY: () =>
    client.post(`${AUTHN}/recovery/token`, { recoveryToken: client.sandbox.recoveryToken('amelia.stone') }),
  // sandbox shows: F-1.4
  RECOVERY_CHALLENGE: () =>
    client.post(`${AUTHN}/recovery/password`, { username: 'amelia.stone', factorType: 'SMS' }),
  UNAUTHENTICATED: () => stepUp(),
}

/** The operations (docs/conformance.md F-2) with a well-formed body; `duo-callback` is a form. */
const OPERATIONS: Record<Operation, [path: string, body: Record<string, string>]> = {
  state: ['', {}],
  authenticate: ['', { username: 'amelia.stone', password: 'wrong' }],
  'change-password': ['/credentials/change_password', { oldPassword: 'x', newPassword: 'x' }],
  'reset-password': ['/credentials/reset_password', { newPassword: 'x' }],
  enroll: ['/factors', { factorType: 'unknown', provider: 'OKTA' }],
  activate: ['/factors/none/lifecycle/activate', {}],
  'activation-poll': ['/factors/none/lifecycle/activate/poll', {}],
  'send-activation': ['/factors/none/lifecycle/activate/email', {}],
  'resend-enrollment': ['/factors/none/lifecycle/resend', {}],
  verify: ['/factors/none/verify', {}],
  'resend-challenge': ['/factors/none/verify/resend', {}],
  'duo-callback': ['/factors/none/lifecycle/duoCallback', { id: 'none', sig_response: 'x' }],
  'verify-recovery': ['/recovery/factors/SMS/verify', { passCode: 'x' }],
  'resend-recovery': ['/recovery/factors/SMS/resend', {}],
  answer: ['/recovery/answer', { answer: 'x' }],
  previous: ['/previous', {}],
  skip: ['/skip', {}],
  cancel: ['/cancel', {}],
}

/**
 * The operations that each status allows, besides `state` and `cancel`, which all allow. From the
 * specifications: the statuses in docs/conformance.md F-2, the links of each status in A-10,
 * "Change password" (A-14; valid for PASSWORD_EXPIRED and PASSWORD_WARN), and recorded responses
 * for `previous` and the resends. Anything else is 403 E0000079.
 */
const ACCEPTED: Record<keyof typeof REQUESTS_TO_REACH, string> = {
  SUCCESS: '',
  PASSWORD_EXPIRED: 'change-password',
  PASSWORD_WARN: 'change-password skip',
  PASSWORD_RESET: 'reset-password',
  MFA_REQUIRED: 'verify',
  MFA_CHALLENGE: 'verify resend-challenge duo-callback previous',
  MFA_ENROLL: 'enroll skip',
  MFA_ENROLL_ACTIVATE: 'activate activation-poll send-activation resend-enrollment duo-callback previous',
  RECOVERY: 'answer',
  RECOVERY_CHALLENGE: 'verify-recovery resend-recovery',
  UNAUTHENTICATED: 'authenticate',
}

const NEXT: Partial<Record<string, string>> = {
  SUCCESS: 'original',
  PASSWORD_EXPIRED: 'changePassword',
  PASSWORD_WARN: 'changePassword',
  PASSWORD_RESET: 'resetPassword',
  MFA_CHALLENGE: 'verify',
  MFA_ENROLL_ACTIVATE: 'poll',
  RECOVERY: 'answer',
  RECOVERY_CHALLENGE: 'verify',
  UNAUTHENTICATED: 'authenticate',
}
// sandbox shows, F-1.6
test.each(Object.entries(REQUESTS_TO_REACH))(
  '%s can be reached, and names its next link',
  async (status, reach) => {
    const answer = await reach()
    expect([outcome(answer), answer.at('_links.next.name')]).toEqual([`200 ${status}`, NEXT[status]])
  },
)

/** docs/conformance.md F-1.23: an operation that is not allowed in the state is 403 E0000079. */
// sandbox shows, F-1.23
test.each(
  Object.entries(REQUESTS_TO_REACH).flatMap(([status, reach]) =>
    Object.entries(OPERATIONS).map(([operation, call]) => [status, operation, reach, call] as const),
  ),
)('%s and %s', async (status, operation, reach, [path, body]) => {
  const { stateToken } = (await reach()).body
  const fields = { stateToken: String(stateToken), ...body }
  const answer = operation === 'duo-callback' ? postForm(path, fields) : client.post(AUTHN + path, fields)
  const accepted = ['state', 'cancel', ...ACCEPTED[status as keyof typeof REQUESTS_TO_REACH].split(' ')]
  expect(outcome(await answer) === '403 E0000079').toBe(!accepted.includes(operation))
})

async function postForm(path: string, fields: Record<string, string>): Promise<Answer> {
  return answerOf(
    await fetch(client.url + AUTHN + path, { method: 'POST', body: new URLSearchParams(fields) }),
  )
}

// sandbox shows, F-2.2, F-5.6
test.each(['', '/introspect'])(
  'POST /api/v1/authn%s with a state token returns the transaction state',
  async (path) => {
    const challenge = await REQUESTS_TO_REACH.MFA_CHALLENGE()
    const state = await client.post(AUTHN + path, { stateToken: challenge.body.stateToken })
    expect(state.body).toEqual(challenge.body)
  },
)

// sandbox shows, F-1.19
test('every request of a transaction extends expiresAt', async () => {
  const first = await REQUESTS_TO_REACH.MFA_REQUIRED()
  client.advance(20 * 60_000)
  const second = await client.post(AUTHN, { stateToken: first.body.stateToken })
  expect(Date.parse(String(second.body.expiresAt)) - Date.parse(String(first.body.expiresAt))).toBe(
    20 * 60_000,
  )
})

const INVALID_TOKENS: Record<string, () => Promise<unknown>> = {
  // sandbox shows: F-1.21, F-6.4
  unknown: async () => '00unknown',
  // sandbox shows, F-1.21
  expired: () => tokenThen(async () => client.advance(30 * 60_000)),
  'expired through the control API': () => tokenThen(async () => client.sandbox.expireTransactions()),
  'of a finished transaction': () => tokenThen((stateToken) => client.post(`${AUTHN}/skip`, { stateToken })),
}
test.each(Object.entries(INVALID_TOKENS))(
  'a state token that is %s: 401 E0000011',
  async (_state, tokenOf) => {
    const answer = await client.post(AUTHN, { stateToken: await tokenOf() })
    expect(outcome(answer)).toBe('401 E0000011')
    expect(answer.body.errorSummary).toBe('Invalid token provided')
  },
)
async function tokenThen(end: (stateToken: unknown) => Promise<unknown>): Promise<unknown> {
  const { stateToken } = (await REQUESTS_TO_REACH.PASSWORD_WARN()).body
  await end(stateToken)
  return stateToken
}
