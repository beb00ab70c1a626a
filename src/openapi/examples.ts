/**
 * One request body and one response body of an operation, as they look in practice. Every secret in them is made up.
 */
export interface OperationExample {
  readonly body?: object
  readonly response?: unknown
}

const ORIGIN = 'https://portal.example.com'
const HANDLE = '00example_handle_not_a_secret_000000000000000'
const FACTOR_ID = 'uftExampleFactor0001'
const USER_ID = '00uExampleUser00001'
const DEVICE_ID = 'q0Zf3p1mVb8wX2c5Tn7yRk4sLh6dJg9aUe1iOo3uEx0'
const SESSION_ID = '4f7c7a3e-5d0b-4c1e-9a55-0c3f5f1f7a10'
const GROUP = {
  id: 'bd300cc8-8e91-5aa5-8fa6-e2287db02835',
  name: 'Production Linux - View',
  roles: ['end_user'],
}
const META = { fetchedAt: '2026-11-21T10:00:00.000Z', stale: false }
const FETCHED = '2026-11-21T10:05:00.000Z'

const PROFILE = {
  login: 'tomas.berg@example.com',
  firstName: 'Tomas',
  lastName: 'Berg',
  locale: 'en_US',
  timeZone: 'Europe/Berlin',
}
const USER = { id: USER_ID, profile: PROFILE }
const APP_FACTOR = { id: FACTOR_ID, factorType: 'token:software:totp', provider: 'GOOGLE' }

const STATE = { stateToken: HANDLE }
const post = (path: string, name?: string) => ({
  ...(name === undefined ? {} : { name }),
  href: `${ORIGIN}/api/v1/authn${path}`,
  hints: { allow: ['POST'] },
})
const CANCEL = { cancel: post('/cancel') }
const BACK = { prev: post('/previous'), ...CANCEL }
const verifyLink = post(`/factors/${FACTOR_ID}/verify`, 'verify')

const SUCCESS = { status: 'SUCCESS', expiresAt: FETCHED, _embedded: { user: USER } }
const open = (status: string, embedded: object, links: object) => ({
  ...STATE,
  expiresAt: FETCHED,
  status,
  _embedded: { user: USER, ...embedded },
  _links: links,
})
const REQUIRED = open(
  'MFA_REQUIRED',
  { factors: [{ ...APP_FACTOR, _links: { verify: verifyLink } }] },
  CANCEL,
)
const CHALLENGE = open(
  'MFA_CHALLENGE',
  { factor: { id: 'smsExampleFactor0001', factorType: 'sms', profile: { phoneNumber: '+1 XXX-XXX-0003' } } },
  { next: post('/factors/smsExampleFactor0001/verify', 'verify'), ...BACK },
)
const ACTIVATE = open(
  'MFA_ENROLL_ACTIVATE',
  {
    factor: {
      ...APP_FACTOR,
      _embedded: {
        activation: {
          sharedSecret: 'JBSWY3DPEHPK3PXP',
          _links: {
            qrcode: {
              href: `${ORIGIN}/api/v1/users/${USER_ID}/factors/${FACTOR_ID}/qr/${HANDLE}`,
              type: 'image/png',
            },
          },
        },
      },
    },
  },
  { next: post(`/factors/${FACTOR_ID}/lifecycle/activate`, 'activate'), ...BACK },
)
const PUSH_ACTIVATE = {
  ...open(
    'MFA_ENROLL_ACTIVATE',
    { factor: { id: 'opfExampleFactor0001', factorType: 'push', provider: 'OKTA' } },
    { next: post('/factors/opfExampleFactor0001/lifecycle/activate/poll', 'poll'), ...BACK },
  ),
  factorResult: 'WAITING',
}
const EXPIRED = open(
  'PASSWORD_EXPIRED',
  { policy: { complexity: { minLength: 8 } } },
  { next: post('/credentials/change_password', 'changePassword'), ...CANCEL },
)
const RESET = open(
  'PASSWORD_RESET',
  { policy: { complexity: { minLength: 8 } } },
  { next: post('/credentials/reset_password', 'resetPassword'), ...CANCEL },
)
const QUESTION = {
  ...open(
    'RECOVERY',
    { user: { ...USER, recovery_question: { question: 'In which street did you grow up?' } } },
    { next: post('/recovery/answer', 'answer'), ...CANCEL },
  ),
  recoveryType: 'PASSWORD',
}
const started = (recoveryType: 'PASSWORD' | 'UNLOCK') => ({
  status: 'RECOVERY_CHALLENGE',
  factorResult: 'WAITING',
  factorType: 'EMAIL',
  recoveryType,
})
const CODE_SENT = {
  ...STATE,
  expiresAt: FETCHED,
  status: 'RECOVERY_CHALLENGE',
  factorType: 'SMS',
  recoveryType: 'PASSWORD',
  _links: {
    next: post('/recovery/factors/SMS/verify', 'verify'),
    ...CANCEL,
    resend: post('/recovery/factors/SMS/resend', 'sms'),
  },
}

const SESSION_URL = `${ORIGIN}/api/v1/sessions/me`
const SESSION = {
  id: SESSION_ID,
  userId: USER_ID,
  login: PROFILE.login,
  profile: PROFILE,
  status: 'ACTIVE',
  createdAt: '2026-11-21T10:00:00.000Z',
  expiresAt: '2026-11-21T22:00:00.000Z',
  idleExpiresAt: '2026-11-21T10:30:00.000Z',
  amr: ['pwd', 'otp', 'mfa'],
  _links: {
    self: { href: SESSION_URL, hints: { allow: ['GET', 'DELETE'] } },
    refresh: { href: `${SESSION_URL}/lifecycle/refresh`, hints: { allow: ['POST'] } },
    user: { href: `${ORIGIN}/api/v1/users/me`, hints: { allow: ['GET'] } },
  },
}
const OPTIONS = { warnBeforePasswordExpired: true, multiOptionalFactorEnroll: true }
const CHANGED = { newPassword: 'An-Example-Password-2', revokeSessions: true }

/** By operation id; an operation that takes and answers no JSON needs none. */
export const EXAMPLES: Readonly<Record<string, OperationExample>> = {
  authenticate: {
    body: { username: PROFILE.login, password: 'An-Example-Password-1', options: OPTIONS },
    response: REQUIRED,
  },
  introspect: { body: STATE, response: REQUIRED },
  recoverPassword: { body: { username: PROFILE.login, factorType: 'EMAIL' }, response: started('PASSWORD') },
  unlockAccount: { body: { username: PROFILE.login, factorType: 'EMAIL' }, response: started('UNLOCK') },
  redeemRecoveryToken: { body: { recoveryToken: 'example-recovery-token-not-a-secret' }, response: QUESTION },
  cancel: { body: STATE, response: {} },
  previous: { body: STATE, response: REQUIRED },
  skip: { body: STATE, response: SUCCESS },
  changePassword: { body: { ...STATE, oldPassword: 'An-Example-Password-1', ...CHANGED }, response: SUCCESS },
  resetPassword: { body: { ...STATE, ...CHANGED }, response: SUCCESS },
  answerRecoveryQuestion: { body: { ...STATE, answer: 'an example answer' }, response: RESET },
  verifyRecoveryFactor: { body: { ...STATE, passCode: '123456' }, response: QUESTION },
  resendRecoveryFactor: { body: STATE, response: CODE_SENT },
  enrollFactor: {
    body: { ...STATE, factorType: 'token:software:totp', provider: 'GOOGLE' },
    response: ACTIVATE,
  },
  verifyFactor: { body: { ...STATE, passCode: '123456' }, response: SUCCESS },
  resendChallenge: { body: STATE, response: CHALLENGE },
  activateFactor: { body: { ...STATE, passCode: '123456' }, response: EXPIRED },
  pollActivation: { body: STATE, response: PUSH_ACTIVATE },
  completeDuo: {
    body: { ...STATE, id: 'dsfExampleFactor0001', sig_response: 'AUTH|example|0:APP|example|0' },
    response: {},
  },
  resendActivation: { body: { ...STATE, factorType: 'sms', provider: 'OKTA' }, response: ACTIVATE },
  mailActivationLink: { body: STATE, response: PUSH_ACTIVATE },
  textActivationLink: {
    body: { ...STATE, profile: { phoneNumber: '+15550100003' } },
    response: PUSH_ACTIVATE,
  },
  activateUserFactor: { body: STATE, response: PUSH_ACTIVATE },
  mailUserActivationLink: { body: STATE, response: PUSH_ACTIVATE },
  textUserActivationLink: {
    body: { ...STATE, profile: { phoneNumber: '+15550100003' } },
    response: PUSH_ACTIVATE,
  },
  listSecurityQuestions: {
    response: [{ question: 'favorite_toy', questionText: 'What is your favourite toy?' }],
  },
  getSession: { response: SESSION },
  refreshSession: { response: SESSION },
  getUser: { response: { id: USER_ID, status: 'ACTIVE', profile: PROFILE } },
  listDevices: {
    response: {
      devices: [
        {
          id: DEVICE_ID,
          label: 'Chrome on Linux',
          createdAt: '2026-09-01T08:30:00.000Z',
          lastUsedAt: SESSION.createdAt,
          current: true,
        },
      ],
    },
  },
  listSessions: {
    response: {
      sessions: [
        {
          id: SESSION_ID,
          createdAt: SESSION.createdAt,
          lastSeenAt: '2026-11-21T10:12:00.000Z',
          expiresAt: SESSION.expiresAt,
          current: true,
          userAgent: 'Mozilla/5.0 (X11; Linux x86_64) Chrome/142.0.0.0',
        },
      ],
    },
  },
  getAccess: {
    response: {
      user: 'tomas.berg',
      groups: [GROUP],
      roles: ['end_user'],
      maximalRoles: ['end_user'],
      unknownRoles: [],
      meta: META,
    },
  },
  listGroups: { response: { list: [GROUP], nextCursor: null, meta: META } },
  getGroup: { response: { ...GROUP, meta: META } },
}
