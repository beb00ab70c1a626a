import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals'
import { createGatehouse } from 'gatehouse-client'
import { openBrowser } from 'gatehouse-test-support/browser'
import { type ReceiverAnswer, startEventReceiver } from 'gatehouse-test-support/event-receiver'
import { freePort } from 'gatehouse-test-support/gatehouse'
import { PASSWORD } from 'gatehouse-test-support/harness'
import { openPage, type PortalPage } from 'gatehouse-test-support/portal-page'
import { errorOf, valueAt } from 'gatehouse-test-support/transaction-view'
import { until } from 'gatehouse-test-support/until'
import { CookieJar } from 'tough-cookie'
import {
  type EnrollmentPolicyName,
  type PasswordPolicyName,
  type Sandbox,
  type SandboxWithBroker,
  type SignOnPolicyName,
  startSandbox,
} from '../../src/package/start-sandbox.ts'

const SANDBOX = join(import.meta.dirname, '../..')

type Options = Parameters<typeof startSandbox>[0]

const person = (more: object) => ({ people: [{ login: 'a', ...more }] })
const env = (variables: object) => ({ broker: { env: variables } })
const WITHOUT_NUMBER = person({ factors: [{ type: 'sms' }] })
const WITHOUT_ANSWER = person({ factors: [{ type: 'question', question: 'favorite_toy' }] })
const NO_BASE32 = person({ factors: [{ type: 'token:software:totp', secret: '0!' }] })
const OTHER_SITE = { broker: { allowedOrigins: ['https://other.example'] } }
test.each<[string, unknown, string]>([
  ['an unknown option', { peeple: [] }, 'Unrecognized key: "peeple"'],
  ['an unknown factor', person({ factors: ['topt'] }), 'people.0.factors.0: expected one of totp, '],
  [
    'a login twice',
    { people: [{ login: 'a' }, { login: 'A' }] },
    'people.1.login: another person has this login',
  ],
  ['an unknown group', person({ groups: ['Nobody'] }), 'people.0.groups.0: there is no group "Nobody"'],
  [
    'an unknown policy',
    person({ signOnPolicy: 'lax' }),
    'people: a has the policy lax, which is not defined; signOnPolicies: password-only, always, ',
  ],
  [
    'a factor of a provider that the org does not have',
    person({ factors: ['totp', { type: 'webauthn' }] }),
    'people.0.factors.1: webauthn:OKTA is not among the enabledFactors of the configuration: question:OKTA, ',
  ],
  ['a message without a number', WITHOUT_NUMBER, 'people.0.factors.0.phoneNumber: is required for sms'],
  ['a question without an answer', WITHOUT_ANSWER, 'people.0.factors.0.answer: is required for question'],
  ['a secret that is not base32', NO_BASE32, 'people.0.factors.0.secret: must be base32'],
  ['a file that does not exist', { configFile: '/none.json' }, '/none.json: '],
  ['an origin of another site', OTHER_SITE, 'broker: ALLOWED_ORIGINS'],
  [
    'a variable that is an option',
    env({ PUBLIC_URL: 'http://localhost:3000' }),
    'use the option broker.publicUrl',
  ],
  ['a variable that has no effect', env({ REDIS_URL: 'redis://localhost' }), 'broker.env.REDIS_URL: '],
  ['the secret of the event hook as a variable', env({ EVENT_HOOK_SECRET: 's' }), 'use the option eventHook'],
  ['an event hook of another scheme', { eventHook: { url: 'ftp://a', secret: 's' } }, 'eventHook.url: '],
  [
    'an event hook without a secret',
    { eventHook: { url: 'http://localhost', secret: '' } },
    'eventHook.secret: ',
  ],
  ['a mistyped variable', env({ SESION_IDLE_MINUTES: '5' }), 'did you mean SESSION_IDLE_MINUTES?'],
])('%s is refused, by name', async (_, options, message) => {
  await expect(startSandbox(options as Options)).rejects.toThrow(message)
})

/** The compiler wants each name of the types here. */
const POLICY_NAMES = {
  signOnPolicies: names<SignOnPolicyName>({
    'password-only': 1,
    always: 1,
    'remember-device': 1,
    'per-session': 1,
    'new-device': 1,
    office: 1,
    denied: 1,
  }),
  enrollmentPolicies: names<EnrollmentPolicyName>({
    everything: 1,
    'app-required': 1,
    duo: 1,
    'password-factor': 1,
    'identity-provider': 1,
  }),
  passwordPolicies: names<PasswordPolicyName>({
    default: 1,
    'lockout-shown': 1,
    'minimum-age': 1,
    'no-self-service-unlock': 1,
  }),
}
function names<Name extends string>(all: Record<Name, 1>): string[] {
  return Object.keys(all).sort()
}

test.each(Object.entries(POLICY_NAMES))('the types and the docs have all names of %s', (kind, typed) => {
  const configured = JSON.parse(readFileSync(join(SANDBOX, 'sandbox.json'), 'utf8'))
  expect(Object.keys(configured[kind]).sort()).toEqual(typed)
  const docs = readFileSync(join(SANDBOX, '../docs/sandbox.md'), 'utf8')
  const [, table = ''] = /\| option \| name \| effect \|(.*?)\n\n/s.exec(docs) ?? []
  expect(typed.filter((name) => !table.includes(`\`${name}\``))).toEqual([])
})

test('after a failed start, nothing keeps listening', async () => {
  const listening = () => process.getActiveResourcesInfo().filter((type) => type === 'TCPServerWrap').length
  const before = listening()
  await expect(startSandbox({ broker: { publicUrl: 'portal' } })).rejects.toThrow('PUBLIC_URL')
  await until(() => listening() <= before) // Node lists a closed server for a moment
})

test('without a broker, the port is that of the Authentication API; stop closes everything, also twice', async () => {
  const port = await freePort()
  const sandbox: Sandbox = await startSandbox({ port })
  expect(sandbox.authnUrl).toBe(`http://127.0.0.1:${port}`)
  expect(sandbox).not.toHaveProperty('brokerUrl')
  await sandbox.stop()
  await sandbox.stop()
  for (const url of [sandbox.authnUrl, sandbox.pamUrl]) await expect(fetch(url)).rejects.toThrow()
})

test('a recovery email leads to the sign-in page, with the token in the fragment; without one, to the portal', async () => {
  const publicUrl = 'http://localhost:5173'
  const signInUrl = `${publicUrl}/login?lang=en`
  for (const [broker, page] of [
    [{ publicUrl, signInUrl }, signInUrl],
    [{ publicUrl }, `${publicUrl}/`],
  ] as const) {
    const sandbox = await startSandbox({
      people: [{ login: 'ada@example.test', password: PASSWORD }],
      broker,
    })
    await fetch(`${sandbox.brokerUrl}/api/v1/authn/recovery/password`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', origin: publicUrl },
      body: JSON.stringify({ username: 'ada', factorType: 'EMAIL' }),
    })
    const { link, token } = await sandbox.control.nextMessage('ada', { kind: 'mail' })
    expect([link, token?.length]).toEqual([`${page}#recovery=${token}`, 20])
    await sandbox.stop()
  }
})

test('with OKTA_SIGN_OUT, a sign-out at Okta leads back to the sign-in page, wherever the portal is', async () => {
  const publicUrl = 'https://portal.test:8443'
  const signInUrl = `${publicUrl}/login`
  const sandbox = await startSandbox({ broker: { publicUrl, signInUrl, env: { OKTA_SIGN_OUT: 'on' } } })
  const headers = { 'sec-fetch-site': 'same-origin' }
  const answer = await fetch(`${sandbox.brokerUrl}/api/v1/sessions/me`, { method: 'DELETE', headers })
  const address = answer.headers.get('x-gatehouse-sign-out') ?? ''
  const atOkta = await fetch(address, { redirect: 'manual' })
  expect([answer.status, atOkta.headers.get('location')]).toEqual([404, signInUrl])
  await sandbox.stop()
})

test('each control of a user sends its event to the event hook, which answers before it resolves', async () => {
  const receiver = await startEventReceiver()
  const { control, stop } = await startSandbox({ eventHook: receiver.address })
  const login = 'tomas.berg'
  control.setFaults({ events: [{ kind: 'twice', times: 1 }] })
  await control.suspend(login)
  await control.unsuspend(login)
  await control.clearSessions(login)
  await control.resetFactors(login)
  await control.resetPassword(login)
  await control.deactivate(login)
  const sent = [
    'user.lifecycle.suspend',
    'user.lifecycle.suspend',
    'user.lifecycle.unsuspend',
    'user.session.clear',
    'user.mfa.factor.reset_all',
    'user.account.reset_password',
    'user.lifecycle.deactivate',
  ]
  expect(receiver.eventTypes()).toEqual(sent)
  // a receiver may trust this process as its proxy
  expect(receiver.deliveries[0]?.headers['x-forwarded-for']).toBe('203.0.113.1')
  expect(control.eventHookCalls().map(({ eventType }) => eventType)).toEqual([undefined, ...sent])
  await expect(control.suspend(login)).rejects.toThrow('suspend: tomas.berg@example.test is DEPROVISIONED')
  await stop()
  await receiver.close()
})

test('behind TRUST_PROXY, the broker gets the events too', async () => {
  const { brokerUrl, control, stop } = await startSandbox({
    people: [{ login: 'neil@example.test', password: PASSWORD }],
    broker: { env: { TRUST_PROXY: '127.0.0.0/8, ::1/128' } },
  })
  const proxyHeaders = { 'x-forwarded-for': '198.51.100.7' }
  const page = await openPage({ visit: async () => openBrowser(brokerUrl, proxyHeaders) })
  await page.signIn('neil')
  expect(await page.session()).toBeDefined()
  await control.suspend('neil')
  expect(await page.session()).toBeUndefined()
  await stop()
})

test('without TRUST_PROXY, the events name no forwarded address, about which the broker would warn', async () => {
  const log: string[] = []
  const { control, stop } = await startSandbox({ broker: { onLog: (line) => log.push(line) } })
  await control.suspend('tomas.berg')
  expect(control.eventHookCalls().at(-1)?.answers).toEqual([204])
  expect(log.filter((line) => line.includes('untrusted_forwarded_for'))).toEqual([])
  await stop()
})

test.each<[answers: ReceiverAnswer[], reason: string]>([
  [[401], 'refused: 401'],
  [[500, 503], 'refused: 503'],
  [['cut', 'cut'], 'refused: no connection'],
])('a control whose event gets %j rejects with "%s"', async (answers, reason) => {
  const receiver = await startEventReceiver()
  const { authnUrl, control, stop } = await startSandbox({ eventHook: receiver.address })
  receiver.answerWith(...answers, ...answers)
  const message = `suspend: tomas.berg@example.test is SUSPENDED, but the event user.lifecycle.suspend was ${reason}`
  await expect(control.suspend('tomas.berg')).rejects.toThrow(message)
  const path = '/sandbox/users/tomas.berg/lifecycle/clear_sessions'
  const answer = await fetch(authnUrl + path, { method: 'POST' })
  expect([answer.status, await answer.json()]).toEqual([
    502,
    { error: expect.stringContaining(`the event user.session.clear was ${reason}`) },
  ])
  await control.suspend('amelia.stone')
  await stop()
  await receiver.close()
})

test('a control whose event waits for the verification rejects with its answer; a delivery with a fault does not', async () => {
  const receiver = await startEventReceiver()
  receiver.verifyWith('no challenge')
  const { control, stop } = await startSandbox({ eventHook: receiver.address })
  await expect(control.suspend('tomas.berg')).rejects.toThrow(
    'the event user.lifecycle.suspend was not sent, because its receiver did not return the challenge: 200',
  )
  receiver.verifyWith()
  receiver.answerWith(401)
  control.setFaults({ events: [{ kind: 'wrong-secret' }] })
  await control.unsuspend('tomas.berg')
  expect(receiver.eventTypes()).toEqual(['user.lifecycle.unsuspend'])
  await stop()
  await receiver.close()
})

test('a page may poll more often than once a second, the pace of Gatehouse', async () => {
  const push = { type: 'push', answersAfterPolls: 20 }
  const people = [{ login: 'ada@example.test', password: PASSWORD, factors: [push] }]
  const sandbox = await startSandbox({ people, broker: true })
  const gatehouse = createGatehouse({ baseUrl: sandbox.brokerUrl, cookieJar: new CookieJar() })
  await gatehouse.session()
  let step = await gatehouse.signIn({ username: 'ada', password: PASSWORD })
  if (step.status === 'MFA_REQUIRED' && step.factors[0]) step = await step.verify(step.factors[0])
  const answeredAt: number[] = []
  if (step.status === 'MFA_CHALLENGE' && step.next === 'poll')
    for await (const next of step.poll({ everyMs: 50 })) {
      step = next
      answeredAt.push(performance.now())
    }
  expect(step.status).toBe('SUCCESS')
  const pauses = answeredAt.slice(1).map((at, index) => at - (answeredAt[index] ?? 0))
  // at Gatehouse's pace, none is; a busy machine makes some longer
  expect(Math.min(...pauses)).toBeLessThan(1000)
  await sandbox.stop()
})

const ADA: NonNullable<NonNullable<Options>['people']>[number] = {
  login: 'ada.byron@example.test',
  password: PASSWORD,
  factors: ['totp', 'push'],
  groups: ['Auditors', 'Security'],
}
const ENROLLS = { signOnPolicy: 'always', enrollmentPolicy: 'everything' }
describe('with a broker', () => {
  const log: string[] = []
  let sandbox: SandboxWithBroker
  let page: PortalPage
  beforeAll(async () => {
    sandbox = await startSandbox({
      people: [
        ADA,
        { login: 'nina@example.test', password: PASSWORD, factors: ['push-number'] },
        { login: 'sam@example.test', password: PASSWORD, factors: ['sms', 'email'], groups: null },
        { login: 'neil@example.test', password: PASSWORD },
        { login: 'noa@example.test', password: PASSWORD },
        { login: 'kai@example.test', password: PASSWORD, factors: ['webauthn'] },
        { login: 'eve@example.test', password: PASSWORD, ...ENROLLS },
        { login: 'newt@example.test', activation: true },
      ],
      groups: { Auditors: ['end_user'] },
      broker: { allowedOrigins: ['http://localhost:5173'], onLog: (line) => log.push(line) },
    })
  })
  afterEach(() => sandbox.control.reset())
  afterAll(() => sandbox.stop())

  const visit = async () => {
    page = await openPage({ visit: async () => openBrowser(sandbox.brokerUrl) })
    return page
  }

  test('a person with a login and a password signs in, has a name made from the login, and no groups', async () => {
    const { browser, signIn } = await visit()
    expect((await signIn('neil')).json.status).toBe('SUCCESS')
    const { json } = await browser.get('/api/v1/sessions/me')
    expect(json).toMatchObject({ login: 'neil@example.test', profile: { firstName: 'Neil' } })
    expect((await browser.get('/api/v1/pam/me')).json).toMatchObject({ groups: [] })
  })

  test('a code of the authenticator app signs in, with the roles of the person’s groups', async () => {
    const { browser, signIn, verify } = await visit()
    expect((await signIn('ada.byron')).json.status).toBe('MFA_REQUIRED')
    const passCode = sandbox.control.totpCode('ada.byron')
    expect((await verify('token:software:totp', { passCode })).json.status).toBe('SUCCESS')
    const { json } = await browser.get('/api/v1/pam/me')
    expect(json).toMatchObject({
      groups: [{ name: 'Auditors' }, { name: 'Security' }],
      roles: ['security_admin', 'end_user'],
    })
  })

  test('a security key signs in without a browser; that of another person does not', async () => {
    const page = { origin: sandbox.brokerUrl }
    const visitor = await visit()
    await visitor.signIn('kai')
    const challenged = (await visitor.verify('webauthn')).json
    const key = sandbox.control.securityKey('kai')
    expect(valueAt(challenged, '_embedded.factor.profile.credentialId')).toBe(key.credentialId)
    const nonce = String(valueAt(challenged, '_embedded.factor._embedded.challenge.challenge'))
    const other = sandbox.control.securityKey('neil').sign(nonce, page)
    expect(errorOf(await visitor.follow('_links.next', other))).toEqual([403, 'E0000068'])
    expect((await visitor.follow('_links.next', key.sign(nonce, page))).json.status).toBe('SUCCESS')
    expect(() => sandbox.control.securityKey('kai', 'unknown')).toThrow('kai has no security key unknown')
  })

  test('a security key is set up without a browser', async () => {
    const gatehouse = createGatehouse({ baseUrl: sandbox.brokerUrl, cookieJar: new CookieJar() })
    await gatehouse.session()
    let step = await gatehouse.signIn({ username: 'eve', password: PASSWORD })
    const offered =
      step.status === 'MFA_ENROLL' && step.factors.find(({ factorType }) => factorType === 'webauthn')
    if (step.status === 'MFA_ENROLL' && offered) step = await step.enroll(offered)
    const { challenge } = Object(valueAt(step, 'factor._embedded.activation'))
    const proof = sandbox.control.securityKey('eve').register(challenge, { origin: sandbox.brokerUrl })
    if (step.status === 'MFA_ENROLL_ACTIVATE' && step.next === 'activate') step = await step.activate(proof)
    if (step.status === 'MFA_ENROLL') step = (await step.skip?.()) ?? step
    expect(step.status).toBe('SUCCESS')
  })

  test('answerPush waits for the push; a rejected one does not sign in', async () => {
    const { signIn, verify } = await visit()
    const answered = sandbox.control.answerPush('ada.byron', 'reject')
    await signIn('ada.byron')
    await verify('push')
    await answered
    expect((await page.follow('_links.next')).json).toMatchObject({ factorResult: 'REJECTED' })
    await expect(sandbox.control.answerPush('ada.byron', 'approve', { timeoutMs: 1 })).rejects.toThrow(
      'waited 1 ms for a push to ada.byron',
    )
  })

  test('with number matching, only the shown number approves', async () => {
    const { signIn, verify, follow } = await visit()
    await signIn('nina')
    const { json } = await verify('push')
    const shown = Number(valueAt(json, '_embedded.factor._embedded.challenge.correctAnswer'))
    const numbers = await sandbox.control.pushNumbers('nina')
    expect(numbers).toHaveLength(3)
    expect(numbers).toContain(shown)
    await expect(sandbox.control.answerPush('nina', 'approve')).rejects.toThrow('must be one of')
    await sandbox.control.answerPush('nina', shown)
    expect((await follow('_links.next')).json.status).toBe('SUCCESS')
  })

  test('nextMessage returns each message once, by kind, and waits for it', async () => {
    const { signIn, verify } = await visit()
    const coming = sandbox.control.nextMessage('sam', { kind: 'sms' })
    await signIn('sam')
    await verify('sms')
    const { code = '' } = await coming
    await expect(sandbox.control.nextMessage('sam', { kind: 'sms', timeoutMs: 1 })).rejects.toThrow(
      'waited 1 ms',
    )
    expect((await page.follow('_links.next', { passCode: code })).json.status).toBe('SUCCESS')
    expect(sandbox.control.messages('sam').map(({ kind }) => kind)).toContain('sms')
  })

  test('a new person signs in with an activation token', async () => {
    const { begin } = await visit()
    const { json } = await begin('/api/v1/authn', { token: sandbox.control.activationToken('newt') })
    expect(json.status).toBe('PASSWORD_RESET')
  })

  test('expired transactions are refused, and with time sessions end', async () => {
    const { signIn, session, verify } = await visit()
    await signIn('ada.byron')
    sandbox.control.expireTransactions()
    const passCode = sandbox.control.totpCode('ada.byron')
    expect(errorOf(await verify('token:software:totp', { passCode }))).toEqual([401, 'E0000011'])
    await signIn('neil')
    expect(await session()).toBeDefined()
    sandbox.control.advanceTime(31 * 60_000)
    const { headers } = await fetch(`${sandbox.brokerUrl}/api/v1/sessions/me`)
    // a page judges by it
    expect(Date.parse(headers.get('date') ?? '')).toBeGreaterThan(Date.now() + 30 * 60_000)
    expect(await session()).toBeUndefined()
    expect(() => sandbox.control.advanceTime(-1)).toThrow('advanceTime')
  })

  test('when suspend resolves, the person’s session has ended; after unsuspend, the person can sign in', async () => {
    const { signIn, session } = await visit()
    await signIn('neil')
    expect(await session()).toBeDefined()
    await sandbox.control.suspend('neil')
    expect(await session()).toBeUndefined()
    expect(errorOf(await signIn('neil'))).toEqual([401, 'E0000004'])
    await sandbox.control.unsuspend('neil')
    await signIn('neil')
    expect(await session()).toBeDefined()
  })

  test.each([{ kind: 'cut' }, { kind: 'status', status: 503, body: { error: 'service_offline' } }] as const)(
    'after many requests that fail with %j, the first one without the fault succeeds',
    async (fault) => {
      const minting = await visit() // PAM's token, which has a pause of its own
      await minting.signIn('neil')
      expect((await minting.browser.get('/api/v1/pam/me')).status).toBe(200)
      const { browser, signIn } = await visit()
      await signIn('noa')
      sandbox.control.setFaults({ authn: [fault], pam: [fault] })
      for (let attempt = 0; attempt < 7; attempt += 1) {
        expect((await signIn('neil')).status).toBeGreaterThanOrEqual(502)
        expect((await browser.get('/api/v1/pam/me')).status).toBeGreaterThanOrEqual(502)
      }
      sandbox.control.setFaults({})
      expect((await browser.get('/api/v1/pam/me')).status).toBe(200)
      expect((await signIn('neil')).json.status).toBe('SUCCESS')
    },
  )

  test('POST /sandbox/reset ends sessions and restores the clock, as control.reset does', async () => {
    const { signIn, session } = await visit()
    sandbox.control.advanceTime(60 * 60_000)
    await signIn('neil')
    await fetch(`${sandbox.authnUrl}/sandbox/reset`, { method: 'POST' })
    expect(await session()).toBeUndefined()
    await signIn('neil')
    expect(Date.parse(String((await session())?.createdAt))).toBeLessThan(Date.now() + 60_000)
  })
})
