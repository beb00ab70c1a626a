import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { type IncomingMessage, request } from 'node:http'
import { connect } from 'node:net'
import { expect, test } from '@jest/globals'
import { createSandbox } from '../../../src/sandbox/sandbox.ts'
import { loadSandboxConfig, parseSandboxConfig } from '../../../src/sandbox/sandbox-config.ts'
import { usersTable } from '../../../src/sandbox/users-table.ts'
import { answerOf, outcome, useSandbox } from './sandbox-client.ts'

const client = useSandbox()

async function control(method: string, path: string, body?: object) {
  return fetch(`${client.url}/sandbox${path}`, {
    method,
    headers: body === undefined ? {} : { 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
}

const push = async () =>
  client.follow(await client.signIn('priya.nair'), '_embedded.factors.push._links.verify')

test('GET /sandbox/users: id, login, password, current code and description of each user', async () => {
  const users: unknown = await (await control('GET', '/users')).json()
  expect(users).toContainEqual({
    id: expect.any(String),
    login: 'tomas.berg@example.test',
    password: 'Demo-Password-1',
    code: client.sandbox.totpCode('tomas.berg'),
    description: 'Must enter a code from an authenticator app.',
  })
})

test('POST /sandbox/users/{login}/push answers a pending push', async () => {
  const waiting = await push()
  const answered = await control('POST', '/users/priya.nair/push', { answer: 'approve' })
  expect(answered.status).toBe(204)
  expect(outcome(await client.follow(waiting, '_links.next'))).toBe('200 SUCCESS')
})

test.each([
  ['no pending push', '/users/priya.nair/push', { answer: 'approve' }],
  ['an unknown answer', '/users/priya.nair/push', { answer: 'maybe' }],
  ['an unknown user', '/users/unknown/push', { answer: 'approve' }],
  ['an unknown fault kind', '/faults', { rules: [{ kind: 'earthquake' }] }],
])('an invalid control request is 400 with a message: %s', async (_request, path, body) => {
  const answer = await control('POST', path, body)
  expect(answer.status).toBe(400)
  expect(await answer.json()).toHaveProperty('error')
})

test('GET /sandbox/outbox: the messages that were sent', async () => {
  await client.follow(await client.signIn('sana.sms'), '_embedded.factors.sms._links.verify')
  const messages: unknown = await (await control('GET', '/outbox')).json()
  expect(messages).toEqual([
    expect.objectContaining({ kind: 'sms', to: '+15550100003', code: expect.stringMatching(/^\d{6}$/) }),
  ])
})

test('POST /sandbox/faults accepts a rule with a body of 2 MB', async () => {
  const body = { list: ['x'.repeat(2 * 1024 * 1024)] }
  const set = await control('POST', '/faults', { rules: [{ kind: 'status', status: 200, body, times: 1 }] })
  expect(set.status).toBe(204)
  expect((await client.signIn('amelia.stone')).body).toEqual(body)
})

test('POST and DELETE /sandbox/faults: faults of the authentication API', async () => {
  await control('POST', '/faults', { rules: [{ kind: 'html', path: '/api/v1/authn', times: 1 }] })
  const html = await fetch(`${client.url}/api/v1/authn`, { method: 'POST' })
  expect(html.headers.get('content-type')).toMatch(/html/)
  await control('POST', '/faults', { rules: [{ kind: 'rate-limited' }] })
  const limited = await client.signIn('amelia.stone')
  expect(outcome(limited)).toBe('429 E0000047')
  expect(limited.headers.get('x-rate-limit-remaining')).toBe('0')
  await control('DELETE', '/faults')
  expect(outcome(await client.signIn('amelia.stone'))).toBe('200 SUCCESS')
})

test('a cut connection is a network error for the client', async () => {
  client.sandbox.faults.authn.set({ kind: 'cut', times: 1 })
  await expect(client.signIn('amelia.stone')).rejects.toThrow()
  expect(outcome(await client.signIn('amelia.stone'))).toBe('200 SUCCESS')
})

test('GET /sandbox/requests: the received requests, without control requests', async () => {
  await client.signIn('amelia.stone')
  const requests: unknown = await (await control('GET', '/requests')).json()
  expect(requests).toEqual([
    expect.objectContaining({
      method: 'POST',
      path: '/api/v1/authn',
      body: { username: 'amelia.stone', password: 'Demo-Password-1' },
    }),
  ])
  expect(client.sandbox.requestLog.authn.entries).toHaveLength(1)
})

test('POST /sandbox/settings: the list of factors has the name in the specification', async () => {
  await control('POST', '/settings', { factorListName: 'factor' })
  expect((await client.signIn('tomas.berg')).at('_embedded.factor')).toHaveLength(1)
})

test('POST /sandbox/settings: the link that resets a password has its other name', async () => {
  await control('POST', '/settings', { resetPasswordName: 'password' })
  const token = client.sandbox.activationToken('aida.nopassword')
  const answer = await client.post('/api/v1/authn', { token })
  expect(answer.at('_links.next.name')).toBe('password')
})

test.each([
  ['http://localhost:5173', 'http://localhost:5173'],
  ['https://portal.example.test', null],
])('CORS: a page of %s may call the control API: %s', async (origin, allowed) => {
  const headers = { origin, 'access-control-request-method': 'POST' }
  const answer = await fetch(`${client.url}/sandbox/reset`, { method: 'OPTIONS', headers })
  expect(answer.headers.get('access-control-allow-origin')).toBe(allowed)
})

test.each([
  ['on the same machine', { host: 'localhost:8081', origin: 'http://localhost:5173' }, 204],
  [
    'of the sandbox itself, behind a proxy',
    { host: 'p.example.test', origin: 'https://p.example.test', 'sec-fetch-site': 'same-origin' },
    204,
  ],
  ['of another site', { origin: 'https://portal.example.test' }, 403],
  ['in a sandboxed frame', { origin: 'null' }, 403],
  ['of a site whose name leads to this machine', { host: 'portal.example.test:8081' }, 403],
])('a page %s may control the sandbox or not: %j, %i', async (_page, headers, expected) => {
  const waiting = await push()
  const sent = request(`${client.url}/sandbox/expire`, { method: 'POST', headers }).end()
  const [answer]: IncomingMessage[] = await once(sent, 'response')
  expect(answer?.resume().statusCode).toBe(expected)
  const { status } = await client.follow(waiting, '_links.next')
  expect(status === 200).toBe(expected === 403) // not expired
})

test('POST /sandbox/expire: all transactions expire', async () => {
  const waiting = await push()
  await control('POST', '/expire')
  expect(outcome(await client.follow(waiting, '_links.next'))).toBe('401 E0000011')
})

test('POST /sandbox/reset: all users are as configured, and the logs are empty', async () => {
  const expired = await client.signIn('olga.expired')
  const passwords = { oldPassword: 'Demo-Password-1', newPassword: 'Brand-New-Word-2' }
  await client.follow(expired, '_links.next', passwords)
  await control('POST', '/reset')
  expect(client.sandbox.requestLog.authn.entries).toEqual([])
  expect(client.sandbox.tokensIssued()).toEqual([])
  expect(outcome(await client.signIn('olga.expired'))).toBe('200 PASSWORD_EXPIRED')
})

test('activation and recovery tokens, token codes, step-ups and security keys over HTTP', async () => {
  const activation = await answerOf(await control('POST', '/users/anna.activate/activation-token'))
  expect(outcome(await client.post('/api/v1/authn', activation.body))).toBe('200 SUCCESS')
  const recovery = await answerOf(await control('POST', '/users/amelia.stone/recovery-token'))
  const recoveryToken = recovery.body.token
  expect(outcome(await client.post('/api/v1/authn/recovery/token', { recoveryToken }))).toBe('200 RECOVERY')
  expect(await (await control('GET', '/tokens/HW-0001')).json()).toEqual({
    code: client.sandbox.totpCode('yuki.hardware'),
  })
  const stepUp = await answerOf(await control('POST', '/step-up', { app: 'payroll', login: 'amelia.stone' }))
  const { stateToken } = stepUp.body
  expect(outcome(await client.post('/api/v1/authn', { stateToken }))).toBe('200 SUCCESS')
  const asked = await client.follow(
    await client.signIn('wanda.key'),
    '_embedded.factors.webauthn._links.verify',
  )
  const challenge = asked.at('_embedded.factor._embedded.challenge.challenge')
  const key = { challenge, origin: 'https://portal.example.test' }
  const signed = await answerOf(await control('POST', '/users/wanda.key/key', key))
  expect(outcome(await client.follow(asked, '_links.next', signed.body))).toBe('200 SUCCESS')
  const foreign = { ...key, credentialId: 'of-nobody' }
  expect((await control('POST', '/users/wanda.key/key', foreign)).status).toBe(400)
})

test('POST /sandbox/pam/{operation} calls the operation of the PAM control', async () => {
  expect((await control('POST', '/pam/expireTokens')).status).toBe(204)
  expect((await control('POST', '/pam/setPageSize', { args: [2] })).status).toBe(204)
  expect(await (await control('POST', '/pam/bearerTokens')).json()).toEqual([])
  expect((await control('POST', '/pam/toString')).status).toBe(400)
})

test('an unknown control path is 404', async () => {
  expect((await control('GET', '/nothing')).status).toBe(404)
})

test('every token in a response is one of the issued tokens', async () => {
  const { body } = await client.signIn('tomas.berg')
  const done = await client.signIn('amelia.stone')
  const { stateToken } = body
  const { sessionToken } = done.body
  expect(client.sandbox.tokensIssued()).toEqual(expect.arrayContaining([stateToken, sessionToken]))
})

test('the same clock and random source give the same responses', async () => {
  const run = async () => {
    let count = 0
    const random = (bytes: number) => {
      count += 1
      return Buffer.alloc(bytes, count)
    }
    const sandbox = createSandbox({
      config: loadSandboxConfig(),
      now: () => 0,
      random,
      linkOrigin: 'https://org.example.test',
    })
    const { authnUrl, close } = await sandbox.listen()
    const response = await fetch(`${authnUrl}/api/v1/authn`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `SSWS ${sandbox.apiToken}` },
      body: JSON.stringify({ username: 'max.many', password: 'Demo-Password-1' }),
    })
    const text = await response.text()
    await close()
    return text
  }
  const first = await run()
  expect(await run()).toBe(first)
  expect(first).toContain('https://org.example.test/api/v1/authn/cancel')
})

test('close() closes open connections', async () => {
  const sandbox = createSandbox({ config: loadSandboxConfig() })
  const { authnUrl, close } = await sandbox.listen()
  const socket = connect(Number(new URL(authnUrl).port), '127.0.0.1')
  await once(socket, 'connect')
  const ended = once(socket, 'close')
  await close()
  socket.destroy()
  await ended
  await expect(fetch(authnUrl)).rejects.toThrow()
})

test('the table of users has a line for each user', () => {
  const { users } = loadSandboxConfig()
  const lines = usersTable(users).split('\n')
  expect(lines).toHaveLength(users.length + 2)
  for (const { login, description } of users)
    expect(lines).toContainEqual(
      expect.stringMatching(new RegExp(`^  ${login} .*${description.slice(0, 10)}`)),
    )
})

test('a configuration with an undefined policy is refused, and the policy named', () => {
  const config = loadSandboxConfig()
  const users = config.users.map((user) => ({ ...user, passwordPolicy: 'imaginary' }))
  expect(() => parseSandboxConfig({ ...config, users })).toThrow(/policy imaginary/)
})

test('docs/sandbox.md lists every user with its description', () => {
  const page = readFileSync(new URL('../../../docs/sandbox.md', import.meta.url), 'utf8')
  const cells = page.split('\n').map((line) => line.split('|').map((cell) => cell.trim()))
  const listed = cells.filter((row) => /@example\.test/.test(row[1] ?? '')).map((row) => [row[1], row[2]])
  expect(listed).toEqual(
    loadSandboxConfig().users.map(({ login, description }) => [`\`${login}\``, description]),
  )
})
