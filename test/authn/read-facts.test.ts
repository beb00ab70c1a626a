import { describe, expect, test } from '@jest/globals'
import { type Plan, planCredential, planStep } from '../../src/authn/plan-step.ts'
import { readFacts } from '../../src/authn/read-facts.ts'
import type { StepRequest } from '../../src/authn/step/step-request.ts'
import type { Transaction } from '../../src/authn/transaction/transaction.ts'
import type { AuthnReply } from '../../src/authn/upstream/read-answer.ts'
import {
  ADA,
  afterPassword,
  answered,
  begun,
  challenged,
  imported,
  NOW,
  refusedWith,
  SETTINGS,
  sessionOf,
  succeeded,
} from './step-builders.ts'
import { CLIENT } from './test-client.ts'

const SIGN_IN: StepRequest = { kind: 'sign-in', body: { username: 'ada', password: 'plainly-fake' } }
const STATE: StepRequest = { kind: 'state', handle: '00handle', fields: {} }
const REDIRECT: StepRequest = { kind: 'redirect', handle: '00handle', path: '/login/step-up/redirect' }
const RECOVERY: StepRequest = {
  kind: 'recovery',
  recoveryType: 'PASSWORD',
  body: { username: 'ada', factorType: 'SMS' },
}
const VERIFY: StepRequest = {
  kind: 'operation',
  handle: '00handle',
  operation: 'verifyRecoveryFactor',
  params: { type: 'SMS' },
  query: {},
  search: '',
  fields: { passCode: '1' },
}

/** The facts for an answer, and the ids of the sessions that were read. */
async function read(plan: Plan, before: Transaction, reply: AuthnReply | undefined, given: Given = {}) {
  const ids: string[] = []
  const client = { ...CLIENT, sessionId: 'in-cookie' }
  const facts = await readFacts(plan, before, reply, '00handle', client, {
    sanitizer: { step: (_reply, { ssoToken }) => ({ text: `shown ${ssoToken}`, offered: [] }) },
    sessions: {
      async get(id) {
        ids.push(id)
        return sessionOf(given.userId ?? '00u1').session
      },
      async getFor(id) {
        ids.push(`${id}, with its bound cookie`)
        return sessionOf(given.userId ?? '00u1').session
      },
    },
    opening: { newId: (userId) => `new-session-of-${userId}` },
    ssoTokens: { isEnabled: given.ssoTokens === true },
    logins: { isSameUser: (typed, named) => `${typed}@example.com` === named },
  })
  return { ...facts, read: ids }
}

interface Given {
  /** Of this browser's session. */
  readonly userId?: string
  readonly ssoTokens?: boolean
}

const planned = (request: StepRequest, before: Transaction) => planStep(request, before, NOW, SETTINGS)
const signIn = (reply: AuthnReply, given?: Given) => read(planned(SIGN_IN, begun()), begun(), reply, given)

describe('this browser’s session is read', () => {
  const over = { origin: 'redirect-only', status: 'SUCCESS' } as const
  test.each<[string, StepRequest, Transaction, AuthnReply | undefined, ids: string[]]>([
    ['for an answer that opens one', SIGN_IN, begun(), succeeded(), ['in-cookie']],
    ['for a sign-in that it may not have begun', STATE, imported(), answered('MFA_REQUIRED'), ['in-cookie']],
    ['not if the user is proved', SIGN_IN, begun(), answered('MFA_REQUIRED'), []],
    ['not for an Error object', STATE, imported(), refusedWith('E0000011', 401), []],
    ['not for the start of a recovery', RECOVERY, begun(), answered('RECOVERY_CHALLENGE'), []],
    ['not for a wrong code', VERIFY, challenged(), refusedWith('E0000068'), []],
    ['not for a decoy', VERIFY, challenged({ decoy: true }), answered('RECOVERY'), []],
    ['for a right code', VERIFY, challenged(), answered('RECOVERY'), ['in-cookie']],
    ['for a redirect after the end', REDIRECT, afterPassword(over), undefined, ['in-cookie']],
    [
      'not for that',
      REDIRECT,
      afterPassword({ ...over, sessionId: 'that-opened' }),
      undefined,
      ['that-opened, with its bound cookie'],
    ],
    ['not for a redirect before the end', REDIRECT, afterPassword(), undefined, []],
  ])('%s', async (_title, request, before, reply, ids) => {
    expect((await read(planned(request, before), before, reply)).read).toEqual(ids)
  })
})

describe('ids are made', () => {
  test('for a session that opens; the user’s own keeps its public id', async () => {
    const own = await signIn(succeeded())
    expect(own.ids).toEqual({ session: 'new-session-of-00u1', public: 'public-of-00u1', ssoToken: undefined })
    const others = await signIn(succeeded(), { userId: '00u2' })
    expect(others.ids?.public).toMatch(/^[\da-f-]{36}$/)
    expect((await signIn(answered('MFA_REQUIRED'))).ids).toBeUndefined()
  })

  test('for an SSO token if they are enabled, and Okta sent a session token', async () => {
    const { ids, shown } = await signIn(succeeded(), { ssoTokens: true })
    expect(ids?.ssoToken).toMatch(/^00[\w-]{43}$/)
    expect(shown?.text).toBe(`shown ${ids?.ssoToken}`)
    const stepUp = succeeded({ sessionToken: undefined, type: 'SESSION_STEP_UP' })
    expect((await signIn(stepUp, { ssoTokens: true })).ids).toMatchObject({ ssoToken: undefined })
  })

  test('for a decoy', async () => {
    const { randomStateToken, shown } = await read(
      planned(RECOVERY, begun()),
      begun(),
      refusedWith('E0000095'),
    )
    expect(randomStateToken).toMatch(/^00[\w-]{40}$/)
    expect(shown).toBeUndefined()
  })
})

test.each([
  ['ada', true],
  ['eve', false],
])('whether the answer names the user whose password was sent: %s', async (username, isOfUser) => {
  const before = imported({ status: 'UNAUTHENTICATED' })
  const request = {
    kind: 'state',
    handle: '00handle',
    fields: { username, password: 'plainly-fake' },
  } as const
  const reply = answered('MFA_REQUIRED', { _embedded: { user: ADA } })
  const { assessment } = await read(planCredential(request, before), before, reply)
  expect(assessment?.accepted !== undefined).toBe(isOfUser)
})
