import { beforeEach, describe, expect, test } from '@jest/globals'
import { useEventReceiver } from 'gatehouse-test-support/event-receiver'
import { until } from 'gatehouse-test-support/until'
import { type Answer, answerOf, outcome, useSandbox } from './sandbox-client.ts'

/**
 * The events of a recovery, of an administrator's reset and of a breached password, as Okta's
 * System Log has them (A4, A5).
 */

const client = useSandbox()
const receiver = useEventReceiver(client)

const LOGIN = 'amelia.stone@example.test'
const AUTHN = '/api/v1/authn'
const NEW_PASSWORD = 'Another-Password-2'
const WITHOUT_TOKEN = {}

const settings = async (changed: object) => {
  const headers = { 'content-type': 'application/json' }
  const body = JSON.stringify(changed)
  expect((await fetch(`${client.url}/sandbox/settings`, { method: 'POST', headers, body })).status).toBe(204)
}
const startRecovery = (headers?: Record<string, string>, fields: object = {}) =>
  client.post(`${AUTHN}/recovery/password`, { username: LOGIN, factorType: 'EMAIL', ...fields }, headers)
/** Redeems the token of the email, answers the question, and sets a new password. */
async function completeRecovery(): Promise<Answer> {
  const { token: recoveryToken } = client.sandbox.outbox.latest(LOGIN, 'recovery') ?? {}
  const redeemed = await client.post(`${AUTHN}/recovery/token`, { recoveryToken }, WITHOUT_TOKEN)
  const answered = await client.follow(redeemed, '_links.next', { answer: 'gatehouse' })
  return client.follow(answered, '_links.next', { newPassword: NEW_PASSWORD })
}
/**
 * Type of event, type of actor, and whether the actor is the user. There is one target: the user.
 */
const received = async (count: number) => {
  await until(() => receiver.deliveries.length >= count)
  const { id } = client.sandbox.user(LOGIN)
  return receiver.deliveries.map(({ body }) => {
    const [event] = body.data.events
    const { eventType, actor, target } = event as unknown as {
      eventType: string
      actor: { type: string; id: string }
      target: unknown[]
    }
    expect(target).toEqual([{ id, type: 'User', alternateId: LOGIN, displayName: 'Amelia Stone' }])
    return `${eventType} by ${actor.type}${actor.id === id ? ' (self)' : ''}`
  })
}

const OWN_RESET = 'user.account.reset_password by SystemPrincipal'
const ADMIN_RESET = 'user.account.reset_password by User'
const CHANGED = 'user.account.update_password by User (self)'
const CLEARED = 'user.session.clear by SystemPrincipal'

describe('user.account.reset_password', () => {
  test.each([
    ['EMAIL', LOGIN],
    ['SMS', LOGIN],
    ['CALL', LOGIN],
  ])('a stranger starts a recovery by %s: sent at once, by SystemPrincipal', async (factorType, username) => {
    expect((await startRecovery(WITHOUT_TOKEN, { factorType, username })).status).toBe(200)
    expect(await received(1)).toEqual([OWN_RESET])
  })

  test('the user completes the recovery: only the change of the password is sent', async () => {
    await startRecovery(WITHOUT_TOKEN)
    await received(1)
    expect(outcome(await completeRecovery())).toBe('200 SUCCESS')
    expect(await received(2)).toEqual([OWN_RESET, CHANGED])
  })

  test('recoveryLoggedAt: completion: sent when the user has set the new password', async () => {
    await settings({ recoveryLoggedAt: 'completion' })
    await startRecovery(WITHOUT_TOKEN)
    await completeRecovery()
    expect((await received(2)).toSorted()).toEqual([OWN_RESET, CHANGED])
  })

  test.each(['start', 'completion'])('an administrator resets (%s): sent once, by that user', async (at) => {
    await settings({ recoveryLoggedAt: at })
    await client.sandbox.changeLifecycle(LOGIN, 'reset_password')
    expect(await received(1)).toEqual([ADMIN_RESET])
  })

  test('a recovery that is started with the API token is an administrator’s reset (R1)', async () => {
    await startRecovery()
    expect(await received(1)).toEqual([ADMIN_RESET])
  })

  test('an unlock and an unknown user send none', async () => {
    await startRecovery(WITHOUT_TOKEN, { username: 'nobody@example.test' })
    const unlock = { username: 'luis.locked', factorType: 'EMAIL' }
    await client.post(`${AUTHN}/recovery/unlock`, unlock, WITHOUT_TOKEN)
    // what is sent before arrives before
    await client.sandbox.changeLifecycle(LOGIN, 'clear_sessions')
    expect(receiver.eventTypes()).toEqual(['user.session.clear'])
  })
})

describe('a breached password', () => {
  beforeEach(() => {
    client.sandbox.user(LOGIN).passwordBreached = true
  })

  test('is found at a sign-in: the sessions end, and the password has expired', async () => {
    expect(outcome(await client.signIn(LOGIN))).toBe('200 PASSWORD_EXPIRED')
    expect(await received(1)).toEqual([CLEARED])
    expect(client.sandbox.user(LOGIN).sessionsRevoked).toBe(1)
  })

  test('a wrong password finds nothing', async () => {
    expect(outcome(await client.signIn(LOGIN, { password: 'wrong' }))).toBe('401 E0000004')
    await client.sandbox.changeLifecycle(LOGIN, 'clear_sessions')
    expect(await received(1)).toEqual(['user.session.clear by User'])
  })

  test.each([
    ['always', 2],
    ['once', 1],
  ])('breachDetected: %s: two sign-ins send %d events', async (breachDetected, count) => {
    await settings({ breachDetected })
    for (let n = 0; n < 2; n++) expect(outcome(await client.signIn(LOGIN))).toBe('200 PASSWORD_EXPIRED')
    await client.sandbox.changeLifecycle(LOGIN, 'clear_sessions')
    await until(() => receiver.deliveries.length >= count + 1)
    const events = (await received(count + 1)).filter((event) => event === CLEARED)
    expect(events).toHaveLength(count)
  })

  test.each([
    ['expired', '200 PASSWORD_EXPIRED'],
    ['continued', '200 SUCCESS'],
    ['refused', '403 E0000259'],
  ])('breachedSignIn: %s: the sign-in gets %s, and the sessions end', async (breachedSignIn, answer) => {
    await settings({ breachedSignIn })
    expect(outcome(await client.signIn(LOGIN))).toBe(answer)
    expect(await received(1)).toEqual([CLEARED])
  })

  test('a new password is not breached', async () => {
    const expired = await client.signIn(LOGIN)
    const fields = { oldPassword: 'Demo-Password-1', newPassword: NEW_PASSWORD }
    expect(outcome(await client.follow(expired, '_links.next', fields))).toBe('200 SUCCESS')
    expect(outcome(await client.signIn(LOGIN, { password: NEW_PASSWORD }))).toBe('200 SUCCESS')
    expect((await received(2)).toSorted()).toEqual([CHANGED, CLEARED].toSorted())
  })

  test('a refused sign-in is in the System Log', async () => {
    await settings({ breachedSignIn: 'refused' })
    await client.signIn(LOGIN)
    const { requestId } = client.sandbox.signIns.at(-1) ?? {}
    const filter = encodeURIComponent(`transaction.id eq "${requestId}"`)
    const headers = { authorization: `SSWS ${client.sandbox.apiToken}` }
    const { body } = await answerOf(await client.get(`/api/v1/logs?filter=${filter}`, headers))
    expect(body).toMatchObject([{ eventType: 'user.session.start', outcome: { result: 'FAILURE' } }])
  })
})
