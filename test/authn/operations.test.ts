import { describe, expect, test } from '@jest/globals'
import { OPERATIONS, upstreamPath } from '../../src/authn/operations.ts'

const AUTHN = '/api/v1/authn'
const FACTOR = `${AUTHN}/factors/:id`
const USER_FACTOR = '/api/v1/users/:uid/factors/:id'

const PHONE = { factorType: 'sms', provider: 'OKTA', profile: { phoneNumber: '+1 555 0100' } }
const LINK = { profile: { phoneNumber: '+1 555 0100', email: 'ada@example.com' } }
const CODE = { passCode: '123456' }
const CHANGED = { oldPassword: ' a\u0000😀 ', newPassword: '\n' }
const DUO = { id: 'duo1', sig_response: 'AUTH|signed' }

interface Rest {
  /** The query parameters that are passed on. */
  readonly query?: readonly string[]
  readonly credential?: string
  readonly polls?: boolean
  readonly allowed?: string
  readonly encoding?: string
}
const VERIFY: Rest = { query: ['rememberDevice', 'autoPush'] }
const ACTIVATE: Rest = { query: ['updatePhone'] }
const POLLED = { polls: true }

/**
 * Every operation in a transaction, with the fields besides the state token (docs/conformance.md
 * F-2).
 */
const TABLE: readonly (readonly [name: string, path: string, fields: object, rest: Rest])[] = [
  ['cancel', `${AUTHN}/cancel`, {}, { allowed: 'always' }],
  ['previous', `${AUTHN}/previous`, {}, { allowed: 'always' }],
  ['skip', `${AUTHN}/skip`, {}, {}],
  ['change_password', `${AUTHN}/credentials/change_password`, CHANGED, { credential: 'password' }],
  [
    'reset_password',
    `${AUTHN}/credentials/reset_password`,
    { newPassword: 'n' },
    { credential: 'new-password' },
  ],
  ['recovery_answer', `${AUTHN}/recovery/answer`, { answer: 'windmill' }, {}],
  ['recovery_verify', `${AUTHN}/recovery/factors/:type/verify`, CODE, {}],
  ['recovery_resend', `${AUTHN}/recovery/factors/:type/resend`, {}, {}],
  ['enroll', `${AUTHN}/factors`, PHONE, ACTIVATE],
  ['verify', `${FACTOR}/verify`, CODE, { ...VERIFY, ...POLLED, credential: 'factor' }],
  ['resend', `${FACTOR}/verify/resend`, {}, VERIFY],
  ['activate', `${FACTOR}/lifecycle/activate`, CODE, { ...ACTIVATE, ...POLLED }],
  ['activate_poll', `${FACTOR}/lifecycle/activate/poll`, {}, { ...ACTIVATE, ...POLLED }],
  ['duo_callback', `${FACTOR}/lifecycle/duoCallback`, DUO, { encoding: 'form' }],
  ['activate_resend', `${FACTOR}/lifecycle/resend`, PHONE, ACTIVATE],
  ['activate_email', `${FACTOR}/lifecycle/activate/email`, LINK, ACTIVATE],
  ['activate_sms', `${FACTOR}/lifecycle/activate/sms`, LINK, ACTIVATE],
  ['activate', `${USER_FACTOR}/lifecycle/activate`, CODE, { ...ACTIVATE, ...POLLED }],
  ['activate_email', `${USER_FACTOR}/lifecycle/activate/email`, LINK, ACTIVATE],
  ['activate_sms', `${USER_FACTOR}/lifecycle/activate/sms`, LINK, ACTIVATE],
]

test('each operation has a row: name, path, fields of the body, and further properties', () => {
  expect(OPERATIONS.map(({ name, path }) => [name, path])).toEqual(TABLE.map(([name, path]) => [name, path]))
})

test.each(TABLE)('%s: %s', (name, path, fields, rest) => {
  const { query = [], credential, polls = false, allowed = 'offered', encoding = 'json' } = rest
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
