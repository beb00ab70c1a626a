import { describe, expect, test } from '@jest/globals'
import { decide } from '../../../src/authn/decide.ts'
import { planStep } from '../../../src/authn/plan-step.ts'
import type { Facts } from '../../../src/authn/step/decision.ts'
import type { Transaction } from '../../../src/authn/transaction/transaction.ts'
import {
  afterPassword,
  asJson,
  factsWith,
  NOW,
  offers,
  redirectTo,
  refusalOf,
  SETTINGS,
  sessionOf,
} from '../step-builders.ts'

const PATH = '/login/step-up/redirect'
const REDIRECT = redirectTo(PATH)
const OTHER = redirectTo('/sso/idps/idp1', '')
const STEP = offers('/api/v1/authn/cancel')

function redirected(before: Transaction, session?: Facts['session']) {
  const plan = planStep({ kind: 'redirect', handle: '00handle', path: PATH }, before, NOW, SETTINGS)
  return decide(plan, before, undefined, factsWith({ shown: undefined, session }), NOW, SETTINGS)
}

const open = (...offered: Transaction['offered']) => afterPassword({ offered })
const finished = (more: Partial<Transaction> = {}) =>
  afterPassword({
    origin: 'redirect-only',
    status: 'SUCCESS',
    offered: [REDIRECT],
    sessionId: 'own',
    ...more,
  })

describe('a redirect', () => {
  test('goes to the link that Okta offered, once', () => {
    const before = open(...STEP, OTHER, REDIRECT)
    const outcome = {
      kind: 'answer',
      status: 302,
      body: '',
      headers: { Location: `https://org.example.com${PATH}?stateToken=00state` },
    }
    const decision = redirected(before)
    expect(decision).toEqual({
      outcome,
      after: { ...before, offered: [...STEP, OTHER] },
      attempt: { outcome },
      events: [],
    })
    expect(asJson(decision)).toEqual(decision)
    expect(refusalOf(() => redirected(open(...STEP, OTHER)))).toMatchObject({
      error: { status: 403, code: 'E0000079' },
    })
  })

  test('goes to the newest link of its path', () => {
    const { outcome, after } = redirected(open(REDIRECT, redirectTo(PATH, '?stateToken=00newer')))
    expect(outcome.headers.Location).toBe(`https://org.example.com${PATH}?stateToken=00newer`)
    expect(after?.offered).toEqual([]) // the earlier one is not left behind
  })

  test.each<[string, Transaction['offered'][number]]>([
    ['of a call', { path: PATH, query: '', methods: ['GET'] }],
    ['of another method', { ...REDIRECT, methods: ['POST'] }],
  ])('never follows a link %s', (_title, step) => {
    expect(refusalOf(() => redirected(open(step)))).toMatchObject({
      error: { status: 403, code: 'E0000079' },
    })
  })
})

describe('after the sign-in', () => {
  test('the transaction is over with its last redirect', () => {
    const session = sessionOf('00u1')
    expect(redirected(finished(), session)).toMatchObject({ outcome: { status: 302 }, after: undefined })
    expect(redirected(finished({ offered: [OTHER, REDIRECT] }), session).after?.offered).toEqual([OTHER])
  })

  const bound = finished()
  const unbound = finished({ sessionId: undefined })
  test.each<[string, Transaction, session: Facts['session'], isOver: boolean]>([
    ['the session that it opened', bound, sessionOf('00u1'), false],
    ['the session that it opened, which has ended', bound, undefined, true],
    ['no session', unbound, undefined, false],
    ['a session of the same user', unbound, sessionOf('00u1'), false],
    ['a session of another user', unbound, sessionOf('00u2'), true],
    ['a session of another user, before the end', open(REDIRECT), sessionOf('00u2'), false],
  ])('with %s', (_title, before, session, isOver) => {
    const error = { status: 401, code: 'E0000011' }
    if (isOver) expect(refusalOf(() => redirected(before, session))).toMatchObject({ error, events: [] })
    else expect(redirected(before, session).outcome.status).toBe(302)
  })
})
