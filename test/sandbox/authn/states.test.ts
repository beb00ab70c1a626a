import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals'
import { ALLOWED, type Operation, type Status } from '../../../src/sandbox/authn/statuses.ts'
import { type Answer, type Client, outcome, startSandbox } from './sandbox-client.ts'

let client: Client
beforeAll(async () => {
  client = await startSandbox()
})
beforeEach(() => client.sandbox.reset())
afterAll(() => client.close())

const AUTHN = '/api/v1/authn'
const WARN = { options: { warnBeforePasswordExpired: true } }
const anonymous = () => client.post(AUTHN, { stateToken: client.sandbox.startStepUp('payroll').stateToken })

/** A way into every status that has a state token. */
const WAYS: Record<Exclude<Status, 'LOCKED_OUT'>, () => Promise<Answer>> = {
  SUCCESS: async () => {
    const { stateToken } = client.sandbox.startStepUp('payroll', 'amelia.stone')
    return client.post(AUTHN, { stateToken })
  },
  PASSWORD_EXPIRED: () => client.signIn('olga.expired'),
  PASSWORD_WARN: () => client.signIn('walter.warn', WARN),
  PASSWORD_RESET: () => client.post(AUTHN, { token: client.sandbox.activationToken('aida.nopassword') }),
  MFA_REQUIRED: () => client.signIn('tomas.berg'),
  MFA_CHALLENGE: async () =>
    client.follow(await client.signIn('sana.sms'), '_embedded.factors.sms._links.verify'),
  MFA_ENROLL: () => client.signIn('erin.enrol'),
  MFA_ENROLL_ACTIVATE: async () =>
    client.follow(await client.signIn('erin.enrol'), '_embedded.factors.push._links.enroll', {
      factorType: 'push',
      provider: 'OKTA',
    }),
  RECOVERY: () =>
    client.post(`${AUTHN}/recovery/token`, { recoveryToken: client.sandbox.recoveryToken('amelia.stone') }),
  RECOVERY_CHALLENGE: () =>
    client.post(`${AUTHN}/recovery/password`, { username: 'amelia.stone', factorType: 'SMS' }),
  UNAUTHENTICATED: anonymous,
}

/** field-notes.md, operations: path and a body that is well formed. */
const OPERATIONS: Record<Exclude<Operation, 'cancel' | 'duo-callback'>, [path: string, body: object]> = {
  state: ['', {}],
  authenticate: ['', { username: 'amelia.stone', password: 'wrong' }],
  'change-password': ['/credentials/change_password', { oldPassword: 'x', newPassword: 'x' }],
  'reset-password': ['/credentials/reset_password', { newPassword: 'x' }],
  enrol: ['/factors', { factorType: 'unknown', provider: 'OKTA' }],
  activate: ['/factors/none/lifecycle/activate', {}],
  'activation-poll': ['/factors/none/lifecycle/activate/poll', {}],
  'send-activation': ['/factors/none/lifecycle/activate/email', {}],
  'resend-enrolment': ['/factors/none/lifecycle/resend', {}],
  verify: ['/factors/none/verify', {}],
  'resend-challenge': ['/factors/none/verify/resend', {}],
  'verify-recovery': ['/recovery/factors/SMS/verify', { passCode: 'x' }],
  'resend-recovery': ['/recovery/factors/SMS/resend', {}],
  answer: ['/recovery/answer', { answer: 'x' }],
  previous: ['/previous', {}],
  skip: ['/skip', {}],
}

test.each(Object.entries(WAYS))('%s can be reached', async (status, reach) => {
  expect(outcome(await reach())).toBe(`200 ${status}`)
})

/** field-notes.md: an operation that is not allowed in the state is 403 E0000079. */
test.each(
  Object.entries(WAYS).flatMap(([status, reach]) =>
    Object.entries(OPERATIONS).map(([operation, call]) => [status, operation, reach, call] as const),
  ),
)('%s and %s', async (status, operation, reach, [path, body]) => {
  const { stateToken } = (await reach()).body
  const answer = await client.post(AUTHN + path, { stateToken, ...body })
  const allowed: readonly string[] = ALLOWED[status as Status]
  // An enrolment that is required can't be skipped, though others can.
  const isRefused = !allowed.includes(operation) || (status === 'MFA_ENROLL' && operation === 'skip')
  expect(outcome(answer) === '403 E0000079').toBe(isRefused)
})

test.each(['', '/introspect'])(
  'POST /api/v1/authn%s with a state token says where it stands',
  async (path) => {
    const challenge = await WAYS.MFA_CHALLENGE()
    const state = await client.post(AUTHN + path, { stateToken: challenge.body.stateToken })
    expect(state.body).toEqual(challenge.body)
  },
)

test('expiresAt moves with every request of a transaction', async () => {
  const first = await WAYS.MFA_REQUIRED()
  client.pass(20 * 60_000)
  const second = await client.post(AUTHN, { stateToken: first.body.stateToken })
  expect(Date.parse(String(second.body.expiresAt)) - Date.parse(String(first.body.expiresAt))).toBe(
    20 * 60_000,
  )
})

test.each<[string, () => Promise<unknown>]>([
  ['unknown', async () => '00unknown'],
  [
    'expired',
    async () => {
      const { body } = await WAYS.MFA_REQUIRED()
      client.pass(30 * 60_000)
      return body.stateToken
    },
  ],
  [
    'expired by control',
    async () => {
      const { body } = await WAYS.MFA_REQUIRED()
      client.sandbox.expireTransactions()
      return body.stateToken
    },
  ],
  [
    'of a finished transaction',
    async () => {
      const { body } = await WAYS.PASSWORD_WARN()
      await client.post(`${AUTHN}/skip`, { stateToken: body.stateToken })
      return body.stateToken
    },
  ],
])('a state token that is %s: 401 E0000011', async (_what, tokenOf) => {
  const answer = await client.post(AUTHN, { stateToken: await tokenOf() })
  expect(outcome(answer)).toBe('401 E0000011')
  expect(answer.body.errorSummary).toBe('Invalid token provided')
})

test('an operation without a state token is 400 E0000001 and names it', async () => {
  const answer = await client.post(`${AUTHN}/skip`, {})
  expect(outcome(answer)).toBe('400 E0000001')
  expect(answer.at('errorCauses.0.errorSummary')).toBe('stateToken: The field cannot be left blank')
})
