import { describe, expect, test } from '@jest/globals'
import { statusOf } from '../../src/authn/user-lifecycle.ts'
import { type Answer, DEVICE, outcome, PASSWORD, useSandbox } from './sandbox-client.ts'

/**
 * How real orgs recover accounts, as peers' code, support articles and Okta's own fixtures show it.
 * Each test names the fact; the settings are in docs/sandbox.md.
 */
const client = useSandbox()

const RECOVERY = '/api/v1/authn/recovery'
const PUBLIC = {}
const NEW_PASSWORD = 'Another-Password-2'
const AMELIA = 'amelia.stone'
const LUIS = 'luis.locked'
/** The account can be recovered without a question. */
const MILA = 'mila.nophone'

type Kind = 'password' | 'unlock'

const start = (kind: Kind, body: object, headers: Record<string, string> = PUBLIC) =>
  client.post(`${RECOVERY}/${kind}`, body, headers)
const redeem = (recoveryToken: string | undefined, headers: Record<string, string> = PUBLIC) =>
  client.post(`${RECOVERY}/token`, { recoveryToken }, headers)
const reset = (answer: Answer, more: object = {}) =>
  client.follow(answer, '_links.next', { newPassword: NEW_PASSWORD, ...more })
const user = (login: string) => client.sandbox.user(login)
const messagesTo = (login: string) =>
  client.sandbox.outbox.messages.filter((message) => message.login === user(login).login)
const set = (settings: Partial<typeof client.sandbox.settings>) =>
  Object.assign(client.sandbox.settings, settings)
const asTrusted = () => ({ authorization: `SSWS ${client.sandbox.apiToken}` })

/** R1: guardian/gateway, docs/okta/password-reset.md. */
describe('R1: a recovery that an API token starts', () => {
  test.each(['EMAIL', 'SMS', undefined])(
    'is an administrator’s reset (%s): the user cannot sign in until it is done, nor recover the password',
    async (factorType) => {
      const started = await start('password', { username: AMELIA, factorType }, asTrusted())
      expect(statusOf(user(AMELIA))).toBe('RECOVERY')
      expect(outcome(await client.signIn(AMELIA))).toBe('401 E0000004')
      const sent = messagesTo(AMELIA).length
      expect(outcome(await start('password', { username: AMELIA, factorType: 'SMS' }))).toBe(
        '200 RECOVERY_CHALLENGE',
      )
      expect(messagesTo(AMELIA)).toHaveLength(sent)

      const token = started.body.recoveryToken ?? client.sandbox.recoveryToken(AMELIA)
      const asked = await redeem(String(token))
      const answered = await client.follow(asked, '_links.next', { answer: 'gatehouse' })
      expect(outcome(await reset(answered))).toBe('200 SUCCESS')
      expect(statusOf(user(AMELIA))).toBe('ACTIVE')
    },
  )

  test('changes nothing without a token, for an unlock, and with tokenRecoveryResets: false (devforum 22315)', async () => {
    await start('password', { username: AMELIA, factorType: 'EMAIL' })
    await start('unlock', { username: LUIS, factorType: 'EMAIL' }, asTrusted())
    set({ tokenRecoveryResets: false })
    await start('password', { username: MILA }, asTrusted())
    expect([AMELIA, LUIS, MILA].map((login) => statusOf(user(login)))).toEqual([
      'ACTIVE',
      'LOCKED_OUT',
      'ACTIVE',
    ])
    expect(outcome(await client.signIn(AMELIA))).toBe('200 SUCCESS')
  })
})

test.each([['password'], ['unlock']] as const)(
  'R2: without an API token, recovery/%s without factorType is 403 E0000006 (okta-auth-java 76)',
  async (kind) => {
    expect(outcome(await start(kind, { username: AMELIA }))).toBe('403 E0000006')
  },
)

/** R4: support articles about "Forgot Password Denied", missing text messages, and staged users. */
describe('R4: no password is recovered', () => {
  test.each([
    ['a locked user', LUIS, () => {}],
    ['a user whose password is too young', 'yara.young', () => {}],
    ['a staged user', 'stella.staged', () => {}],
    ['a provisioned user', 'anna.activate', () => {}],
    ['a user in RECOVERY', AMELIA, () => client.sandbox.changeLifecycle(AMELIA, 'reset_password')],
  ])('for %s: nothing by text message or call, and a mail that says so', async (_who, username, prepare) => {
    await prepare()
    const before = messagesTo(username).length
    const withPhone = user(username)
    withPhone.recoveryPhone ??= '+15550100099'
    for (const factorType of ['SMS', 'CALL'])
      expect(outcome(await start('password', { username, factorType }))).toBe('200 RECOVERY_CHALLENGE')
    expect(messagesTo(username)).toHaveLength(before)
    await start('password', { username, factorType: 'EMAIL' })
    const [denied] = messagesTo(username).slice(before)
    expect(denied).toMatchObject({ kind: 'mail', purpose: 'recovery-denied' })
    expect(denied?.text).toMatch(/^Forgot Password Denied/)
    expect(denied?.token).toBeUndefined()
  })

  test('a staged user cannot sign in either; a password that is old enough is recovered', async () => {
    expect(statusOf(user('stella.staged'))).toBe('STAGED')
    expect(outcome(await client.signIn('stella.staged'))).toBe('401 E0000004')
    expect(outcome(await client.signIn('yara.young'))).toBe('200 SUCCESS')
    client.advance(24 * 60 * 60_000)
    await start('password', { username: 'yara.young', factorType: 'SMS' })
    expect(messagesTo('yara.young').at(-1)).toMatchObject({ kind: 'sms', purpose: 'recovery' })
  })

  test('a locked user can unlock the account instead', async () => {
    await start('unlock', { username: LUIS, factorType: 'EMAIL' })
    expect(messagesTo(LUIS).at(-1)).toMatchObject({ purpose: 'recovery', token: expect.any(String) })
  })
})

test.each([true, false])(
  'R5: a recovered password ends all sessions at the org (release notes of 2018), whatever revokeSessions says: %s',
  async (revokeSessions) => {
    const earlier = await client.signIn(MILA)
    const redirect = `/login/sessionCookieRedirect?token=${earlier.body.sessionToken}`
    await reset(await redeem(client.sandbox.recoveryToken(MILA)), { revokeSessions })
    expect(user(MILA).sessionsRevoked).toBeGreaterThan(0)
    expect((await client.get(redirect)).status).toBe(401)
  },
)

/** R6: guardian/gateway, pull requests 1472 and 1856. */
describe('R6: a recovery token', () => {
  test('is redeemed again until the password is set; the answer to the question does not use it up', async () => {
    const token = client.sandbox.recoveryToken(AMELIA)
    const first = await redeem(token)
    await client.follow(first, '_links.next', { answer: 'gatehouse' })
    const again = await redeem(token)
    expect(outcome(again)).toBe('200 RECOVERY')
    expect(again.body.stateToken).not.toBe(first.body.stateToken)
    const answered = await client.follow(again, '_links.next', { answer: 'gatehouse' })
    expect(outcome(await reset(answered))).toBe('200 SUCCESS')
    expect(outcome(await redeem(token))).toBe('403 E0000105')
  })

  test('is redeemed again until the account is unlocked', async () => {
    const token = client.sandbox.recoveryToken(LUIS, 'UNLOCK')
    await redeem(token)
    const asked = await redeem(token)
    expect(outcome(await client.follow(asked, '_links.next', { answer: 'gatehouse' }))).toBe('200 SUCCESS')
    expect(outcome(await redeem(token))).toBe('403 E0000105')
  })

  test('lives an hour, and its state token 5 minutes 30 seconds after each request', async () => {
    const token = client.sandbox.recoveryToken(MILA)
    const redeemed = await redeem(token)
    const lifetimeMs = Date.parse(String(redeemed.body.expiresAt)) - client.now()
    expect(lifetimeMs).toBe(330_000)
    const { stateToken } = redeemed.body
    for (const [waitMs, expected] of [
      [329_000, '200 PASSWORD_RESET'],
      [329_000, '200 PASSWORD_RESET'],
      [330_000, '401 E0000011'],
    ] as const) {
      client.advance(waitMs)
      expect(outcome(await client.post('/api/v1/authn', { stateToken }))).toBe(expected)
    }
    client.advance(60 * 60_000 - 2 * 329_000 - 330_000 - 1)
    expect(outcome(await redeem(token))).toBe('200 PASSWORD_RESET')
    client.advance(1)
    expect(outcome(await redeem(token))).toBe('403 E0000105')
  })

  test('so does the activation token of a user without a password, at both addresses', async () => {
    const token = client.sandbox.activationToken('aida.nopassword')
    const activations = [
      await client.post('/api/v1/authn', { token }, PUBLIC),
      await redeem(token),
      await client.post('/api/v1/authn', { token }, PUBLIC),
    ]
    for (const activation of activations)
      expect(activation.body).toMatchObject({
        status: 'PASSWORD_RESET',
        recoveryType: 'ACCOUNT_ACTIVATION',
        expiresAt: new Date(client.now() + 330_000).toISOString(),
      })
    expect(activations.at(-1) && outcome(await reset(activations[2] as Answer))).toBe('200 SUCCESS')
    expect(outcome(await client.post('/api/v1/authn', { token }, PUBLIC))).toBe('401 E0000004')
    expect(outcome(await redeem(token))).toBe('403 E0000105')
  })
})

/** R7: the widget's fixture RECOVERY_EXPIRED_error.js; guardian/gateway's end-to-end tests. */
test.each(['E0000105', 'E0000110', 'E0000006'] as const)(
  'R7: a used or expired link is 403 %s, by the setting usedLink; an unknown one stays 401 E0000011',
  async (usedLink) => {
    set({ usedLink })
    const used = client.sandbox.recoveryToken(MILA)
    await reset(await redeem(used))
    const expired = client.sandbox.recoveryToken(AMELIA)
    client.advance(61 * 60_000)
    for (const token of [used, expired]) expect(outcome(await redeem(token))).toBe(`403 ${usedLink}`)
    expect(outcome(await redeem('no-such-recovery-token'))).toBe('401 E0000011')
  },
)

describe('R8: wrong answers to the recovery question', () => {
  test('lock the user out, who then cannot recover the password; a correct answer begins anew', async () => {
    const token = client.sandbox.recoveryToken(AMELIA)
    const asked = await redeem(token)
    const answer = (text: string) => client.follow(asked, '_links.next', { answer: text })
    for (let n = 0; n < 4; n += 1) expect(outcome(await answer('wrong'))).toBe('403 E0000087')
    expect(outcome(await answer('gatehouse'))).toBe('200 PASSWORD_RESET')
    const next = await redeem(token)
    const again = (text: string) => client.follow(next, '_links.next', { answer: text })
    for (let n = 0; n < 4; n += 1) expect(outcome(await again('wrong'))).toBe('403 E0000087')
    expect(outcome(await again('wrong'))).toBe('403 E0000119')
    expect(statusOf(user(AMELIA))).toBe('LOCKED_OUT')
    expect(outcome(await again('gatehouse'))).toBe('401 E0000011')
    expect(outcome(await redeem(token))).toBe('403 E0000105')
    expect(outcome(await client.signIn(AMELIA))).toBe('401 E0000004')
  })

  test('count with a new password too', async () => {
    const token = client.sandbox.recoveryToken(AMELIA)
    const asked = await redeem(token)
    const answered = await client.follow(asked, '_links.next', { answer: 'gatehouse' })
    for (let n = 0; n < 4; n += 1)
      expect(outcome(await reset(answered, { answer: 'wrong' }))).toBe('403 E0000087')
    expect(outcome(await reset(answered, { answer: 'wrong' }))).toBe('403 E0000119')
  })
})

test('R9: a recovery finds the user by login, short name, primary and secondary email; a sign-in only by the first two', async () => {
  const names = [
    'emil.emails@example.test',
    'emil.emails',
    'emil@mail.example.test',
    'Emil.Private@example.org',
  ]
  for (const username of names) await start('password', { username, factorType: 'EMAIL' })
  expect(messagesTo('emil.emails').map(({ to, purpose }) => [to, purpose])).toEqual(
    names.map(() => ['emil@mail.example.test', 'recovery']),
  )
  const signIns = await Promise.all(names.map((name) => client.signIn(name)))
  expect(signIns.map(outcome)).toEqual([...Array(2).fill('200 SUCCESS'), ...Array(2).fill('401 E0000004')])
})

test.each([
  ['a trusted origin', 'https://portal.example.test/back?x=1', '200 RECOVERY_CHALLENGE'],
  ['another origin', 'https://other.example.test/', '400 E0000001'],
  ['no link', 'the third tab', '400 E0000001'],
  ['a path', '/back', '400 E0000001'],
])(
  'R10: relayState in a recovery must lead to a trusted origin (reference): %s',
  async (_, relayState, expected) => {
    for (const kind of ['password', 'unlock'] as const)
      expect(outcome(await start(kind, { username: LUIS, factorType: 'EMAIL', relayState }))).toBe(expected)
  },
)

test.each(['E0000006', 'E0000017'] as const)(
  'R11: a social or federated user is 403 %s, by the setting federatedRecovery, to a public application too',
  async (federatedRecovery) => {
    set({ federatedRecovery })
    for (const factorType of ['EMAIL', 'SMS']) {
      const answer = await start('password', { username: 'fiona.federated', factorType })
      expect(outcome(answer)).toBe(`403 ${federatedRecovery}`)
    }
    expect(messagesTo('fiona.federated')).toEqual([])
    expect(outcome(await client.signIn('fiona.federated'))).toBe('401 E0000004')
  },
)

/** R12: Okta's list of error codes; the texts of the widget. */
describe('R12: limits on messages', () => {
  test.each([
    ['sms', 429, ['E0000109', 'E0000146', 'E0000186', 'E0000204']],
    ['sms', 403, ['E0000150']],
    ['call', 429, ['E0000133', 'E0000147', 'E0000205']],
    ['call', 403, ['E0000151']],
    ['email', 429, ['E0000118']],
  ] as const)('a code by %s is refused with %i, by the setting sendLimit', async (channel, status, codes) => {
    const login = { sms: 'sana.sms', call: 'carl.call', email: 'emma.mail' }[channel]
    for (const sendLimit of codes) {
      set({ sendLimit })
      const refused = await client.follow(await client.signIn(login), '_embedded.factors.0._links.verify')
      expect(outcome(refused)).toBe(`${status} ${sendLimit}`)
    }
    expect(messagesTo(login)).toEqual([])
    const others = { sms: 'carl.call', call: 'emma.mail', email: 'sana.sms' }[channel]
    const sent = await client.follow(await client.signIn(others), '_embedded.factors.0._links.verify')
    expect(outcome(sent)).toBe('200 MFA_CHALLENGE')
  })

  test('a recovery is refused too, which shows a public application that the user exists', async () => {
    set({ sendLimit: 'E0000146' })
    const answers = await Promise.all(
      [AMELIA, 'nobody', MILA].map((username) => start('password', { username, factorType: 'SMS' })),
    )
    expect(answers.map(outcome)).toEqual(['429 E0000146', '200 RECOVERY_CHALLENGE', '200 RECOVERY_CHALLENGE'])
  })

  test('another email needs a pause of 5 seconds, a text message or call one of 30', async () => {
    for (const [login, code, pauseS] of [
      ['emma.mail', 'E0000118', 5],
      ['sana.sms', 'E0000109', 30],
      ['carl.call', 'E0000133', 30],
    ] as const) {
      const sent = await client.follow(await client.signIn(login), '_embedded.factors.0._links.verify')
      const resend = () => client.follow(sent, '_links.resend.0')
      client.advance(pauseS * 1000 - 1)
      expect(outcome(await resend())).toBe(`429 ${code}`)
      client.advance(1)
      expect(outcome(await resend())).toBe('200 MFA_CHALLENGE')
    }
  })
})

test('R13: the device token also counts in recovery/token, of a trusted application only', async () => {
  const context = { deviceToken: DEVICE }
  const recover = async (headers: Record<string, string>) => {
    const recoveryToken = client.sandbox.recoveryToken(MILA)
    await reset(await client.post(`${RECOVERY}/token`, { recoveryToken, context }, headers), {
      newPassword: `${NEW_PASSWORD}${Math.random()}`,
    })
    return user(MILA).lastDeviceToken
  }
  expect(await recover(asTrusted())).toBe(DEVICE)
  expect(await recover(PUBLIC)).toBeUndefined()
})

/** S17: okta-auth-js calls them without a token (lib/authn/util/link2fn.ts). */
describe('S17: questions, QR codes and activation links', () => {
  async function offered() {
    const choice = await client.signIn('erin.enroll')
    const push = await client.follow(choice, '_embedded.factors.push._links.enroll', {
      factorType: 'push',
      provider: 'OKTA',
    })
    const href = (answer: Answer, path: string) => String(answer.at(`${path}.href`))
    const links = '_embedded.factor._embedded.activation._links'
    return {
      stateToken: push.body.stateToken,
      gets: [href(choice, '_embedded.factors.question._links.questions'), href(push, `${links}.qrcode`)],
      sends: [
        href(push, `${links}.send.0`),
        `/api/v1/authn/factors/${push.at('_embedded.factor.id')}/lifecycle/activate/email`,
      ],
      restart: `/api/v1/users/${user('erin.enroll').id}/factors/${push.at('_embedded.factor.id')}/lifecycle/activate`,
    }
  }

  test.each([
    ['need no API token', () => PUBLIC, [200, 200, 200, 200, 200]],
    ['need rights with one: 403 E0000006', asTrusted, [403, 403, 403, 403, 403]],
  ])('%s', async (_name, headers, statuses) => {
    const { stateToken, gets, sends, restart } = await offered()
    const seen = [
      ...(await Promise.all(gets.map((href) => client.get(href, headers())))),
      ...(await Promise.all([...sends, restart].map((href) => client.post(href, { stateToken }, headers())))),
    ]
    expect(seen.map(({ status }) => status)).toEqual(statuses)
  })

  test('work with a token that has these rights (tokenManagesFactors)', async () => {
    set({ tokenManagesFactors: true })
    const { gets } = await offered()
    for (const href of gets) expect((await client.get(href, asTrusted())).status).toBe(200)
  })
})

test('the settings are set by POST /sandbox/settings, and a reset restores their defaults', async () => {
  const settings = {
    tokenRecoveryResets: false,
    usedLink: 'E0000110',
    federatedRecovery: 'E0000017',
    tokenManagesFactors: true,
    sendLimit: 'E0000205',
  }
  await fetch(`${client.url}/sandbox/settings`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(settings),
  })
  expect(client.sandbox.settings).toMatchObject(settings)
  client.sandbox.reset()
  expect(client.sandbox.settings).toMatchObject({
    tokenRecoveryResets: true,
    usedLink: 'E0000105',
    federatedRecovery: 'E0000006',
    tokenManagesFactors: false,
    sendLimit: null,
  })
  expect(outcome(await client.signIn(AMELIA, { password: PASSWORD }))).toBe('200 SUCCESS')
})
