import { expect, test } from '@jest/globals'
import { type Answer, outcome, PASSWORD, useSandbox } from './sandbox-client.ts'

/**
 * How Okta codes and words its refusals. Who has seen it: the rows S1 to S16 of docs/unproven.md.
 */
const client = useSandbox()

const causesOf = ({ body }: Answer) =>
  (body.errorCauses as { errorSummary: string }[] | undefined)?.map(({ errorSummary }) => errorSummary)
const set = (settings: Partial<typeof client.sandbox.settings>) =>
  Object.assign(client.sandbox.settings, settings)

/** Changes the expired password. */
async function change(body: object, login = 'olga.expired'): Promise<Answer> {
  const start = await client.signIn(login)
  return client.follow(start, '_links.next', {
    oldPassword: PASSWORD,
    newPassword: 'Brand-New-Word-2',
    ...body,
  })
}

/** Sets the password of a forgotten one. */
async function reset(newPassword: string): Promise<Answer> {
  const recoveryToken = client.sandbox.recoveryToken('amelia.stone')
  const start = await client.post('/api/v1/authn/recovery/token', { recoveryToken })
  const asked = await client.follow(start, '_links.next', { answer: 'gatehouse' })
  return client.follow(asked, '_links.next', { newPassword })
}

test('a lockout that is shown has a link to cancel, and no state token (S1)', async () => {
  const { body } = await client.signIn('luis.locked')
  expect(body).toEqual({
    status: 'LOCKED_OUT',
    _embedded: {},
    _links: {
      next: expect.objectContaining({ name: 'unlock' }),
      cancel: expect.objectContaining({ href: `${client.url}/api/v1/authn/cancel` }),
    },
  })
})

test('a wrong password is E0000004 or, by a setting, E0000207 (S2)', async () => {
  const wrong = { password: 'Wrong-Password-9' }
  expect(outcome(await client.signIn('amelia.stone', wrong))).toBe('401 E0000004')
  set({ wrongPassword: 'E0000207' })
  expect(outcome(await client.signIn('amelia.stone', wrong))).toBe('401 E0000207')
  expect(outcome(await client.signIn('nobody', wrong))).toBe('401 E0000207')
})

test('an expired temporary password is E0000064; a wrong one says no more than for others (S3)', async () => {
  expect(outcome(await client.signIn('tim.temporary'))).toBe('401 E0000064')
  expect(outcome(await client.signIn('tim.temporary', { password: 'Wrong-Password-9' }))).toBe('401 E0000004')
})

test.each([
  ['slow', '401 E0000004'],
  ['timed-out', '502 E0000240'],
  ['disconnected', '504 E0000241'],
] as const)(
  'Active Directory with an agent that is %s: %s, and no other user notices (S4)',
  async (directoryAgent, answer) => {
    const start = await client.signIn('adam.directory')
    set({ directoryAgent })
    expect(outcome(await client.signIn('adam.directory'))).toBe(answer)
    const changed = { oldPassword: PASSWORD, newPassword: 'Brand-New-Word-2' }
    expect(outcome(await client.follow(start, '_links.next', changed))).toBe(answer)
    expect(outcome(await client.signIn('amelia.stone'))).toBe('200 SUCCESS')
  },
)

test('an expired password of Active Directory that cannot be changed looks like a wrong one (S4)', async () => {
  expect(outcome(await client.signIn('agnes.directory'))).toBe('401 E0000004')
  expect(outcome(await client.signIn('adam.directory'))).toBe('200 PASSWORD_EXPIRED')
})

test('Active Directory rejects a new password with one vague sentence (S4)', async () => {
  expect(causesOf(await change({ newPassword: '!' }, 'adam.directory'))).toEqual([
    'Password requirements were not met.',
  ])
})

test('a wrong old password is 400 in words or, by a setting, 403 with the field (S5)', async () => {
  const words = await change({ oldPassword: 'Wrong-Password-9' })
  expect([outcome(words), causesOf(words)]).toEqual(['400 E0000014', ['Old password is not correct']])
  set({ wrongOldPassword: 'documented' })
  const field = await change({ oldPassword: 'Wrong-Password-9' })
  expect([outcome(field), causesOf(field)]).toEqual([
    '403 E0000014',
    ['oldPassword: The credentials provided were incorrect.'],
  ])
})

const ALL_RULES =
  'Password requirements were not met. Password requirements: at least 8 characters, a lowercase letter, an uppercase letter, a number, no parts of your username.'

test.each([
  ['all-rules', '403 E0000014', '403 E0000080', [ALL_RULES]],
  ['broken-rules', '403 E0000014', '403 E0000014', ['Passwords must have a number']],
  ['no-causes', '403 E0000014', '403 E0000080', undefined],
] as const)(
  'a new password that breaks a rule, with %s: %s, after a reset %s (S7)',
  async (passwordRules, ...answers) => {
    set({ passwordRules })
    const changed = await change({ newPassword: 'NoNumberInHere' })
    const afterReset = await reset('NoNumberInHere')
    expect([outcome(changed), outcome(afterReset), causesOf(changed)]).toEqual(answers)
    expect(causesOf(afterReset)).toEqual(answers[2])
  },
)

test('with a German brand, texts are German; codes and names of fields are not (S6)', async () => {
  set({ language: 'de' })
  const refused = await client.signIn('amelia.stone', { password: 'Wrong-Password-9' })
  expect([outcome(refused), refused.body.errorSummary]).toEqual([
    '401 E0000004',
    'Die Authentifizierung ist fehlgeschlagen.',
  ])
  expect(causesOf(await change({ oldPassword: 'Wrong-Password-9' }))).toEqual([
    'Das alte Passwort ist nicht richtig',
  ])
  expect(causesOf(await change({ newPassword: '!' }))?.[0]).toMatch(
    /^Die Passwortanforderungen sind nicht erfüllt\. Passwortanforderungen: mindestens 8 Zeichen, einen Klein/,
  )
  set({ wrongOldPassword: 'documented' })
  expect(causesOf(await change({ oldPassword: 'Wrong-Password-9' }))).toEqual([
    'oldPassword: Die angegebenen Anmeldedaten sind falsch.',
  ])
})

test('string booleans in the options are taken (S16)', async () => {
  const signIn = (warnBeforePasswordExpired: unknown) =>
    client.signIn('walter.warn', { options: { warnBeforePasswordExpired } })
  expect(outcome(await signIn('true'))).toBe('200 PASSWORD_WARN')
  expect(outcome(await signIn('false'))).toBe('200 SUCCESS')
  expect(outcome(await signIn('yes'))).toBe('400 E0000001')
})

const BROWSER = '198.51.100.9'

const blocking = (gateways: string[], proxies: string[] = []) => [{ name: 'Blocked', gateways, proxies }]

test('a blocked address gets a 403 without JSON on every path, even with a wrong API token (S14)', async () => {
  set({ blockedZones: blocking([BROWSER], ['127.0.0.1']) })
  const from = (address: string, authorization: string) =>
    fetch(`${client.url}/api/v1/authn`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-forwarded-for': address, authorization },
      body: '{}',
    })
  const token = `SSWS ${client.sandbox.apiToken}`
  const blocked = await from(BROWSER, token)
  expect([blocked.status, blocked.headers.get('content-type')]).toEqual([403, expect.stringMatching(/html/)])
  expect((await from('198.51.100.10', token)).status).toBe(400)
  // each zone is evaluated alone (O1): this one does not have the caller as a proxy
  set({ blockedZones: blocking([BROWSER]) })
  expect((await from(BROWSER, token)).status).toBe(400)
  // the address of the broker itself, with any token
  set({ blockedZones: blocking(['127.0.0.1']) })
  expect((await from(BROWSER, 'SSWS wrong')).status).toBe(403)
  expect((await client.get('/api/v1/users/amelia.stone')).status).toBe(403)
})

test('ThreatInsight refuses primary authentication with E0000006, before it checks the password (S14)', async () => {
  set({ suspectedAddresses: [BROWSER] })
  const headers = { authorization: `SSWS ${client.sandbox.apiToken}`, 'x-forwarded-for': BROWSER }
  expect(outcome(await client.signIn('amelia.stone', {}, headers))).toBe('403 E0000006')
  expect(outcome(await client.signIn('nobody', {}, headers))).toBe('403 E0000006')
  expect(client.sandbox.signIns).toEqual([])
  const start = { username: 'amelia.stone', factorType: 'EMAIL' }
  expect(outcome(await client.post('/api/v1/authn/recovery/password', start, headers))).toBe(
    '200 RECOVERY_CHALLENGE',
  )
})
