import { describe, expect, test } from '@jest/globals'
import { decide } from '../../src/authn/decide.ts'
import type { StepOperationId } from '../../src/authn/operations.ts'
import type { Decision, Facts } from '../../src/authn/step/decision.ts'
import type { SignInPlan } from '../../src/authn/step/plan.ts'
import type { OperationRequest, StateRequest } from '../../src/authn/step/step-request.ts'
import type { Transaction } from '../../src/authn/transaction/transaction.ts'
import type { AuthnReply } from '../../src/authn/upstream/read-answer.ts'
import {
  ADA,
  afterPassword,
  answered,
  asJson,
  assessed,
  begun,
  factsWith,
  imported,
  NOW,
  offers,
  redirectTo,
  refusalOf,
  refusedWith,
  SETTINGS,
  sessionOf,
  succeeded,
  transactionWith,
} from './step-builders.ts'

const AUTHN = '/api/v1/authn'
const PASSWORD = { kind: 'password', provesUser: true, amr: 'pwd' } as const
const ACTIVATION = { kind: 'password', provesUser: false, amr: 'otp' } as const
const SMS = { kind: 'factor', provesUser: true, amr: 'sms' } as const
const NAMED = { _embedded: { user: ADA } }

/** A plan of a step that sends nothing special. */
function planOf(more: Partial<SignInPlan> = {}): SignInPlan {
  return {
    kind: 'sign-in',
    operation: 'verify',
    attempt: { kind: 'code', operation: 'verify' },
    call: { path: `${AUTHN}/x`, body: { stateToken: '00state' }, bearsToken: true, carriesApiToken: true },
    proof: undefined,
    endsOtherSessions: false,
    changesPassword: false,
    minDurationMs: 0,
    events: [],
    isUserStored: true,
    ...more,
  }
}

/** Primary authentication. */
const primary = (more: Partial<SignInPlan> = {}) =>
  planOf({ operation: 'primary', proof: PASSWORD, isUserStored: false, ...more })

const decided = (
  plan: SignInPlan,
  before: Transaction,
  reply: AuthnReply,
  facts: Partial<Facts> = {},
  isOfUser = true,
): Decision => {
  const read = factsWith({ ...assessed(plan, before, reply, isOfUser), ...facts })
  return decide(plan, before, reply, read, NOW, SETTINGS)
}

/** What is read if an answer opens a session, whose profile the browser is shown. */
const opening = (more: Partial<Facts> = {}, profile: object = ADA.profile): Partial<Facts> => ({
  shown: { text: JSON.stringify({ _embedded: { user: { id: ADA.id, profile } } }), offered: [] },
  ids: { session: 'cookie-id', public: 'public-id', ssoToken: undefined },
  ...more,
})

const SHOWN = { kind: 'answer', status: 200, body: '{"shown":true}', headers: {} }
const step = (operation: string, status: string) => ({
  metric: 'signInSteps',
  labels: { operation, status },
})
const counted = (reason: string) => ({ metric: 'requestsRefused', labels: { reason } })

describe('an answer that continues the sign-in', () => {
  test('is shown, and all that it says is kept', () => {
    const before = begun({ login: 'ada' })
    const reply = answered('MFA_REQUIRED', NAMED)
    const offered = offers(`${AUTHN}/factors/f1/verify`)
    expect(decided(primary(), before, reply, { shown: { text: '{"shown":true}', offered } })).toEqual({
      outcome: SHOWN,
      after: {
        ...before,
        stateToken: '00state',
        status: 'MFA_REQUIRED',
        userId: '00u1',
        offered,
        credentialAccepted: true,
        userProved: true,
        amr: ['pwd'],
        expiresAtMs: NOW + 300_000,
      },
      attempt: { outcome: SHOWN, status: 'MFA_REQUIRED' },
      unlessEnded: { userId: '00u1', sinceMs: NOW },
      offers: offered,
      events: [step('primary', 'MFA_REQUIRED')],
    })
  })

  test('lives as long as Okta says, by Okta’s clock', () => {
    const reply = answered(
      'MFA_REQUIRED',
      { expiresAt: '2020-01-01T00:10:00Z' },
      { date: 'Wed, 01 Jan 2020 00:00:00 GMT' },
    )
    expect(decided(planOf(), afterPassword(), reply).after?.expiresAtMs).toBe(NOW + 600_000)
  })

  test('keeps the headers for the browser, and what the factor answered', () => {
    const reply = answered('MFA_CHALLENGE', { factorResult: 'WAITING' }, { headers: { 'X-Header': 'x' } })
    const { outcome, attempt } = decided(planOf(), afterPassword(), reply)
    expect(outcome).toMatchObject({ headers: { 'X-Header': 'x' } })
    expect(attempt).toEqual({ outcome, status: 'MFA_CHALLENGE', factorResult: 'WAITING' })
  })

  test('says when the next poll is due', () => {
    const waiting = answered('MFA_CHALLENGE', { factorResult: 'WAITING' })
    const before = afterPassword({ pollNotBeforeMs: { '/other': 1 } })
    const pollTimes = (plan: Partial<SignInPlan>) =>
      decided(planOf(plan), before, waiting).after?.pollNotBeforeMs
    expect(pollTimes({ pollPath: '/poll' })).toEqual({ '/other': 1, '/poll': NOW + 1500 })
    expect(pollTimes({})).toEqual({ '/other': 1 })
  })

  test('names the push factor that waits', () => {
    const waiting = answered('MFA_CHALLENGE', { factorResult: 'WAITING' })
    const { after } = decided(planOf({ factorId: 'f1' }), afterPassword(), waiting)
    expect(after?.awaitedFactor).toBe('f1')
  })

  test('with the text of a form changes nothing: the next poll has the result', () => {
    const before = afterPassword({ status: 'MFA_CHALLENGE' })
    const plan = planOf({ operation: 'duo_callback', factorType: 'web', proof: SMS })
    const form = { ...plan, call: { ...plan.call, encoding: 'form' } } as const
    const decision = decided(form, before, answered('', { stateToken: undefined }))
    expect(decision).toEqual({
      outcome: SHOWN,
      after: before,
      attempt: { outcome: SHOWN },
      events: [step('duo_callback', 'none')],
    })
    expect(decision.after).toBe(before)
  })
})

describe('a session opens', () => {
  test('with what the answer says of the user, and the transaction is over', () => {
    const before = begun({ login: 'ada' })
    const facts = opening({ ids: { session: 'cookie-id', public: 'public-id', ssoToken: '00sso' } })
    const decision = decided(primary(), before, succeeded(), facts)
    const outcome = { ...SHOWN, body: expect.any(String), sessionId: 'cookie-id' }
    expect(decision).toEqual({
      outcome,
      after: undefined,
      attempt: { outcome, status: 'SUCCESS' },
      opens: {
        id: 'cookie-id',
        publicId: 'public-id',
        userId: '00u1',
        login: 'ada@example.com',
        profile: { login: 'ada@example.com', firstName: 'Ada' },
        amr: ['pwd'],
        openedAtMs: NOW,
        logins: ['ada', 'ada@example.com'],
        ssoToken: { handle: '00sso', sessionToken: '20111-okta-session-token' },
        mayReplaceOtherUser: true,
      },
      unlessEnded: { userId: '00u1', sinceMs: NOW },
      events: [step('primary', 'SUCCESS')],
    })
  })

  test('which the answer shows, as it is stored, beside what Okta says', () => {
    const text = JSON.stringify({ status: 'SUCCESS', _embedded: { user: ADA, target: { name: 'app' } } })
    const { outcome } = decided(primary(), begun(), succeeded(), opening({ shown: { text, offered: [] } }))
    const { status, _embedded } = JSON.parse(outcome.kind === 'answer' ? outcome.body : '')
    const portal = 'https://portal.example.com/api/v1'
    expect({ status, _embedded }).toEqual({
      status: 'SUCCESS',
      _embedded: {
        user: ADA,
        target: { name: 'app' },
        session: {
          id: 'public-id',
          userId: '00u1',
          login: 'ada@example.com',
          profile: ADA.profile,
          status: 'ACTIVE',
          createdAt: '2026-11-05T06:00:00.000Z',
          authenticatedAt: '2026-11-05T06:00:00.000Z',
          idleExpiresAt: '2026-11-05T06:30:00.000Z',
          expiresAt: '2026-11-05T18:00:00.000Z',
          amr: ['pwd'],
          deviceBound: false,
          _links: {
            self: { href: `${portal}/sessions/me`, hints: { allow: ['GET', 'DELETE'] } },
            refresh: { href: `${portal}/sessions/me/lifecycle/refresh`, hints: { allow: ['POST'] } },
            user: { href: `${portal}/users/me`, hints: { allow: ['GET'] } },
          },
        },
      },
    })
  })

  const STEP_UP = { sessionToken: undefined, type: 'SESSION_STEP_UP' }
  test.each<[string, opens: boolean, proof: SignInPlan['proof'], before: Transaction, answer: AuthnReply]>([
    ['a password', true, PASSWORD, begun(), succeeded()],
    ['an activation token', true, ACTIVATION, begun(), succeeded()],
    ['nothing proved', false, undefined, begun(), succeeded()],
    ['nothing proved in this step', true, undefined, afterPassword(), succeeded()],
    ['a code', true, SMS, afterPassword(), succeeded()],
    ['a code, which was the first credential', true, SMS, transactionWith(), succeeded()],
    ['a rejected code', false, SMS, transactionWith(), succeeded({ factorResult: 'REJECTED' })],
    ['no session token', false, PASSWORD, begun(), succeeded({ sessionToken: undefined })],
    ['a step-up', true, PASSWORD, imported(), succeeded(STEP_UP)],
    ['no user', false, PASSWORD, begun(), succeeded({ _embedded: {} })],
    ['another status', false, PASSWORD, begun(), succeeded({ status: 'MFA_REQUIRED' })],
    ['an unknown status', false, PASSWORD, begun(), succeeded({ status: 'success' })],
    ['an imported token alone', false, undefined, imported(), succeeded()],
    ['a password of an imported token', true, PASSWORD, imported(), succeeded()],
  ])('with %s: %s', (_title, opens, proof, before, answer) => {
    expect(decided(planOf({ proof }), before, answer, opening()).opens !== undefined).toBe(opens)
  })

  test.each<[amr: string[], proof: SignInPlan['proof'], expected: string[]]>([
    [[], PASSWORD, ['pwd']],
    [['pwd'], SMS, ['pwd', 'sms', 'mfa']],
    [['pwd'], undefined, ['pwd']],
    [['sms'], SMS, ['sms']],
    [['pwd', 'mfa'], undefined, ['pwd', 'mfa']],
  ])('with the methods %j and then %j: %j', (amr, proof, expected) => {
    expect(decided(planOf({ proof }), afterPassword({ amr }), succeeded(), opening()).opens?.amr).toEqual(
      expected,
    )
  })

  test.each<[string, may: boolean, proof: SignInPlan['proof'], before: Transaction]>([
    ['the user’s password', true, PASSWORD, begun()],
    ['an activation token', false, ACTIVATION, begun()],
    ['a code after the password', true, SMS, afterPassword()],
    ['nothing after an activation token', false, undefined, afterPassword({ userProved: false })],
    ['a password in an imported transaction', false, PASSWORD, imported()],
  ])('with %s, it may replace another user’s: %s', (_title, may, proof, before) => {
    const { opens } = decided(planOf({ proof }), before, succeeded(), opening())
    expect(opens?.mayReplaceOtherUser).toBe(may)
  })

  test('without an SSO token if none was made, or Okta sent no session token', () => {
    const ids = { session: 'cookie-id', public: 'public-id', ssoToken: '00sso' }
    expect(decided(primary(), begun(), succeeded(), opening()).opens).toMatchObject({ ssoToken: undefined })
    const stepUp = decided(primary(), begun(), succeeded(STEP_UP), opening({ ids }))
    expect(stepUp.opens).toMatchObject({ id: 'cookie-id', ssoToken: undefined })
  })

  test('for the user as Okta names it, not as typed; a device is known by both', () => {
    const before = begun({ login: 'ADA' })
    const ofOkta = succeeded({ _embedded: { user: { id: '00u1', profile: {} } } })
    expect(decided(primary(), before, ofOkta, opening()).opens).toMatchObject({
      login: 'ada@example.com',
      logins: ['ADA'],
    })
    expect(decided(primary(), begun(), succeeded(), opening()).opens?.logins).toEqual(['ada@example.com'])
  })

  test.each([[{}], [{ login: '' }], [{ login: 7 }]])(
    'never for a profile without a login, such as %j; other sessions end all the same',
    (profile) => {
      const plan = planOf({ operation: 'change_password', proof: PASSWORD, endsOtherSessions: true })
      const before = afterPassword()
      expect(refusalOf(() => decided(plan, before, succeeded(), opening({}, profile)))).toMatchObject({
        error: { status: 502, code: 'E0000009', cause: { outcome: 'invalid_response', code: 'no login' } },
        endsOthersOf: { userId: '00u1', login: 'ada' },
        events: [step('change_password', 'SUCCESS'), { audit: 'password_changed' }],
      })
    },
  )
})

describe('after SUCCESS with redirects', () => {
  const redirect = redirectTo('/login/step-up/redirect')
  const offered = [...offers(`${AUTHN}/cancel`), redirect]
  const over = {
    origin: 'redirect-only',
    status: 'SUCCESS',
    offered: [redirect],
    factorTypes: {},
    expiresAtMs: NOW + 300_000,
  }

  test('only they can be used, for 5 minutes, with the session that opened', () => {
    const facts = opening({ shown: { text: JSON.stringify(NAMED), offered } })
    const before = afterPassword({ factorTypes: { f1: 'sms' } })
    const { after, opens, offers: kept } = decided(planOf({ proof: SMS }), before, succeeded(), facts)
    expect(after).toMatchObject({ ...over, sessionId: 'cookie-id' })
    expect([opens?.id, kept]).toEqual(['cookie-id', undefined])
  })

  test('or with the session of this browser, or with none', () => {
    const withSession = (session: Facts['session']) =>
      decided(planOf(), transactionWith(), succeeded(), { shown: { text: '{}', offered }, session })
    expect(withSession(sessionOf('00u1')).after).toMatchObject({ ...over, sessionId: 'session-of-00u1' })
    expect(withSession(undefined).after).toMatchObject(over)
    expect(withSession(undefined).after?.sessionId).toBeUndefined()
  })
})

test.each([
  ['SUCCESS', undefined],
  ['LOCKED_OUT', undefined],
])('with %s, the transaction is over', (status, after) => {
  const { outcome, ...rest } = decided(planOf(), afterPassword(), answered(status))
  expect([outcome, rest.after]).toEqual([SHOWN, after])
})

describe('refused is an answer', () => {
  const failure = { status: 502, code: 'E0000009' }

  test('without a status, unless to cancel', () => {
    const empty = answered('', { status: undefined })
    expect(refusalOf(() => decided(planOf(), afterPassword(), empty))).toMatchObject({
      error: { ...failure, cause: { outcome: 'invalid_response', code: 'no status' } },
      events: [],
    })
    expect(decided(planOf({ operation: 'cancel' }), afterPassword(), empty)).toMatchObject({
      outcome: SHOWN,
      after: undefined,
      events: [step('cancel', 'none')],
    })
  })

  test('about a different user than before', () => {
    const before = afterPassword({ userId: '00u2' })
    expect(refusalOf(() => decided(planOf(), before, answered('MFA_REQUIRED', NAMED)))).toMatchObject({
      error: { ...failure, cause: { message: 'the answer is about another person' } },
      events: [{ log: 'error', event: 'user_mismatch', fields: { operation: 'verify' } }],
    })
  })

  test('with which more than 2,000 steps would be offered', () => {
    const links = (count: number) => offers(...Array.from({ length: count }, (_, n) => `${AUTHN}/x${n}`))
    const shown = { text: '{}', offered: links(1) }
    const earlier = (count: number) => afterPassword({ offered: links(count + 1).slice(1) })
    const reply = answered('MFA_REQUIRED')
    expect(decided(planOf(), earlier(1999), reply, { shown }).after?.offered).toHaveLength(2000)
    expect(refusalOf(() => decided(planOf(), earlier(2000), reply, { shown }))).toMatchObject({
      error: { ...failure, cause: { code: 'too many steps' } },
      events: [
        counted('too_many_steps'),
        { log: 'error', event: 'too_many_steps', fields: { operation: 'verify', count: 2001 } },
      ],
    })
  })

  test.each([
    ['primary', true],
    ['state', true],
    ['verify', false],
    ['recovery_token', false],
  ])('to %s with which the org refuses the address: %s', (operation, isAddress) => {
    const reply = refusedWith('E0000006')
    const plan = planOf({ operation })
    if (!isAddress)
      return expect(decided(plan, afterPassword(), reply).outcome).toMatchObject({ status: 403 })
    expect(refusalOf(() => decided(plan, afterPassword(), reply))).toMatchObject({
      error: {
        status: 403,
        code: 'E0000006',
        causes: ['address: the org refuses requests from this address'],
        cause: { outcome: 'address_blocked', upstreamStatus: 403 },
      },
      events: [{ log: 'info', event: 'upstream_error' }],
    })
  })
})

/**
 * A sign-in that this browser’s user may not have begun must not replace another user’s session.
 */
describe('a planted sign-in', () => {
  const other = sessionOf('00u2')
  const own = sessionOf('00u1')
  const unproved = afterPassword({ userProved: false })
  const { origin } = imported()

  test('of another user is refused, and over', () => {
    const before = imported({ status: 'UNAUTHENTICATED', createdAtMs: NOW - 1 })
    const decision = decided(primary(), before, answered('MFA_REQUIRED', NAMED), { session: other })
    const outcome = {
      kind: 'refusal',
      status: 403,
      code: 'E0000006',
      summary: 'You do not have permission to perform the requested action',
      causes: ['stateToken: this sign-in belongs to a different user from the one signed in; sign out first'],
      headers: {},
    }
    expect(decision).toEqual({
      outcome,
      after: undefined,
      attempt: { outcome, status: 'MFA_REQUIRED' },
      unlessEnded: { userId: '00u1', sinceMs: NOW - 1 },
      events: [
        step('primary', 'MFA_REQUIRED'),
        counted('step_up_user_mismatch'),
        { log: 'warn', event: 'step_up_user_mismatch' },
      ],
    })
  })

  test.each<[string, refused: boolean, SignInPlan['proof'], Transaction, AuthnReply, Facts['session']]>([
    ['a password', false, PASSWORD, begun(), succeeded(), other],
    ['an activation token', true, ACTIVATION, begun(), succeeded(), other],
    ['an activation token of the same user', false, ACTIVATION, begun(), succeeded(), own],
    ['an activation token without a session', false, ACTIVATION, begun(), succeeded(), undefined],
    ['no credential', true, undefined, begun(), answered('RECOVERY', NAMED), other],
    ['no user yet', false, undefined, begun(), answered('RECOVERY'), other],
    ['a code after the password', false, SMS, afterPassword(), succeeded(), other],
    ['a code after an activation token', false, SMS, unproved, succeeded(), other],
    ['nothing after an activation token', true, undefined, unproved, succeeded(), other],
    ['a password in an imported transaction', true, PASSWORD, imported(), succeeded(), other],
    ['an imported one after a password', true, SMS, { ...afterPassword(), origin }, succeeded(), other],
  ])('with %s, is refused: %s', (_title, refused, proof, before, reply, session) => {
    const { outcome, opens, after } = decided(planOf({ proof }), before, reply, opening({ session }))
    expect(outcome.kind).toBe(refused ? 'refusal' : 'answer')
    if (refused) expect([opens, after]).toEqual([undefined, undefined])
  })

  test.each([
    ['token', 'token_user_mismatch'],
    ['recoveryToken', 'token_user_mismatch'],
    ['stateToken', 'token_user_mismatch'],
  ])('names the field that brought it here: %s', (field, reason) => {
    const plan = planOf({ proof: ACTIVATION })
    const call = { ...plan.call, body: { [field]: 'given' } }
    const { outcome, events } = decided({ ...plan, call }, begun(), succeeded(), opening({ session: other }))
    expect(outcome).toMatchObject({ causes: [expect.stringContaining(`${field}: this sign-in belongs to`)] })
    expect(events).toContainEqual(counted(reason))
  })
})

describe('an Error object of Okta', () => {
  test('is shown; the transaction stays, and the attempt counts by its code', () => {
    const before = afterPassword({ factorTypes: { f1: 'sms' } })
    const plan = planOf({ factorId: 'f1', factorType: 'sms', proof: SMS })
    const outcome = { ...SHOWN, status: 403, errorCode: 'E0000068' }
    const decision = decided(plan, before, refusedWith('E0000068'))
    expect(decision).toEqual({
      outcome,
      after: before,
      attempt: { outcome, counts: 'guess' },
      events: [
        {
          log: 'info',
          event: 'upstream_error',
          fields: {
            upstream: 'authn',
            upstreamStatus: 403,
            upstreamErrorCode: 'E0000068',
            upstreamErrorId: 'oae-1',
          },
        },
        step('verify', 'E0000068'),
        {
          audit: 'factor_failed',
          login: 'ada',
          fields: { operation: 'verify', userId: '00u1', upstreamErrorCode: 'E0000068', factorType: 'sms' },
        },
      ],
    })
    expect(decision.after).toBe(before)
  })

  test.each([
    ['E0000011', 401, false],
    ['E0000011', 403, true],
    ['E0000004', 401, true],
    ['E0000047', 429, true],
    ['E0000009', 500, true],
  ])('%s with %d: the transaction stays: %s', (code, status, stays) => {
    expect(decided(planOf(), afterPassword(), refusedWith(code, status)).after !== undefined).toBe(stays)
  })

  test.each([
    ['change_password', 'E0000014', 400, 'guess'],
    ['verify', 'E0000014', 403, 'call'],
    ['recovery_token', 'E0000006', 403, 'token'],
    ['verify', 'E9999999', 403, 'nothing'],
  ])('to %s with %s (%d) counts as: %s', (operation, code, status, counts) => {
    const { attempt } = decided(planOf({ operation }), afterPassword(), refusedWith(code, status))
    expect(attempt.counts).toBe(counts)
  })

  test.each([
    ['verify', 'push1', 'push1'],
    ['verify', 'sms1', undefined],
    ['state', undefined, 'push1'],
    ['previous', undefined, undefined],
  ])('to %s of %s: the push that is awaited is then %s', (operation, factorId, awaitedFactor) => {
    const before = afterPassword({ awaitedFactor: 'push1' })
    const { after } = decided(planOf({ operation, factorId }), before, refusedWith('E0000068'))
    expect(after).toEqual({ ...before, awaitedFactor })
  })

  test('to credentials names the login that was typed, but does not keep it', () => {
    const before = transactionWith({ status: 'UNAUTHENTICATED', login: 'earlier' })
    const { after, events } = decided(primary({ login: 'typed' }), before, refusedWith('E0000004', 401))
    expect(after).toBe(before)
    expect(events).toContainEqual(expect.objectContaining({ audit: 'sign_in_failed', login: 'typed' }))
  })
})

describe('the login that was typed in a transaction', () => {
  const before = transactionWith({ status: 'UNAUTHENTICATED', login: 'earlier' })

  test.each<[string, login: string, AuthnReply, proof: SignInPlan['proof'], isOfUser: boolean]>([
    ['accepted', 'typed', answered('MFA_REQUIRED', NAMED), PASSWORD, true],
    ['not accepted', 'earlier', answered('LOCKED_OUT'), PASSWORD, true],
    ['not accepted', 'earlier', answered('UNAUTHENTICATED'), PASSWORD, true],
    ['of another user', 'earlier', answered('MFA_REQUIRED', NAMED), { ...PASSWORD, ofLogin: 'typed' }, false],
    ['of the user', 'typed', answered('MFA_REQUIRED', NAMED), { ...PASSWORD, ofLogin: 'typed' }, true],
  ])('with credentials that were %s: %s', (_title, login, reply, proof, isOfUser) => {
    const decision = decided(primary({ login: 'typed', proof }), before, reply, {}, isOfUser)
    if (reply.body.status === 'LOCKED_OUT') {
      expect(decision.after).toBeUndefined()
      expect(decision.events).toContainEqual(
        expect.objectContaining({ audit: 'sign_in_failed', login: 'typed' }),
      )
    } else expect(decision.after).toMatchObject({ login, credentialAccepted: login === 'typed' })
  })

  test('opens no session for another user', () => {
    const plan = primary({ login: 'typed', proof: { ...PASSWORD, ofLogin: 'typed' } })
    const ofOther = decided(plan, imported(), succeeded(), opening(), false)
    expect([ofOther.opens, ofOther.after]).toEqual([undefined, undefined])
    expect(decided(plan, imported(), succeeded(), opening()).opens).toMatchObject({ userId: '00u1' })
  })
})

/** It may have been advanced at Okta by another holder of its state token. */
describe('an imported transaction', () => {
  const credentials: StateRequest = {
    kind: 'state',
    handle: '00handle',
    fields: { username: 'typed', password: 'plainly-fake', relayState: '/x' },
  }
  const before = imported({ status: 'MFA_REQUIRED', offered: offers(`${AUTHN}/factors/f1/verify`) })
  const state = planOf({ operation: 'state', isUserStored: false, credential: credentials })

  test('has its state first, and then the credential, if Okta awaits it', () => {
    const decision = decided(state, before, answered('UNAUTHENTICATED', NAMED))
    expect(decision.after).toMatchObject({
      status: 'UNAUTHENTICATED',
      userId: '00u1',
      credentialAccepted: false,
    })
    expect(decision.offers).toBeUndefined()
    expect(decision.next).toEqual({
      kind: 'sign-in',
      operation: 'primary',
      attempt: { kind: 'password', operation: 'primary', login: 'typed' },
      call: {
        path: AUTHN,
        body: { username: 'typed', password: 'plainly-fake', relayState: '/x', stateToken: '00state' },
        bearsToken: true,
        carriesApiToken: true,
      },
      login: 'typed',
      proof: { ...PASSWORD, ofLogin: 'typed' },
      endsOtherSessions: false,
      changesPassword: false,
      isUserStored: false, // the user was named in this step
      minDurationMs: 0,
      events: [],
    })
  })

  test('sends the newest state token with the credential', () => {
    const decision = decided(state, before, answered('UNAUTHENTICATED', { stateToken: '00newer' }))
    expect(decision.next?.call.body).toMatchObject({ stateToken: '00newer' })
  })

  const request = (operation: StepOperationId, fields: OperationRequest['fields']): OperationRequest => {
    const params = { id: 'f1' }
    return { kind: 'operation', handle: '00handle', operation, params, query: {}, search: '', fields }
  }
  const code = request('verifyFactor', { passCode: '1' })
  const oldPassword = request('changePassword', { oldPassword: 'o', newPassword: 'n' })
  type Credential = NonNullable<SignInPlan['credential']>
  test.each<[string, statuses: string, sent: boolean, credential: Credential]>([
    ['a password', 'UNAUTHENTICATED', true, credentials],
    ['a password', 'MFA_REQUIRED MFA_CHALLENGE PASSWORD_EXPIRED SUCCESS LOCKED_OUT', false, credentials],
    ['a code', 'MFA_REQUIRED MFA_CHALLENGE FACTOR_REQUIRED FACTOR_CHALLENGE', true, code],
    ['a code', 'UNAUTHENTICATED MFA_ENROLL SUCCESS', false, code],
    ['an old password', 'PASSWORD_EXPIRED PASSWORD_WARN', true, oldPassword],
    ['an old password', 'MFA_REQUIRED PASSWORD_RESET SUCCESS', false, oldPassword],
  ])('with %s, in %s: sent: %s', (_title, statuses, sent, credential) => {
    for (const status of statuses.split(' ')) {
      const { next } = decided({ ...state, credential }, before, answered(status, NAMED))
      expect([status, next !== undefined]).toEqual([status, sent])
    }
  })

  test('sends nothing more after an Error object', () => {
    const { next, outcome } = decided(state, before, refusedWith('E0000011', 401))
    expect([next, outcome.status]).toEqual([undefined, 401])
  })

  test('sends nothing more if it is another user’s than the session', () => {
    const reply = answered('UNAUTHENTICATED', NAMED)
    const { next, outcome } = decided(state, before, reply, { session: sessionOf('00u2') })
    expect([next, outcome.kind]).toEqual([undefined, 'refusal'])
  })

  test('ends if the sessions of the user that it names ended, also if its credential is rejected', () => {
    const named = imported({ status: 'UNAUTHENTICATED', userId: '00u1', createdAtMs: NOW - 1 })
    const wrong = refusedWith('E0000004', 401)
    expect(decided(primary({ login: 'typed' }), named, wrong).unlessEnded).toEqual({
      userId: '00u1',
      sinceMs: NOW - 1,
    })
    expect(decided(primary({ login: 'typed', isUserStored: true }), named, wrong)).not.toHaveProperty(
      'unlessEnded',
    )
    expect(decided(primary({ login: 'typed' }), imported(), wrong)).not.toHaveProperty('unlessEnded')
  })
})

describe('sessions of the user', () => {
  const reply = answered('MFA_REQUIRED', NAMED)
  const plan = planOf({ endsOtherSessions: true })

  test.each<[string, ends: boolean, SignInPlan, Transaction, AuthnReply, Partial<Facts>]>([
    ['the step says so', true, plan, afterPassword(), reply, {}],
    ['the answer opens a session', true, plan, afterPassword(), succeeded(), opening()],
    ['it does not say so', false, planOf(), afterPassword(), reply, {}],
    ['no user is known', false, plan, transactionWith(), answered('MFA_REQUIRED'), {}],
    ['the step was rejected', false, plan, afterPassword(), refusedWith('E0000080'), {}],
    ['the answer is refused', true, plan, transactionWith(), reply, { session: sessionOf('00u2') }],
  ])('all others end if %s: %s', (_title, ends, step, before, answer, facts) => {
    const { endsOthersOf } = decided(step, before, answer, facts)
    expect(endsOthersOf).toEqual(ends ? { userId: '00u1', login: before.login } : undefined)
  })

  test.each<[isUserStored: boolean, AuthnReply, expected: Decision['unlessEnded']]>([
    [false, reply, { userId: '00u1', sinceMs: NOW - 60_000 }],
    [true, reply, undefined], // the end found the stored record by its user
    [false, answered('MFA_REQUIRED'), undefined],
  ])('if they may have ended meanwhile, user stored: %s', (isUserStored, answer, expected) => {
    expect(decided(planOf({ isUserStored }), transactionWith(), answer).unlessEnded).toEqual(expected)
  })
})

describe('a factor', () => {
  const enrollment = { factorType: 'sms', provider: 'OKTA', updatesPhone: false, replaces: false }
  const enrolled = (operation: string) => ({
    audit: 'factor_enrolled',
    login: 'ada',
    fields: { operation, userId: '00u1', factorType: 'sms', provider: 'OKTA' },
  })

  test('that a step has set up is reported', () => {
    const { after, events } = decided(
      planOf({ operation: 'activate', enrollment }),
      afterPassword({ enrollment }),
      answered('MFA_ENROLL'),
    )
    expect(events).toEqual([step('activate', 'MFA_ENROLL'), enrolled('activate')])
    expect(after?.enrollment).toBeUndefined()
  })

  test('that is not active yet is kept', () => {
    const { after, events } = decided(
      planOf({ operation: 'enroll', enrollment }),
      afterPassword(),
      answered('MFA_ENROLL_ACTIVATE'),
    )
    expect([after?.enrollment, events]).toEqual([enrollment, [step('enroll', 'MFA_ENROLL_ACTIVATE')]])
  })

  test('that a phone has activated is reported with the next state', () => {
    const factors = [{ id: 'f1', factorType: 'sms', provider: 'OKTA', status: 'ACTIVE' }]
    const { events } = decided(
      planOf({ operation: 'state' }),
      afterPassword({ enrollment }),
      answered('MFA_ENROLL', { _embedded: { factors } }),
    )
    expect(events).toEqual([step('state', 'MFA_ENROLL'), enrolled('state')])
  })
})

test('every decision is plain data', () => {
  const credential: StateRequest = {
    kind: 'state',
    handle: '00handle',
    fields: { username: 'a', password: 'b' },
  }
  const ids = { session: 'cookie-id', public: 'public-id', ssoToken: '00sso' }
  for (const decision of [
    decided(primary(), begun(), answered('MFA_REQUIRED', NAMED)),
    decided(planOf({ proof: SMS, endsOtherSessions: true }), afterPassword(), succeeded(), opening({ ids })),
    decided(planOf(), afterPassword(), refusedWith('E0000068')),
    decided(planOf(), imported(), answered('MFA_REQUIRED', NAMED), { session: sessionOf('00u2') }),
    decided(planOf({ credential }), imported(), answered('UNAUTHENTICATED')),
  ])
    expect(asJson(decision)).toEqual(decision)
})
