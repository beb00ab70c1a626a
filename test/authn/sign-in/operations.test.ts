import { describe, expect, test } from '@jest/globals'
import { OPERATIONS, upstreamPath } from '../../../src/authn/sign-in/operations.ts'

const AUTHN = '/api/v1/authn'
const FACTOR = `${AUTHN}/factors/:id`
const USER_FACTOR = '/api/v1/users/:uid/factors/:id'

const PHONE = { factorType: 'sms', provider: 'OKTA', profile: { phoneNumber: '+1 555 0100' } }
const LINK = { profile: { phoneNumber: '+1 555 0100', email: 'ada@example.com' } }
const CODE = { passCode: '123456' }
const VERIFY_FLAGS = ['rememberDevice', 'autoPush']
const PHONE_FLAG = ['updatePhone']

interface Row {
  readonly path: string
  /** The query parameters that are passed on. */
  readonly query?: readonly string[]
  /** The fields besides the state token (docs/conformance.md F-2). */
  readonly fields?: object
  readonly credential?: string
  readonly polls?: boolean
  readonly allowed?: string
  readonly encoding?: string
}

/** Every operation in a transaction. */
const TABLE: readonly (readonly [name: string, row: Row])[] = [
  ['cancel', { path: `${AUTHN}/cancel`, allowed: 'always' }],
  ['previous', { path: `${AUTHN}/previous`, allowed: 'always' }],
  ['skip', { path: `${AUTHN}/skip` }],
  [
    'change_password',
    {
      path: `${AUTHN}/credentials/change_password`,
      fields: { oldPassword: ' a\u0000😀 ', newPassword: '\n' },
      credential: 'password',
    },
  ],
  [
    'reset_password',
    {
      path: `${AUTHN}/credentials/reset_password`,
      fields: { newPassword: 'new' },
      credential: 'new-password',
    },
  ],
  ['recovery_answer', { path: `${AUTHN}/recovery/answer`, fields: { answer: 'windmill' } }],
  ['recovery_verify', { path: `${AUTHN}/recovery/factors/:type/verify`, fields: CODE }],
  ['recovery_resend', { path: `${AUTHN}/recovery/factors/:type/resend` }],
  ['enroll', { path: `${AUTHN}/factors`, query: PHONE_FLAG, fields: PHONE }],
  [
    'verify',
    { path: `${FACTOR}/verify`, query: VERIFY_FLAGS, fields: CODE, credential: 'factor', polls: true },
  ],
  ['resend', { path: `${FACTOR}/verify/resend`, query: VERIFY_FLAGS }],
  ['activate', { path: `${FACTOR}/lifecycle/activate`, query: PHONE_FLAG, fields: CODE, polls: true }],
  ['activate_poll', { path: `${FACTOR}/lifecycle/activate/poll`, query: PHONE_FLAG, polls: true }],
  [
    'duo_callback',
    {
      path: `${FACTOR}/lifecycle/duoCallback`,
      fields: { id: 'duo1', sig_response: 'AUTH|signed' },
      encoding: 'form',
    },
  ],
  ['activate_resend', { path: `${FACTOR}/lifecycle/resend`, query: PHONE_FLAG, fields: PHONE }],
  ['activate_email', { path: `${FACTOR}/lifecycle/activate/email`, query: PHONE_FLAG, fields: LINK }],
  ['activate_sms', { path: `${FACTOR}/lifecycle/activate/sms`, query: PHONE_FLAG, fields: LINK }],
  ['activate', { path: `${USER_FACTOR}/lifecycle/activate`, query: PHONE_FLAG, fields: CODE, polls: true }],
  ['activate_email', { path: `${USER_FACTOR}/lifecycle/activate/email`, query: PHONE_FLAG, fields: LINK }],
  ['activate_sms', { path: `${USER_FACTOR}/lifecycle/activate/sms`, query: PHONE_FLAG, fields: LINK }],
]

test('the table has every operation', () => {
  expect(OPERATIONS.map(({ name, path }) => [name, path])).toEqual(
    TABLE.map(([name, { path }]) => [name, path]),
  )
})

test.each(TABLE)('%s: %j', (name, row) => {
  const { path, query = [], fields = {}, credential, polls = false } = row
  const { allowed = 'offered', encoding = 'json' } = row
  const operation = OPERATIONS.find((one) => one.path === path)
  expect(operation).toMatchObject({ method: 'POST', name, polls, allowed, encoding })
  expect(operation?.credential).toBe(credential)
  expect(operation?.maxConcurrent).toBe(path.includes('/recovery/factors/') ? 2 : undefined)
  expect(Object.keys(operation?.query.shape ?? {})).toEqual(query)
  const body = { stateToken: '00handle', ...fields }
  expect(operation?.body.parse({ ...body, unknown: 'x' })).toEqual(body)
})

describe('the path of a step', () => {
  test.each<[path: string, params: Record<string, string>, wanted: string]>([
    [`${AUTHN}/skip`, {}, `${AUTHN}/skip`],
    [`${FACTOR}/verify`, { id: 'ost1' }, `${AUTHN}/factors/ost1/verify`],
    [`${AUTHN}/recovery/factors/:type/verify`, { type: 'sms' }, `${AUTHN}/recovery/factors/SMS/verify`],
    [
      `${USER_FACTOR}/lifecycle/activate`,
      { uid: 'u1', id: 'f1' },
      '/api/v1/users/u1/factors/f1/lifecycle/activate',
    ],
    [`${FACTOR}/verify`, { id: 'token:software:totp' }, `${AUTHN}/factors/token%3Asoftware%3Atotp/verify`],
    [`${FACTOR}/verify`, { id: '../../x?y#z' }, `${AUTHN}/factors/..%2F..%2Fx%3Fy%23z/verify`],
    [`${FACTOR}/verify`, {}, `${AUTHN}/factors//verify`],
  ])('%s with %j', (path, params, wanted) => {
    const operation = OPERATIONS.find((one) => one.path === path)
    expect(operation && upstreamPath(operation, params)).toBe(wanted)
  })
})
