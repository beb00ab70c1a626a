import { describe, expect, test } from '@jest/globals'
import { attemptOf } from '../../../src/authn/attempt-of.ts'
import { decide } from '../../../src/authn/decide.ts'
import type { StepOperationId } from '../../../src/authn/operations.ts'
import { type Plan, planStep } from '../../../src/authn/plan-step.ts'
import type { Decision, Facts } from '../../../src/authn/step/decision.ts'
import type { OperationRequest, RecoveryRequest, StateRequest } from '../../../src/authn/step/step-request.ts'
import type { RecoveryChallenge, Transaction } from '../../../src/authn/transaction/transaction.ts'
import type { AuthnReply } from '../../../src/authn/upstream/read-answer.ts'
import {
  ADA,
  answered,
  asJson,
  assessed,
  begun,
  CHALLENGE,
  challenged,
  factsWith,
  NOW,
  refusalOf,
  refusedWith,
  SETTINGS,
  succeeded,
} from '../step-builders.ts'

const AUTHN = '/api/v1/authn'
const PORTAL = 'https://portal.example.com'

type FactorType = RecoveryRequest['body']['factorType']

const startRequest = (
  factorType: FactorType,
  recoveryType: RecoveryRequest['recoveryType'] = 'PASSWORD',
  more: Partial<RecoveryRequest['body']> = {},
): RecoveryRequest => ({ kind: 'recovery', recoveryType, body: { username: 'ada', factorType, ...more } })

const planned = (
  request: RecoveryRequest | StateRequest | OperationRequest,
  before: Transaction = begun(),
  settings: Partial<typeof SETTINGS> = {},
) => planStep(request, before, NOW, { ...SETTINGS, ...settings })

const decided = (
  plan: Plan,
  before: Transaction,
  reply: AuthnReply | undefined,
  facts: Partial<Facts> = {},
) => {
  const read = factsWith({ ...assessed(plan, before, reply), shown: undefined, ...facts })
  return decide(plan, before, reply, read, NOW, SETTINGS)
}

const bodyOf = ({ outcome }: Pick<Decision, 'outcome'>) =>
  outcome.kind === 'answer' ? JSON.parse(outcome.body) : outcome

describe('the start of a recovery', () => {
  test.each([
    ['PASSWORD', 'password', `${AUTHN}/recovery/password`],
    ['UNLOCK', 'unlock', `${AUTHN}/recovery/unlock`],
  ] as const)('%s is sent without the API token, and takes its time', (recoveryType, operation, path) => {
    const request = startRequest('SMS', recoveryType, { relayState: '/x' })
    expect(planned(request)).toEqual({
      kind: 'recovery-start',
      operation,
      attempt: {
        kind: 'recovery',
        operation: 'recovery',
        login: 'ada',
        factorType: 'SMS',
        onlyKnownDevices: false,
      },
      call: {
        path,
        body: { username: 'ada', factorType: 'SMS' },
        bearsToken: false,
        carriesApiToken: false,
      },
      minDurationMs: 2000,
      recoveryType,
      factorType: 'SMS',
      login: 'ada',
      relayState: '/x',
      cooldown: { operation, factorType: 'SMS', login: 'ada' },
      events: [{ audit: 'recovery_started', login: 'ada', fields: { operation, factorType: 'SMS' } }],
    })
  })

  test.each<[FactorType, expected: unknown]>([
    ['SMS', { operation: 'password', factorType: 'SMS', login: 'ada' }],
    ['CALL', { operation: 'password', factorType: 'CALL', login: 'ada' }],
    ['EMAIL', undefined],
  ])('by %s has the cooldown %j', (factorType, expected) => {
    expect('cooldown' in planned(startRequest(factorType))).toBe(expected !== undefined)
    if (expected !== undefined)
      expect(planned(startRequest(factorType))).toMatchObject({ cooldown: expected })
  })

  test('is refused with RECOVERY=off, whoever is named', () => {
    expect(refusalOf(() => planned(startRequest('SMS'), begun(), { recoveryFrom: 'off' }))).toMatchObject({
      error: {
        status: 403,
        code: 'E0000006',
        causes: ['recovery: cannot be started from this browser at present'],
      },
      events: [],
    })
    expect(planned(startRequest('SMS'), begun(), { recoveryFrom: 'known-devices' })).toMatchObject({
      attempt: { onlyKnownDevices: true },
    })
  })
})

/** Okta’s answers to the start of a recovery, and what the broker writes about each. */
const refusal = (code: string) => [
  { metric: 'recoveriesRefused', labels: { code } },
  { log: 'info', event: 'recovery_refused', fields: { upstreamErrorCode: code } },
]
const LEAKED = [
  { metric: 'tokenLeaksBlocked', labels: { found_in: 'recovery' } },
  { log: 'error', event: 'recovery_token_dropped' },
]
const CHALLENGED = answered('RECOVERY_CHALLENGE', { stateToken: '00okta', factorType: 'SMS' })
const STARTS: readonly (readonly [string, AuthnReply, decoy: boolean, events: readonly unknown[]])[] = [
  ['a user', CHALLENGED, false, []],
  ['an unknown user', refusedWith('E0000095'), true, refusal('E0000095')],
  ['a user without a phone', refusedWith('E0000097'), true, refusal('E0000097')],
  ['a user who may not recover', refusedWith('E0000034'), true, refusal('E0000034')],
  ['a code that was sent lately', refusedWith('E0000109', 429), true, refusal('E0000109')],
  ['a recovery token', answered('RECOVERY', { recoveryToken: 'leaked' }), true, LEAKED],
  [
    'a recovery token with a challenge',
    answered('RECOVERY_CHALLENGE', { recoveryToken: 'leaked' }),
    true,
    LEAKED,
  ],
  ['another status', answered('RECOVERY'), true, []],
  ['a challenge without a state token', answered('RECOVERY_CHALLENGE', { stateToken: undefined }), true, []],
]

describe('the answer to the start of a recovery', () => {
  describe.each([
    ['SMS', 'PASSWORD', 'SMS', 'sms'],
    ['CALL', 'UNLOCK', 'call', 'call'],
  ] as const)('by %s, %s', (factorType, recoveryType, spelling, name) => {
    const plan = planned(startRequest(factorType, recoveryType, { relayState: '/x' }))
    const factor = `${PORTAL}${AUTHN}/recovery/factors/${factorType}`
    const post = (href: string) => ({ href, hints: { allow: ['POST'] } })

    test.each(STARTS)('for %s is the same, field by field', (_title, reply, decoy, events) => {
      const before = begun({ createdAtMs: NOW - 5000 })
      const facts = { randomStateToken: '00random' }
      const decision = decided(plan, before, reply, facts)
      const outcome = {
        kind: 'answer',
        status: 200,
        headers: {},
        body: JSON.stringify({
          stateToken: '00handle',
          expiresAt: '2026-11-05T06:05:00.000Z',
          status: 'RECOVERY_CHALLENGE',
          relayState: '/x',
          factorType: spelling,
          recoveryType,
          _links: {
            next: { name: 'verify', ...post(`${factor}/verify`) },
            cancel: post(`${PORTAL}${AUTHN}/cancel`),
            resend: { name, ...post(`${factor}/resend`) },
          },
        }),
      }
      expect(decision).toEqual({
        outcome,
        after: {
          ...before,
          login: 'ada',
          createdAtMs: NOW,
          expiresAtMs: NOW + 300_000,
          stateToken: decoy ? '00random' : '00okta',
          status: 'RECOVERY_CHALLENGE',
          isRecovery: true,
          relayState: '/x',
          offered: ['verify', 'resend']
            .map((step) => ({
              path: `${AUTHN}/recovery/factors/${factorType}/${step}`,
              query: '',
              methods: ['POST'],
            }))
            .concat({ path: `${AUTHN}/cancel`, query: '', methods: ['POST'] }),
          recovery: { factorType, recoveryType, sentAtMs: NOW, decoy, wrongCodes: 0 },
        },
        attempt: { outcome },
        events,
      })
    })
  })

  test.each(STARTS)(
    'by EMAIL for %s is the same, and no transaction begins',
    (_title, reply, _decoy, events) => {
      const outcome = {
        kind: 'answer',
        status: 200,
        headers: {},
        body: '{"status":"RECOVERY_CHALLENGE","factorResult":"WAITING","factorType":"EMAIL","recoveryType":"PASSWORD"}',
      }
      expect(decided(planned(startRequest('EMAIL')), begun(), reply)).toEqual({
        outcome,
        after: undefined,
        attempt: { outcome },
        events,
      })
    },
  )

  test.each<[FactorType]>([['EMAIL'], ['SMS'], ['CALL']])(
    'by %s shows Okta’s failures and its rate limit',
    (factorType) => {
      const plan = planned(startRequest(factorType))
      const refused = (reply: AuthnReply) => refusalOf(() => decided(plan, begun(), reply))
      expect(refused(refusedWith('E0000009', 500))).toMatchObject({
        error: { status: 502, code: 'E0000009', cause: { outcome: 'invalid_response', upstreamStatus: 500 } },
        events: [],
      })
      const headers = { 'X-Rate-Limit-Limit': '40', 'X-Rate-Limit-Reset': '1793858460', 'Retry-After': '17' }
      expect(refused(refusedWith('E0000047', 429, {}, headers))).toMatchObject({
        error: { status: 429, code: 'E0000047', headers: { ...headers, 'X-Rate-Limit-Remaining': '0' } },
        events: [],
      })
      expect(refused(refusedWith('E0000047', 429))).toMatchObject({
        error: { headers: { 'Retry-After': '60' } },
      })
    },
  )
})

const operation = (id: StepOperationId, fields: OperationRequest['fields'] = {}): OperationRequest => ({
  kind: 'operation',
  handle: '00handle',
  operation: id,
  params: { type: 'SMS' },
  query: {},
  search: '',
  fields,
})
const verify = operation('verifyRecoveryFactor', { passCode: '123456' })
const resend = operation('resendRecoveryFactor')
const cancel = operation('cancel')
const state: StateRequest = { kind: 'state', handle: '00handle', fields: {} }

describe('a step while a code is awaited', () => {
  const factor = `${AUTHN}/recovery/factors/SMS`
  const call = { bearsToken: true, carriesApiToken: false }
  const body = { stateToken: '00state' }

  /** A decoy’s step goes to the same path with its random token. */
  test.each([[false], [true]])('has the same plan for a user and a decoy (%s)', (decoy) => {
    const before = challenged({ decoy })
    const challenge = { ...CHALLENGE, decoy }
    const attempt = (kind: string, name: string) => ({
      kind,
      operation: name,
      login: 'ada',
      handle: '00handle',
    })
    const common = { challenge, minDurationMs: 2000, events: [] }
    expect(planned(verify, before)).toEqual({
      ...common,
      kind: 'recovery-verify',
      operation: 'recovery_verify',
      attempt: attempt('code', 'recovery_verify'),
      call: { ...call, path: `${factor}/verify`, body: { ...body, passCode: '123456' } },
    })
    expect(planned(resend, before)).toEqual({
      ...common,
      kind: 'recovery-resend',
      operation: 'recovery_resend',
      attempt: attempt('message', 'recovery_resend'),
      call: { ...call, path: `${factor}/resend`, body },
      cooldown: { operation: 'recovery_resend', factorType: 'SMS', login: 'ada' },
    })
    expect(planned(cancel, before)).toEqual({
      ...common,
      kind: 'recovery-cancel',
      operation: 'cancel',
      attempt: attempt('call', 'cancel'),
      call: { ...call, carriesApiToken: true, path: `${AUTHN}/cancel`, body },
    })
    expect(planned(state, before)).toEqual({
      ...common,
      kind: 'recovery-state',
      operation: 'state',
      attempt: { kind: 'call', operation: 'state', login: 'ada' },
      call: undefined,
      minDurationMs: 0,
    })
  })

  test.each<[string, StateRequest | OperationRequest, Partial<RecoveryChallenge>, number, string, string?]>([
    ['a fifth code', verify, { wrongCodes: 4 }, 403, 'E0000069'],
    ['a code too soon', resend, { sentAtMs: NOW - 30_001 }, 429, 'E0000109', '1'],
    [
      'a call too soon',
      { ...resend, params: { type: 'CALL' } },
      { factorType: 'CALL', sentAtMs: NOW },
      429,
      'E0000133',
      '31',
    ],
    ['credentials', { ...state, fields: { username: 'ada', password: 'x' } }, {}, 403, 'E0000079'],
    ['a step back', operation('previous'), {}, 403, 'E0000079'],
  ])('is refused at once if it is %s', (_title, request, challenge, status, code, retryAfter = undefined) => {
    for (const decoy of [false, true]) {
      const error = refusalOf(() => planned(request, challenged({ ...challenge, decoy })))
      expect(error).toMatchObject({ error: { status, code }, events: [] })
      if (retryAfter !== undefined)
        expect(error).toMatchObject({ error: { headers: { 'Retry-After': retryAfter } } })
    }
  })

  test('is not refused before that', () => {
    expect(planned(verify, challenged({ wrongCodes: 3 })).kind).toBe('recovery-verify')
    expect(planned(resend, challenged({ sentAtMs: NOW - 31_000 })).kind).toBe('recovery-resend')
  })
})

const answerTo = (
  request: StateRequest | OperationRequest,
  reply: AuthnReply | undefined,
  before: Transaction,
) => decided(planned(request, before), before, reply)

/** Whatever Okta answers, a user and a decoy are answered alike. */
describe('the answer while a code is awaited', () => {
  const upstreamError = (status: number, code: string) => ({
    log: 'info',
    event: 'upstream_error',
    fields: { upstream: 'authn', upstreamStatus: status, upstreamErrorCode: code, upstreamErrorId: 'oae-1' },
  })
  const failed = (more: object) => ({
    audit: 'factor_failed',
    login: 'ada',
    fields: { operation: 'recovery_verify', factorType: 'SMS', ...more },
  })
  const ofDecoy = [failed({})]
  const ofUser = (status: number, code: string, ...audits: readonly unknown[]) => [
    upstreamError(status, code),
    { metric: 'signInSteps', labels: { operation: 'recovery_verify', status: code } },
    ...audits,
  ]
  const wrong = {
    kind: 'refusal',
    status: 403,
    code: 'E0000068',
    summary: 'Invalid Passcode/Answer',
    causes: ["Your token doesn't match our records. Please try again."],
    headers: {},
  }

  test.each<[string, AuthnReply, decoy: boolean, events: readonly unknown[]]>([
    [
      'a wrong code',
      refusedWith('E0000068'),
      false,
      ofUser(403, 'E0000068', failed({ upstreamErrorCode: 'E0000068' })),
    ],
    [
      'a locked user',
      refusedWith('E0000069'),
      false,
      ofUser(403, 'E0000069', failed({ upstreamErrorCode: 'E0000069' })),
    ],
    ['an expired token', refusedWith('E0000011', 401), false, ofUser(401, 'E0000011')],
    ['an unknown code', refusedWith('E0000222', 400), false, ofUser(400, 'E0000222')],
    ['a decoy', refusedWith('E0000011', 401), true, ofDecoy],
    ['a decoy that Okta accepts', answered('RECOVERY'), true, ofDecoy],
  ])('to %s is that it is wrong, which is counted', (_title, reply, decoy, events) => {
    const before = challenged({ decoy, wrongCodes: 2 })
    expect(answerTo(verify, reply, before)).toEqual({
      outcome: wrong,
      after: { ...before, recovery: { ...CHALLENGE, decoy, wrongCodes: 3 } },
      attempt: { outcome: wrong },
      events,
    })
  })

  test.each<[string, AuthnReply, decoy: boolean, events: readonly unknown[]]>([
    ['a user', answered('RECOVERY_CHALLENGE'), false, []],
    ['a user whom Okta refuses', refusedWith('E0000109', 429), false, [upstreamError(429, 'E0000109')]],
    ['a decoy', refusedWith('E0000011', 401), true, []],
  ])('to a request for another code of %s has the same fields', (_title, reply, decoy, events) => {
    const before = challenged({ decoy, wrongCodes: 2 })
    const decision = answerTo(resend, reply, before)
    expect(decision).toMatchObject({
      after: {
        ...before,
        expiresAtMs: NOW + 300_000,
        recovery: { ...CHALLENGE, decoy, wrongCodes: 2, sentAtMs: NOW },
      },
      attempt: { outcome: decision.outcome },
      events,
    })
    expect(bodyOf(decision)).toMatchObject({
      stateToken: '00handle',
      status: 'RECOVERY_CHALLENGE',
      expiresAt: '2026-11-05T06:05:00.000Z',
    })
  })

  test.each([[false], [true]])('to a request for the state changes nothing; decoy: %s', (decoy) => {
    const before = challenged({ decoy })
    const decision = answerTo(state, undefined, before)
    expect(decision.after).toBe(before)
    expect(decision.events).toEqual([])
    expect(bodyOf(decision)).toMatchObject({
      stateToken: '00handle',
      status: 'RECOVERY_CHALLENGE',
      expiresAt: '2026-11-05T06:04:00.000Z',
    })
  })

  test.each<[string, AuthnReply, decoy: boolean, events: readonly unknown[]]>([
    ['a user', answered('', { relayState: '/okta' }), false, []],
    ['a user whom Okta refuses', refusedWith('E0000079'), false, [upstreamError(403, 'E0000079')]],
    ['a decoy', refusedWith('E0000011', 401), true, []],
  ])('to a cancel of %s ends the transaction', (_title, reply, decoy, events) => {
    for (const relayState of [undefined, '/x']) {
      const body = relayState === undefined ? '{}' : '{"relayState":"/x"}'
      const outcome = { kind: 'answer', status: 200, body, headers: {} }
      const before = challenged({ decoy }, { relayState })
      expect(answerTo(cancel, reply, before)).toEqual({
        outcome,
        after: undefined,
        attempt: { outcome },
        events,
      })
    }
  })

  test.each<[string, OperationRequest, audited: readonly unknown[]]>([
    [
      'a code',
      verify,
      [{ metric: 'signInSteps', labels: { operation: 'recovery_verify', status: 'E0000009' } }],
    ],
    ['another code', resend, []],
    ['a cancel', cancel, []],
  ])(
    'to %s shows Okta’s failures and its rate limit, alike for a user and a decoy',
    (_title, request, audited) => {
      const refused = (reply: AuthnReply, decoy: boolean) =>
        refusalOf(() => answerTo(request, reply, challenged({ decoy })))
      const failure = {
        status: 503,
        code: 'E0000009',
        headers: { 'Retry-After': '1' },
        cause: { upstreamStatus: 500 },
      }
      const failing = refusedWith('E0000009', 500)
      expect(refused(failing, true)).toMatchObject({ error: failure, events: [] })
      expect(refused(failing, false)).toMatchObject({
        error: failure,
        events: [upstreamError(500, 'E0000009'), ...audited],
      })
      for (const decoy of [false, true])
        expect(refused(refusedWith('E0000047', 429, {}, { 'Retry-After': '17' }), decoy)).toMatchObject({
          error: { status: 429, code: 'E0000047', headers: { 'Retry-After': '17' } },
        })
    },
  )
})

describe('a right code', () => {
  const before = challenged({ wrongCodes: 2 }, { relayState: '/x' })
  const shown = { text: '{"shown":true}', offered: [] }

  test('continues like a step of a sign-in, and proves no user', () => {
    const reply = answered('RECOVERY', { _embedded: { user: ADA } })
    const decision = decided(planned(verify, before), before, reply, { shown })
    const outcome = { kind: 'answer', status: 200, body: '{"shown":true}', headers: {} }
    expect(decision).toEqual({
      outcome,
      after: {
        ...before,
        status: 'RECOVERY',
        userId: '00u1',
        recovery: undefined,
        expiresAtMs: NOW + 300_000,
      },
      attempt: { outcome, status: 'RECOVERY' },
      unlessEnded: { userId: '00u1', sinceMs: NOW - 60_000 },
      offers: [],
      events: [{ metric: 'signInSteps', labels: { operation: 'recovery_verify', status: 'RECOVERY' } }],
    })
  })

  test('opens no session, whatever Okta answers', () => {
    const decision = decided(planned(verify, before), before, succeeded(), { shown })
    expect([decision.opens, decision.after]).toEqual([undefined, undefined])
  })
})

test('plans and decisions are plain data', () => {
  const before = challenged()
  const plans = [startRequest('SMS'), startRequest('EMAIL')].map((request) => planned(request))
  const steps = [verify, resend, cancel, state].map((request) => planned(request, before))
  const decisions = [...plans, ...steps].map((plan) =>
    decided(plan, before, plan.call === undefined ? undefined : refusedWith('E0000068')),
  )
  for (const value of [...plans, ...steps, ...decisions]) expect(asJson(value)).toEqual(value)
})

test('the attempt is counted by login, before the user is known', () => {
  expect(attemptOf(startRequest('EMAIL', 'UNLOCK'), SETTINGS)).toEqual({
    kind: 'recovery',
    operation: 'recovery',
    login: 'ada',
    factorType: 'EMAIL',
    onlyKnownDevices: false,
  })
})
