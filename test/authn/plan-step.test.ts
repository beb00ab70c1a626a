import { describe, expect, test } from '@jest/globals'
import { attemptOf } from '../../src/authn/attempt-of.ts'
import { OPERATIONS, type StepOperationId } from '../../src/authn/operations.ts'
import { planStep } from '../../src/authn/plan-step.ts'
import { StepRefusedError } from '../../src/authn/step/step-refused.ts'
import type { OperationRequest, StateRequest, StepRequest } from '../../src/authn/step/step-request.ts'
import type { Transaction } from '../../src/authn/transaction/transaction.ts'
import {
  afterPassword,
  asJson,
  begun,
  challenged,
  imported,
  NOW,
  offers,
  refusalOf,
  SETTINGS,
  transactionWith,
} from './step-builders.ts'

const AUTHN = '/api/v1/authn'
/** Okta’s two paths of a factor that is set up. */
const FACTOR = '/factors/f1/lifecycle'
const USER = '/users/u1/factors/f1/lifecycle'
const CREDENTIALS = { username: 'ada', password: 'plainly-fake' }
const PASSWORD = { kind: 'password', provesUser: true, amr: 'pwd' }

const plan = (request: StepRequest, before: Transaction, settings: Partial<typeof SETTINGS> = {}) =>
  planStep(request, before, NOW, { ...SETTINGS, ...settings })

const stateRequest = (fields: StateRequest['fields'] = {}): StateRequest => ({
  kind: 'state',
  handle: '00handle',
  fields,
})

const operation = (
  id: StepOperationId,
  fields: OperationRequest['fields'] = {},
  more: Partial<OperationRequest> = {},
): OperationRequest => {
  const params = { id: 'f1', uid: 'u1', type: 'SMS' }
  return {
    kind: 'operation',
    handle: '00handle',
    operation: id,
    params,
    query: {},
    search: '',
    fields,
    ...more,
  }
}

/** In which every operation is offered. */
const offering = (more: Partial<Transaction> = {}) =>
  afterPassword({ offered: offers(...OPERATIONS.map(({ path }) => withIds(path))), ...more })

const withIds = (path: string) => path.replace(':uid', 'u1').replace(':id', 'f1').replace(':type', 'SMS')

/** What the plans of a sign-in have in common. */
const ORDINARY = {
  kind: 'sign-in',
  endsOtherSessions: false,
  changesPassword: false,
  minDurationMs: 0,
  events: [],
}

describe('a request that begins a sign-in', () => {
  const started = (login: string | undefined) => ({
    audit: 'sign_in_started',
    login,
    fields: { operation: 'primary' },
  })

  test('with a password sends it as it is', () => {
    const body = { ...CREDENTIALS, options: { warnBeforePasswordExpired: true }, relayState: '/x' }
    expect(plan({ kind: 'sign-in', body }, begun({ login: 'ada' }))).toEqual({
      ...ORDINARY,
      operation: 'primary',
      attempt: { kind: 'password', operation: 'primary', login: 'ada' },
      call: { path: AUTHN, body, bearsToken: false, carriesApiToken: true },
      proof: PASSWORD,
      isUserStored: false,
      events: [started('ada')],
    })
  })

  test('with an activation token proves one factor, but not the user', () => {
    const body = { token: 'activation' }
    expect(plan({ kind: 'sign-in', body }, begun())).toEqual({
      ...ORDINARY,
      operation: 'primary',
      attempt: { kind: 'token', operation: 'primary' },
      call: { path: AUTHN, body, bearsToken: true, carriesApiToken: true },
      proof: { kind: 'password', provesUser: false, amr: 'otp' },
      isUserStored: false,
      events: [started(undefined)],
    })
  })

  test('with the token of a recovery email proves nothing, and carries no API token', () => {
    const body = { recoveryToken: 'recovery' }
    expect(plan({ kind: 'recovery-token', body }, begun({ isRecovery: true }))).toEqual({
      ...ORDINARY,
      operation: 'recovery_token',
      attempt: { kind: 'token', operation: 'recovery_token' },
      call: { path: `${AUTHN}/recovery/token`, body, bearsToken: true, carriesApiToken: false },
      isUserStored: false,
      events: [{ audit: 'recovery_started', fields: { operation: 'token' } }],
    })
  })
})

describe('a request for the state', () => {
  test('sends the state token and the other fields', () => {
    expect(plan(stateRequest({ relayState: '/x' }), afterPassword())).toEqual({
      ...ORDINARY,
      operation: 'state',
      attempt: { kind: 'call', operation: 'state', userId: '00u1', login: 'ada' },
      call: {
        path: AUTHN,
        body: { relayState: '/x', stateToken: '00state' },
        bearsToken: true,
        carriesApiToken: true,
      },
      isUserStored: true,
    })
  })

  const external = { kind: 'factor', provesUser: false, amr: 'mfa' }
  test.each([
    ['MFA_CHALLENGE', true, external],
    ['MFA_CHALLENGE', false, undefined],
    ['MFA_REQUIRED', true, undefined],
    ['FACTOR_CHALLENGE', true, undefined],
  ])('in %s, after an accepted credential: %s, may prove %j', (status, credentialAccepted, proof) => {
    expect(plan(stateRequest(), transactionWith({ status, credentialAccepted }))).toHaveProperty(
      'proof',
      proof,
    )
  })

  test('in a transaction whose user is not known', () => {
    expect(plan(stateRequest(), transactionWith())).toMatchObject({
      isUserStored: false,
      attempt: { kind: 'call', operation: 'state' },
    })
  })
})

describe('credentials in a transaction', () => {
  const call = {
    path: AUTHN,
    body: { ...CREDENTIALS, stateToken: '00state' },
    bearsToken: true,
    carriesApiToken: true,
  }
  const attempt = { kind: 'password', operation: 'primary', login: 'ada' }

  test('name and prove the user if Okta awaits them', () => {
    expect(plan(stateRequest(CREDENTIALS), transactionWith({ status: 'UNAUTHENTICATED' }))).toEqual({
      ...ORDINARY,
      operation: 'primary',
      attempt,
      call,
      login: 'ada',
      proof: PASSWORD,
      isUserStored: false,
    })
  })

  test.each(['MFA_REQUIRED', 'MFA_CHALLENGE', 'PASSWORD_EXPIRED', 'SUCCESS', ''])(
    'prove nothing in %j, because Okta may ignore them',
    (status) => {
      const before = afterPassword({ status })
      const expected = { ...ORDINARY, operation: 'primary', attempt, call, isUserStored: true }
      expect(plan(stateRequest(CREDENTIALS), before)).toEqual(expected)
    },
  )
})

const CHANGE = { oldPassword: 'o', newPassword: 'n' }
const RESET = { newPassword: 'n' }
const CODE = { passCode: '1' }
const DUO = { sig_response: 's' }

/**
 * Every operation with a factor of type `sms`: what it is called, its path, whether its call
 * carries the API token (`sign-in`: not in a recovery), the kind of attempt, and the authentication
 * method that it may prove, with `*` if it proves the user.
 */
const TABLE: readonly (readonly [
  id: StepOperationId,
  fields: OperationRequest['fields'],
  name: string,
  path: string,
  apiToken: 'always' | 'never' | 'sign-in',
  attempt: string,
  amr: string,
])[] = [
  ['cancel', {}, 'cancel', '/cancel', 'always', 'call', 'none'],
  ['previous', {}, 'previous', '/previous', 'always', 'call', 'none'],
  ['skip', {}, 'skip', '/skip', 'always', 'call', 'none'],
  ['changePassword', CHANGE, 'change_password', '/credentials/change_password', 'always', 'password', 'pwd*'],
  ['resetPassword', RESET, 'reset_password', '/credentials/reset_password', 'sign-in', 'call', 'none'],
  ['answerRecoveryQuestion', { answer: 'a' }, 'recovery_answer', '/recovery/answer', 'never', 'code', 'none'],
  ['verifyRecoveryFactor', CODE, 'recovery_verify', '/recovery/factors/SMS/verify', 'never', 'code', 'none'],
  ['resendRecoveryFactor', {}, 'recovery_resend', '/recovery/factors/SMS/resend', 'never', 'message', 'none'],
  ['enrollFactor', { factorType: 'sms' }, 'enroll', '/factors', 'always', 'message', 'none'],
  ['verifyFactor', CODE, 'verify', '/factors/f1/verify', 'always', 'code', 'sms*'],
  ['resendChallenge', {}, 'resend', '/factors/f1/verify/resend', 'always', 'message', 'none'],
  ['activateFactor', CODE, 'activate', `${FACTOR}/activate`, 'always', 'code', 'none'],
  ['pollActivation', {}, 'activate_poll', `${FACTOR}/activate/poll`, 'always', 'call', 'none'],
  ['completeDuo', DUO, 'duo_callback', `${FACTOR}/duoCallback`, 'always', 'code', 'none'],
  ['resendActivation', {}, 'activate_resend', `${FACTOR}/resend`, 'always', 'message', 'none'],
  ['mailActivationLink', {}, 'activate_email', `${FACTOR}/activate/email`, 'never', 'message', 'none'],
  ['textActivationLink', {}, 'activate_sms', `${FACTOR}/activate/sms`, 'never', 'message', 'none'],
  ['activateUserFactor', {}, 'activate', `${USER}/activate`, 'never', 'call', 'none'],
  ['mailUserActivationLink', {}, 'activate_email', `${USER}/activate/email`, 'never', 'message', 'none'],
  ['textUserActivationLink', {}, 'activate_sms', `${USER}/activate/sms`, 'never', 'message', 'none'],
]

describe('an operation', () => {
  test('each has a row: fields, name, path, API token, attempt and authentication method', () => {
    expect(TABLE.map(([id]) => id)).toEqual(OPERATIONS.map(({ id }) => id))
  })

  test.each(TABLE)('%s with %j is %s at %s', (id, fields, name, place, apiToken, kind, amr) => {
    const factorTypes = { f1: 'sms' }
    const planned = plan(operation(id, fields), offering({ factorTypes }))
    expect(planned).toMatchObject({
      kind: 'sign-in',
      operation: name,
      attempt: { kind, operation: name, userId: '00u1', login: 'ada', handle: '00handle', factorType: 'sms' },
      minDurationMs: 0,
      endsOtherSessions: false,
      changesPassword: name === 'change_password' || name === 'reset_password',
      isUserStored: true,
      factorType: 'sms',
      factorId: 'f1',
      events: [],
    })
    expect(planned.call).toEqual({
      path: place.startsWith(USER) ? `/api/v1${place}` : AUTHN + place,
      body: { stateToken: '00state', ...fields },
      bearsToken: true,
      carriesApiToken: apiToken !== 'never',
      encoding: id === 'completeDuo' ? 'form' : 'json',
    })
    const proof = 'proof' in planned ? planned.proof : undefined
    expect(proof === undefined ? 'none' : `${proof.amr}${proof.provesUser ? '*' : ''}`).toBe(amr)
    const inRecovery = plan(operation(id, fields), offering({ factorTypes, isRecovery: true }))
    expect(inRecovery.call?.carriesApiToken).toBe(apiToken === 'always')
  })

  test.each(OPERATIONS.map(({ id }) => id))('%s has a plan of plain data', (id) => {
    for (const before of [offering(), offering({ ...imported(), offered: offering().offered })]) {
      const planned = plan(operation(id), before)
      expect(asJson(planned)).toEqual(planned)
    }
  })

  test.each<[fields: OperationRequest['fields'], id: StepOperationId, path: string | undefined]>([
    [{}, 'verifyFactor', `${AUTHN}/factors/f1/verify`],
    [{ passCode: '' }, 'verifyFactor', `${AUTHN}/factors/f1/verify`],
    [{ passCode: '1' }, 'verifyFactor', undefined],
    [{}, 'pollActivation', `${AUTHN}/factors/f1/lifecycle/activate/poll`],
    [{}, 'resendChallenge', undefined],
  ])('with %j is a poll if it is %s: %s', (fields, id, pollPath) => {
    expect(plan(operation(id, fields), offering())).toHaveProperty('pollPath', pollPath)
  })

  const NEW = { newPassword: 'n' }
  test.each<[id: StepOperationId, fields: OperationRequest['fields'], isRecovery: boolean, ends: boolean]>([
    ['changePassword', NEW, false, false],
    ['changePassword', NEW, true, false],
    ['changePassword', { ...NEW, revokeSessions: true }, false, true],
    ['changePassword', { ...NEW, revokeSessions: false }, false, false],
    ['resetPassword', NEW, false, false],
    ['resetPassword', { ...NEW, revokeSessions: true }, false, true],
    ['resetPassword', NEW, true, true], // Okta ends its own sessions too (R5)
    ['resetPassword', { ...NEW, revokeSessions: false }, true, false],
    ['resetPassword', { ...NEW, revokeSessions: true }, true, true],
  ])('%s with %j, in a recovery: %s, ends other sessions: %s', (id, fields, isRecovery, ends) => {
    expect(plan(operation(id, fields), offering({ isRecovery }))).toHaveProperty('endsOtherSessions', ends)
  })

  test.each<
    [name: string, fields: OperationRequest['fields'], before: Partial<Transaction>, expected: unknown]
  >([
    [
      'enroll',
      { factorType: 'sms', provider: 'OKTA' },
      {},
      { factorType: 'sms', provider: 'OKTA', updatesPhone: false, replaces: false },
    ],
    [
      'enroll',
      { factorType: 'sms', provider: 'OKTA' },
      { activeFactors: ['sms OKTA'] },
      { factorType: 'sms', provider: 'OKTA', updatesPhone: false, replaces: true },
    ],
    [
      'activate',
      {},
      { factorTypes: { f1: 'sms' } },
      { factorType: 'sms', updatesPhone: false, replaces: false },
    ],
    ['verify', {}, { factorTypes: { f1: 'sms' } }, undefined],
  ])('%s with %j sets up a factor: %j', (name, fields, before, expected) => {
    const [id] = OPERATIONS.filter((row) => row.name === name).map((row) => row.id)
    expect(plan(operation(id ?? 'skip', fields), offering(before))).toHaveProperty('enrollment', expected)
  })

  test('with updatePhone=true changes the user’s phone', () => {
    const enroll = operation('enrollFactor', { factorType: 'sms' }, { query: { updatePhone: 'true' } })
    expect(plan(enroll, offering())).toMatchObject({
      call: { path: `${AUTHN}/factors?updatePhone=true` },
      enrollment: { factorType: 'sms', updatesPhone: true, replaces: false },
    })
  })
})

/** The link that was offered, the browser's request, and what is sent. */
describe('the query of the call', () => {
  const VERIFY = `${AUTHN}/factors/f1/verify`
  const { rememberDevice, autoPush } = { rememberDevice: 'true', autoPush: 'false' } as const
  test.each<[links: string[], search: string, query: OperationRequest['query'], sent: string]>([
    [[''], '', {}, ''],
    [[''], '?rememberDevice=true', { rememberDevice }, '?rememberDevice=true'],
    [[''], '?x=1', {}, ''],
    [['?rememberDevice=true'], '?rememberDevice=true', { rememberDevice }, '?rememberDevice=true'],
    [['?rememberDevice=true'], '', {}, ''],
    [['?a=b%20c'], '?a=b+c&autoPush=false', { autoPush }, '?a=b%20c&autoPush=false'],
    [['?a=b'], '?a=other', {}, ''],
    [['?a=1&b=2'], '?a=1', {}, ''],
    [['?a=1', ''], '?a=1', {}, '?a=1'],
    [[''], '', { rememberDevice, autoPush: undefined }, '?rememberDevice=true'],
    [['?stateToken=00real'], '?stateToken=00handle', {}, '?stateToken=00real'],
    [['?stateToken=00real'], '', {}, ''],
    [['?a=1', '?a=1&b=2'], '?a=1&b=2', {}, '?a=1&b=2'],
    [['?a=1&b=2', '?a=1'], '?a=1&b=2', {}, '?a=1'], // the newest that the request follows
  ])('offered %j, asked %j with %j: %j', (links, search, query, sent) => {
    const before = afterPassword({ offered: offers(VERIFY, ...links.map((link) => VERIFY + link)) })
    const { call } = plan(operation('verifyFactor', {}, { search, query }), before)
    expect(call?.path).toBe(VERIFY + sent)
  })

  test('is not that of another path', () => {
    const before = afterPassword({ offered: offers(VERIFY, `${AUTHN}/skip?a=1`) })
    const { call } = plan(operation('verifyFactor', {}, { search: '?a=1' }), before)
    expect(call?.path).toBe(VERIFY)
  })
})

/** Another person may hold its state token, and advance it at Okta at any time. */
describe('in an imported transaction', () => {
  const offered = offers(
    `${AUTHN}/factors/f1/verify`,
    `${AUTHN}/credentials/change_password`,
    `${AUTHN}/skip`,
  )
  const factorTypes = { f1: 'sms' }
  const requestsState = {
    operation: 'state',
    call: { path: AUTHN, body: { stateToken: '00state' }, bearsToken: true, carriesApiToken: true },
    proof: undefined,
  }

  test('credentials follow the state, which gets the other fields', () => {
    const request = stateRequest({ ...CREDENTIALS, relayState: '/x' })
    expect(plan(request, imported({ status: 'UNAUTHENTICATED' }))).toEqual({
      ...ORDINARY,
      ...requestsState,
      call: { ...requestsState.call, body: { relayState: '/x', stateToken: '00state' } },
      attempt: { kind: 'password', operation: 'primary', login: 'ada' },
      credential: request,
      isUserStored: false,
    })
  })

  test('credentials follow the state also if they were not awaited by the last answer', () => {
    const request = stateRequest(CREDENTIALS)
    expect(plan(request, imported({ status: 'MFA_REQUIRED' }))).toMatchObject({
      ...requestsState,
      credential: request,
    })
  })

  test('a code follows the state, and is counted as a code', () => {
    const request = operation('verifyFactor', { passCode: '1' })
    expect(plan(request, imported({ userId: '00u1', offered, factorTypes }))).toEqual({
      ...ORDINARY,
      ...requestsState,
      attempt: {
        kind: 'code',
        operation: 'verify',
        userId: '00u1',
        login: undefined,
        handle: '00handle',
        factorType: 'sms',
      },
      credential: request,
      isUserStored: true,
    })
  })

  test('a password change is announced before anything is sent', () => {
    const request = operation('changePassword', { oldPassword: 'o', newPassword: 'n' })
    expect(plan(request, imported({ userId: '00u1', offered }))).toMatchObject({
      ...requestsState,
      attempt: { kind: 'password', operation: 'change_password' },
      credential: request,
      changesPassword: true,
    })
  })

  test.each<[string, StepRequest, operation: string]>([
    ['a request for the state', stateRequest(), 'state'],
    ['a step without a credential', operation('skip'), 'skip'],
    ['a request for a code', operation('verifyFactor'), 'verify'],
  ])('%s is sent at once', (_title, request, name) => {
    const planned = plan(request, imported({ offered, factorTypes }))
    expect(planned).toMatchObject({ operation: name, proof: undefined })
    expect(planned).not.toHaveProperty('credential')
  })

  test('a code is sent at once after an accepted credential', () => {
    const before = imported({ credentialAccepted: true, offered, factorTypes })
    const planned = plan(operation('verifyFactor', { passCode: '1' }), before)
    expect(planned).toMatchObject({
      operation: 'verify',
      proof: { kind: 'factor', provesUser: true, amr: 'sms' },
    })
    expect(planned).not.toHaveProperty('credential')
  })
})

test('a redirect needs no call, and counts as no attempt', () => {
  const path = '/login/step-up/redirect'
  for (const before of [afterPassword(), transactionWith({ origin: 'redirect-only' })])
    expect(plan({ kind: 'redirect', handle: '00handle', path }, before)).toEqual({
      kind: 'redirect',
      operation: 'redirect',
      path,
      minDurationMs: 0,
      events: [],
    })
})

describe('refused before anything is sent', () => {
  const offered = offers(`${AUTHN}/factors/f1/verify`, `${AUTHN}/factors`)
  const counted = (reason: string) => [{ metric: 'requestsRefused', labels: { reason } }]
  const hiddenFactors = new Set(['sms'])
  const factorTypes = { f1: 'sms' }

  const over = transactionWith({ origin: 'redirect-only' })
  const open = afterPassword({ offered })
  const getOnly = afterPassword({ offered: [{ path: `${AUTHN}/skip`, query: '', methods: ['GET'] }] })
  const otherFactor = operation('verifyFactor', {}, { params: { id: 'f2' } })
  const enrollHidden = operation('enrollFactor', { factorType: 'SMS' })

  test.each<[string, StepRequest, Transaction, status: number, code: string, reason: string]>([
    ['the state after the end', stateRequest(), over, 401, 'E0000011', 'unknown_handle'],
    ['a step after the end', operation('cancel'), over, 401, 'E0000011', 'unknown_handle'],
    ['a step that was not offered', operation('skip'), open, 403, 'E0000079', 'not_offered'],
    ['a step that was offered for GET', operation('skip'), getOnly, 403, 'E0000079', 'not_offered'],
    ['a step that was offered for another factor', otherFactor, open, 403, 'E0000079', 'not_offered'],
    [
      'a step that a recovery does not offer',
      operation('skip'),
      challenged(),
      403,
      'E0000079',
      'not_offered',
    ],
    [
      'a hidden factor',
      operation('verifyFactor'),
      { ...open, factorTypes },
      403,
      'E0000079',
      'hidden_factor',
    ],
    ['the enrollment of a hidden factor', enrollHidden, open, 403, 'E0000079', 'hidden_factor'],
  ])('%s', (_title, request, before, status, code, reason) => {
    const refusal = refusalOf(() => plan(request, before, { hiddenFactors }))
    expect(refusal).toBeInstanceOf(StepRefusedError)
    expect(refusal).toMatchObject({ error: { code, status }, events: counted(reason) })
  })

  test('but never cancel and previous, which need no offer', () => {
    for (const id of ['cancel', 'previous'] as const)
      expect(plan(operation(id), afterPassword())).toMatchObject({ operation: id })
  })
})

describe('the attempt that is reserved before the transaction is read', () => {
  test.each<[StepRequest, expected: unknown]>([
    [
      { kind: 'sign-in', body: CREDENTIALS },
      { kind: 'password', operation: 'primary', login: 'ada' },
    ],
    [
      { kind: 'sign-in', body: { token: 't' } },
      { kind: 'token', operation: 'primary' },
    ],
    [
      { kind: 'recovery-token', body: { recoveryToken: 'r' } },
      { kind: 'token', operation: 'recovery_token' },
    ],
    [stateRequest(CREDENTIALS), { kind: 'call', operation: 'state' }],
    [operation('verifyFactor', { passCode: '1' }), { kind: 'call', operation: 'verify' }],
    [{ kind: 'redirect', handle: '00handle', path: '/x' }, undefined],
  ])('%j: %j', (request, expected) => {
    expect(attemptOf(request, SETTINGS)).toEqual(expected)
  })

  test.each([
    ['on', false],
    ['off', false],
    ['known-devices', true],
  ] as const)(
    'of a recovery with RECOVERY=%s, only on known devices: %s',
    (recoveryFrom, onlyKnownDevices) => {
      const body = { username: 'ada', factorType: 'SMS' } as const
      const request = { kind: 'recovery', recoveryType: 'PASSWORD', body } as const
      expect(attemptOf(request, { ...SETTINGS, recoveryFrom })).toEqual({
        kind: 'recovery',
        operation: 'recovery',
        login: 'ada',
        factorType: 'SMS',
        onlyKnownDevices,
      })
    },
  )
})
