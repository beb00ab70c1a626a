import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { type IncomingMessage, request } from 'node:http'
import { expect, test } from '@jest/globals'
import { loadSandboxConfig } from '../../src/sandbox-config.ts'
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

// sandbox shows, F-1.3, F-1.6
test('POST /sandbox/settings: the list of factors, and the link that resets a password, have their other names', async () => {
  await control('POST', '/settings', { factorListName: 'factor', resetPasswordName: 'password' })
  expect((await client.signIn('tomas.berg')).at('_embedded.factor')).toHaveLength(1)
  const token = client.sandbox.activationToken('aida.nopassword')
  expect((await client.post('/api/v1/authn', { token })).at('_links.next.name')).toBe('password')
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

test('docs/sandbox.md lists every user with its description', () => {
  const page = readFileSync(new URL('../../../docs/sandbox.md', import.meta.url), 'utf8')
  const cells = page.split('\n').map((line) => line.split('|').map((cell) => cell.trim()))
  const listed = cells.filter((row) => /@example\.test/.test(row[1] ?? '')).map((row) => [row[1], row[2]])
  expect(listed).toEqual(
    loadSandboxConfig().users.map(({ login, description }) => [`\`${login}\``, description]),
  )
})
