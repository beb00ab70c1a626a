import { beforeEach, expect, test } from '@jest/globals'
import { startEventReceiver } from 'gatehouse-test-support/event-receiver'
import { useFixture } from 'gatehouse-test-support/fixture'
import { type Answer, answerOf, outcome, useSandbox } from './sandbox-client.ts'

const client = useSandbox()
const receiver = useFixture({
  start: startEventReceiver,
  reset: (started) => started.reset(),
  stop: (started) => started.close(),
})
beforeEach(() => client.sandbox.eventHook.register(receiver.address))

const NEW_PASSWORD = 'Another-Password-2'
const AUTHN = '/api/v1/authn'

const change = (login: string, operation: string) =>
  fetch(`${client.url}/sandbox/users/${login}/lifecycle/${operation}`, { method: 'POST' })
const ssws = () => ({ authorization: `SSWS ${client.sandbox.apiToken}` })
const userAt = async (idOrLogin: string, headers: Record<string, string> = ssws()) =>
  answerOf(await client.get(`/api/v1/users/${encodeURIComponent(idOrLogin)}`, headers))

test.each([
  ['suspend', 'user.lifecycle.suspend', 'SUSPENDED', '401 E0000004'],
  ['suspend unsuspend', 'user.lifecycle.unsuspend', 'ACTIVE', '200 MFA_REQUIRED'],
  ['deactivate', 'user.lifecycle.deactivate', 'DEPROVISIONED', '401 E0000004'],
  ['suspend deactivate', 'user.lifecycle.deactivate', 'DEPROVISIONED', '401 E0000004'],
  ['reset_password', 'user.account.reset_password', 'RECOVERY', '401 E0000004'],
  ['reset_factors', 'user.mfa.factor.reset_all', 'ACTIVE', '200 MFA_ENROLL'],
  ['clear_sessions', 'user.session.clear', 'ACTIVE', '200 MFA_REQUIRED'],
])('%s: sends %s, the status is %s, and a sign-in %s', async (operations, event, status, signIn) => {
  for (const operation of operations.split(' '))
    expect((await change('tomas.berg', operation)).status).toBe(204)
  expect(receiver.eventTypes().at(-1)).toBe(event)
  expect((await userAt('tomas.berg')).body.status).toBe(status)
  expect(outcome(await client.signIn('tomas.berg'))).toBe(signIn)
})

test.each([
  ['suspend', 'suspend', 'SUSPENDED'],
  ['', 'unsuspend', 'ACTIVE'],
  ['deactivate', 'unsuspend', 'DEPROVISIONED'],
  ['deactivate', 'deactivate', 'DEPROVISIONED'],
  ['suspend', 'reset_password', 'SUSPENDED'],
])('after "%s", %s is refused, and no event sent: the status is %s', async (before, refused, status) => {
  if (before) await change('amelia.stone', before)
  receiver.reset()
  const answer = await change('amelia.stone', refused)
  expect(answer.status).toBe(400)
  expect(await answer.json()).toEqual({ error: `${refused}: amelia.stone@example.test is ${status}` })
  expect(receiver.deliveries).toEqual([])
})

/** What a user has begun or holds, continued after the operation. */
const CONTINUED: Record<string, () => Promise<() => Promise<Answer>>> = {
  'a sign-in': async () => {
    const challenged = await client.signIn('tomas.berg')
    const passCode = client.sandbox.totpCode('tomas.berg')
    const verify = '_embedded.factors.token:software:totp._links.verify'
    return () => client.follow(challenged, verify, { passCode })
  },
  'a recovery token': async () => {
    const recoveryToken = client.sandbox.recoveryToken('tomas.berg')
    return () => client.post(`${AUTHN}/recovery/token`, { recoveryToken })
  },
  'an activation token': async () => {
    const token = client.sandbox.activationToken('tomas.berg')
    return () => client.post(AUTHN, { token })
  },
  'a new activation token': async () => () =>
    client.post(AUTHN, { token: client.sandbox.activationToken('tomas.berg') }),
  'a new recovery': async () => () =>
    client.post(`${AUTHN}/recovery/password`, { username: 'tomas.berg', factorType: 'EMAIL' }),
}
test.each([
  ['a sign-in', '401 E0000011'],
  ['a recovery token', '403 E0000105'],
  ['an activation token', '401 E0000004'],
  ['a new activation token', '401 E0000004'],
  ['a new recovery', '403 E0000034'],
])('a suspended user cannot continue with %s: %s', async (what, refused) => {
  const proceed = await CONTINUED[what]?.()
  await change('tomas.berg', 'suspend')
  expect(proceed && outcome(await proceed())).toBe(refused)
})

test('after reset_password, the email’s token sets a new password, and the user is active again', async () => {
  await change('tomas.berg', 'reset_password')
  const { token: recoveryToken } = client.sandbox.outbox.latest('tomas.berg@example.test', 'recovery') ?? {}
  const recovery = await client.post(`${AUTHN}/recovery/token`, { recoveryToken })
  const answered = await client.follow(recovery, '_links.next', { answer: 'gatehouse' })
  const reset = await client.follow(answered, '_links.next', { newPassword: NEW_PASSWORD })
  expect(outcome(reset)).toBe('200 MFA_REQUIRED')
  expect((await userAt('tomas.berg')).body.status).toBe('ACTIVE')
})

test.each([
  ['amelia.stone', 'ACTIVE'],
  ['Amelia.Stone@example.test', 'ACTIVE'],
  ['olga.expired', 'PASSWORD_EXPIRED'],
  ['luis.locked', 'LOCKED_OUT'],
  ['anna.activate', 'PROVISIONED'],
])('GET /api/v1/users/%s: by login or id, the status is %s', async (login, status) => {
  const { id, login: fullLogin, config } = client.sandbox.user(login)
  const answer = await userAt(login)
  const { firstName, lastName } = config
  expect(answer.body).toMatchObject({ id, status, profile: { login: fullLogin, firstName, lastName } })
  expect((await userAt(id)).body).toEqual(answer.body)
})

test('GET /api/v1/users: an unknown user is 404 E0000007; without the API token 401 E0000011', async () => {
  expect(outcome(await userAt('nobody@example.test'))).toBe('404 E0000007')
  expect(outcome(await userAt('amelia.stone', {}))).toBe('401 E0000011')
})
