import { expect, test } from '@jest/globals'
import { answerOf, outcome, useSandbox } from '../authn/sandbox-client.ts'

const client = useSandbox()
const administrator = () => ({ authorization: `SSWS ${client.sandbox.adminToken}` })
const LOGIN = 'new.user@example.test'
const NEW_USER = {
  profile: { login: LOGIN, email: LOGIN, firstName: 'New', lastName: 'User' },
  credentials: {
    password: { value: 'Demo-Password-1' },
    recovery_question: { question: 'Where?', answer: 'lighthouse' },
  },
}

const post = (path: string, body: object = {}) => client.post(`/api/v1${path}`, body, administrator())
const get = async (path: string) => answerOf(await client.get(`/api/v1${path}`, administrator()))
async function remove(path: string): Promise<number> {
  const init = { method: 'DELETE', headers: administrator() }
  return (await fetch(`${client.url}/api/v1${path}`, init)).status
}

test.each([
  [
    'a token that may only read',
    () => ({ authorization: `SSWS ${client.sandbox.apiToken}` }),
    '403 E0000006',
  ],
  ['no token', () => ({}), '401 E0000011'],
])('%s creates nobody', async (_, headers, refusal) => {
  const count = client.sandbox.users().length
  expect(outcome(await client.post('/api/v1/users', NEW_USER, headers()))).toBe(refusal)
  expect(client.sandbox.users()).toHaveLength(count)
})

test('a user is created, signs in, is deactivated and then deleted', async () => {
  const created = await post('/users', NEW_USER)
  expect(created.body).toMatchObject({ status: 'ACTIVE', profile: { login: LOGIN } })
  expect(outcome(await client.signIn(LOGIN))).toBe('200 SUCCESS')
  expect(outcome(await post('/users', NEW_USER))).toBe('400 E0000001')
  const path = `/users/${created.body.id}`
  expect(await remove(path)).toBe(204)
  expect((await get(path)).body.status).toBe('DEPROVISIONED')
  expect(await remove(path)).toBe(204)
  expect((await get(path)).status).toBe(404)
})

test.each([
  ['?activate=false', NEW_USER, 'STAGED', 'ACTIVE'],
  ['?activate=true', { profile: NEW_USER.profile }, 'PROVISIONED', 'PROVISIONED'],
])('a user of %s: %j', async (query, body, before, activated) => {
  const { body: user } = await post(`/users${query}`, body)
  expect(user.status).toBe(before)
  expect((await post(`/users/${user.id}/lifecycle/activate?sendEmail=false`)).body).toMatchObject({
    activationToken: expect.any(String),
  })
  expect((await get(`/users/${user.id}`)).body.status).toBe(activated)
})

test.each([
  ['lifecycle/reset_password?sendEmail=false', 'RECOVERY'],
  ['credentials/forgot_password?sendEmail=false', 'ACTIVE'],
])('%s: the token of a link, no email, and the status %s', async (operation, status) => {
  const { body: user } = await post('/users', NEW_USER)
  const { body } = await post(`/users/${user.id}/${operation}`)
  const recoveryToken = String(body.resetPasswordUrl).split('/').at(-1)
  expect((await get(`/users/${user.id}`)).body.status).toBe(status)
  expect(client.sandbox.outbox.messages).toEqual([])
  expect(outcome(await client.post('/api/v1/authn/recovery/token', { recoveryToken }))).toBe('200 RECOVERY')
})

test('a sign-on policy asks the users of its group, and nobody else', async () => {
  const { body: user } = await post('/users', NEW_USER)
  const { body: group } = await post('/groups', { profile: { name: 'Asked' } })
  const people = { groups: { include: [group.id] } }
  const { body: policy } = await post('/policies', {
    type: 'OKTA_SIGN_ON',
    name: 'Ask',
    conditions: { people },
  })
  const signon = { access: 'ALLOW', requireFactor: true, factorPromptMode: 'ALWAYS' }
  await post(`/policies/${policy.id}/rules`, { type: 'SIGN_ON', name: 'Ask', actions: { signon } })
  const factor = {
    factorType: 'question',
    provider: 'OKTA',
    profile: { question: 'first_award', answer: 'none' },
  }
  await post(`/users/${user.id}/factors`, factor)
  expect(outcome(await client.signIn(LOGIN))).toBe('200 SUCCESS')
  const path = `/api/v1/groups/${group.id}/users/${user.id}`
  await fetch(client.url + path, { method: 'PUT', headers: administrator() })
  expect(outcome(await client.signIn(LOGIN))).toBe('200 MFA_REQUIRED')
  expect(outcome(await client.signIn('amelia.stone'))).toBe('200 SUCCESS')
  expect(await remove(`/policies/${policy.id}`)).toBe(204)
  expect(outcome(await client.signIn(LOGIN))).toBe('200 SUCCESS')
})

test('the System Log has the events about a user', async () => {
  const { body: user } = await post('/users', NEW_USER)
  await post(`/users/${user.id}/lifecycle/suspend`)
  const filter = new URLSearchParams({ filter: `target.id eq "${user.id}"` })
  const response = await client.get(`/api/v1/logs?${filter}`, administrator())
  expect(await response.json()).toMatchObject([
    { eventType: 'user.lifecycle.suspend', target: [{ id: user.id, type: 'User' }] },
  ])
})

test('users are listed in pages', async () => {
  for (const name of ['page-1', 'page-2', 'page-3'])
    await post('/users', { ...NEW_USER, profile: { ...NEW_USER.profile, login: `${name}@example.test` } })
  const query = new URLSearchParams({ search: 'profile.login sw "page-"', limit: '2' })
  const first = await client.get(`/api/v1/users?${query}`, administrator())
  const [, next = ''] = /<([^>]+)>; rel="next"/.exec(first.headers.get('link') ?? '') ?? []
  const second = await client.get(new URL(next).pathname + new URL(next).search, administrator())
  const users = [await first.json(), await second.json()].flat()
  expect(users.map((user) => Object(user).profile.login)).toEqual([
    'page-1@example.test',
    'page-2@example.test',
    'page-3@example.test',
  ])
  expect(second.headers.get('link')).toBeNull()
})

test('a reset removes users, groups and policies that were created', async () => {
  const count = client.sandbox.users().length
  await post('/users', NEW_USER)
  await post('/groups', { profile: { name: 'Asked' } })
  client.sandbox.reset()
  expect(client.sandbox.users()).toHaveLength(count)
  expect(await (await client.get('/api/v1/groups?q=Asked', administrator())).json()).toEqual([])
})
