import { expect, test } from '@jest/globals'
import { type Answer, outcome, useSandbox } from './sandbox-client.ts'

const client = useSandbox()

const RECOVERY = '/api/v1/authn/recovery'
const PUBLIC = {}

function start(kind: 'password' | 'unlock', body: object, headers?: Record<string, string>) {
  return client.post(`${RECOVERY}/${kind}`, body, headers)
}

function sentTo(login: string) {
  const message = client.sandbox.outbox.latest(client.sandbox.user(login).login, 'recovery')
  if (message === undefined) throw new Error(`no message to ${login}`)
  return message
}

/** docs/conformance.md F-2.16: forgotten password and unlock → RECOVERY_CHALLENGE. */
// sandbox shows: F-1.15, F-2.16
test.each([
  ['forgot password by EMAIL', 'password', 'amelia.stone', 'PASSWORD'],
  // sandbox shows
  ['unlock by EMAIL', 'unlock', 'luis.locked', 'UNLOCK'],
] as const)('%s: RECOVERY_CHALLENGE without a state token, and an email', async (...row) => {
  const [, kind, username, recoveryType] = row
  const { body } = await start(kind, { username, factorType: 'EMAIL' }, PUBLIC)
  const waiting = { status: 'RECOVERY_CHALLENGE', factorResult: 'WAITING', factorType: 'EMAIL' }
  expect(body).toEqual({ ...waiting, recoveryType })
  expect(sentTo(username)).toMatchObject({ kind: 'mail', token: expect.stringMatching(/^[\w-]{20}$/) })
})

// sandbox shows: F-1.8, F-1.17, F-2.16
test.each([
  ['forgot password by SMS', 'password', 'amelia.stone', 'PASSWORD', 'SMS', 'SMS', 'sms'],
  ['forgot password by CALL', 'password', 'amelia.stone', 'PASSWORD', 'CALL', 'call', 'call'],
  ['unlock by SMS', 'unlock', 'lena.locked', 'UNLOCK', 'SMS', 'SMS', 'sms'],
  ['unlock by CALL', 'unlock', 'lena.locked', 'UNLOCK', 'CALL', 'call', 'call'],
] as const)('%s: RECOVERY_CHALLENGE with verify, cancel and a plain resend', async (...row) => {
  const [, kind, username, recoveryType, factorType, shown, name] = row
  const relayState = 'https://portal.example.test/back'
  const { body } = await start(kind, { username, factorType, relayState }, PUBLIC)
  const link = (path: string) => ({ href: client.url + path, hints: { allow: ['POST'] } })
  expect(body).toEqual({
    stateToken: expect.stringMatching(/^00/),
    expiresAt: expect.any(String),
    status: 'RECOVERY_CHALLENGE',
    relayState,
    factorType: shown,
    recoveryType,
    _links: {
      next: { name: 'verify', ...link(`${RECOVERY}/factors/${factorType}/verify`) },
      cancel: link('/api/v1/authn/cancel'),
      resend: { name, ...link(`${RECOVERY}/factors/${factorType}/resend`) },
    },
  })
})

// sandbox shows: F-2.18
test('an unknown recovery token: 401 E0000011', async () => {
  const recoveryToken = 'no-such-recovery-token'
  expect(outcome(await client.post(`${RECOVERY}/token`, { recoveryToken }))).toBe('401 E0000011')
})

/** docs/conformance.md F-3: recovery calls of a trusted application. */
// sandbox shows, F-1.15, F-1.17, F-3.1
test.each([
  ['password', 'amelia.stone', 'PASSWORD'],
  ['unlock', 'lena.locked', 'UNLOCK'],
] as const)(
  'recovery/%s by a trusted app without factorType: the response has the recovery token',
  async (...row) => {
    const [kind, username, recoveryType] = row
    const { body } = await start(kind, { username })
    const link = (path: string) => ({ href: `${client.url}/api/v1/authn${path}`, hints: { allow: ['POST'] } })
    expect(body).toEqual({
      expiresAt: expect.any(String),
      status: 'RECOVERY',
      recoveryToken: expect.stringMatching(/^[\w-]{20}$/),
      recoveryType,
      _embedded: { user: expect.objectContaining({ profile: expect.any(Object) }) },
      _links: { next: { name: 'recovery', ...link('/recovery/token') }, cancel: link('/cancel') },
    })
    const { recoveryToken } = body
    expect(outcome(await client.post(`${RECOVERY}/token`, { recoveryToken }))).toBe('200 RECOVERY')
  },
)

/** A trusted app is told why a user cannot be recovered. */
// sandbox shows, F-1.24, F-3.2
test.each([
  ['unknown user', 'password', 'unknown', undefined, 'E0000095'],
  ['unknown user, by email', 'password', 'unknown', 'EMAIL', 'E0000095'],
  ['unknown user, by SMS', 'unlock', 'unknown', 'SMS', 'E0000095'],
  ['recovery not allowed', 'password', 'hugo.norecovery', 'EMAIL', 'E0000034'],
  ['no phone', 'password', 'mila.nophone', 'SMS', 'E0000034'],
  ['only an administrator can unlock', 'password', 'lars.locked', 'SMS', 'E0000119'],
  ['only an administrator can unlock', 'unlock', 'lars.locked', 'EMAIL', 'E0000119'],
  ['only an administrator can unlock', 'unlock', 'lars.locked', undefined, 'E0000119'],
  ['not locked out', 'unlock', 'amelia.stone', 'EMAIL', 'E0000032'],
] as const)('trusted app, %s: recovery/%s', async (_who, kind, username, factorType, code) => {
  expect(outcome(await start(kind, { username, factorType }))).toBe(`403 ${code}`)
})

/** A public app gets no user data before primary authentication. */
// sandbox shows
test.each(['EMAIL', 'SMS', 'CALL'])(
  'public app, by %s: the same response for known and unknown users',
  async (factorType) => {
    const one = await start('password', { username: 'amelia.stone', factorType }, PUBLIC)
    const hidden = (answer: Answer) => ({ ...answer.body, stateToken: typeof answer.body.stateToken })
    for (const username of ['nobody', 'lars.locked']) {
      const other = await start('password', { username, factorType }, PUBLIC)
      expect(other.status).toBe(one.status)
      expect(JSON.stringify(hidden(other))).toBe(JSON.stringify(hidden(one)))
    }
    expect(JSON.stringify(one.body)).not.toContain('Amelia')
  },
)
