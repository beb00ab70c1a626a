import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { openBrowser } from '../support/browser.ts'
import { type Harness, PASSWORD, startHarness } from '../support/harness.ts'
import { type Navigated, navigate } from '../support/navigate.ts'
import { openPage, type PortalPage } from '../support/portal-page.ts'
import {
  type Origins,
  type RecordedExamples,
  recordExamples,
  recordHeaders,
} from '../support/recorded-examples.ts'
import { factorAt, hrefAt, valueAt } from '../support/transaction-view.ts'

/** The examples of the OpenAPI document are answers of these journeys. */

const FILE = join(import.meta.dirname, '../../src/openapi/examples.json')
const ACTIVATION = '_embedded.factor._embedded.activation'
const PHONE = '+15550107777'
const AUTHN = '/api/v1/authn'
const APP = 'https://app.example.com/start'
const user = (name: string) => `${name}@example.test`

const examples: RecordedExamples = {}
let nowMs = Date.now()
let harness: Harness
let origins: Origins
beforeAll(async () => {
  harness = await startHarness({
    env: { STEP_UP: 'on' },
    now: () => nowMs,
    sandboxNow: () => nowMs,
    sandboxConfig: (config) => ({ ...config, pipeline: 'v1', limits: { ...config.limits, pushPolls: 2 } }),
    tunables: (tunables) => ({ ...tunables, recovery: { ...tunables.recovery, recoveryAnswerMs: 20 } }),
  })
  origins = [
    [harness.gatehouse.url, 'https://portal.example.com'],
    [harness.authnUrl, 'https://your-org.example.net'],
  ]
})
afterAll(() => harness.stop())

async function open(): Promise<PortalPage> {
  const page = await openPage(harness)
  recordExamples(page.browser, examples, origins)
  return page
}

async function signIn(name: string, fields: object = {}): Promise<PortalPage> {
  const page = await open()
  await page.signIn(user(name), fields)
  return page
}

const code = (name: string, purpose: Parameters<Harness['sandbox']['outbox']['latest']>[1]) =>
  harness.sandbox.outbox.latest(user(name), purpose)?.code ?? ''

/** Text messages and calls may be sent again. */
async function wait(): Promise<void> {
  nowMs += 61_000
  const redis = harness.redis.client()
  for (const key of await redis.keys('gatehouse:limit:recovery-sent:*')) await redis.del(key)
}

test('sessions and PAM', async () => {
  const { browser } = await signIn('amelia.stone')
  await browser.get('/api/v1/sessions/me')
  await browser.post('/api/v1/sessions/me/lifecycle/refresh')
  await browser.get('/api/v1/users/me')
  await browser.get('/api/v1/sessions')
  await browser.get('/api/v1/devices')
  await browser.get('/api/v1/pam/me')
  const groups = await browser.get('/api/v1/pam/groups?limit=2')
  await browser.get(`/api/v1/pam/groups/${valueAt(groups.json, 'list.0.id')}`)
})

test('codes and steps of a sign-in', async () => {
  const page = await signIn('max.many')
  await page.send(`${AUTHN}/introspect`)
  await page.verify('sms')
  await wait()
  await page.follow('_links.resend.0')
  await page.follow('_links.prev')
  await page.verify('token:software:totp', { passCode: harness.sandbox.totpCode(user('max.many')) })
  const push = await signIn('nina.number')
  await push.verify('push')
  await push.send(`${AUTHN}/cancel`)
  const duo = await signIn('dario.duo')
  await duo.verify('web')
  const { stateToken } = duo
  const form = {
    id: String(valueAt(duo.held.json, '_embedded.factor.id')),
    stateToken,
    sig_response: harness.sandbox.duoResponse(user('dario.duo')),
  }
  const complete = hrefAt(duo.held, '_embedded.factor._embedded.verification._links.complete')
  await duo.browser.post(complete, undefined, { form })
  await signIn('luis.locked')
})

test('passwords', async () => {
  const warned = await signIn('walter.warn', { options: { warnBeforePasswordExpired: true } })
  await warned.follow('_links.skip')
  const expired = await signIn('olga.expired')
  await expired.follow('_links.next', { oldPassword: PASSWORD, newPassword: 'Another-Password-2' })
})

test('recoveries', async () => {
  const login = 'amelia.stone'
  const start = (page: PortalPage, kind: string, factorType: string) =>
    page.begin(`${AUTHN}/recovery/${kind}`, { username: user(login), factorType })
  await start(await open(), 'unlock', 'EMAIL')
  const bySms = await open()
  await start(bySms, 'password', 'SMS')
  await wait()
  await bySms.follow('_links.resend')
  await bySms.follow('_links.next', { passCode: code(login, 'recovery') })
  await bySms.follow('_links.next', { answer: 'gatehouse' })
  await bySms.follow('_links.next', { newPassword: 'Another-Password-2' })
  await wait()
  const byMail = await open()
  await start(byMail, 'password', 'EMAIL')
  const recoveryToken = harness.sandbox.outbox.latest(user(login), 'recovery')?.token
  await byMail.begin(`${AUTHN}/recovery/token`, { recoveryToken })
})

test('enrolling factors', async () => {
  const enroll = async (factorType: string, provider: string, fields: object = {}) => {
    harness.sandbox.reset()
    const page = await signIn('erin.enroll')
    const factor = factorAt(page.held, factorType, provider)
    if (factorType === 'question') await page.browser.get(hrefAt(page.held, `${factor}._links.questions`))
    await page.follow(`${factor}._links.enroll`, { factorType, provider, ...fields })
    return page
  }
  const totp = await enroll('token:software:totp', 'GOOGLE')
  await totp.follow('_links.next', { passCode: harness.sandbox.totpCode(user('erin.enroll')) })
  const sms = await enroll('sms', 'OKTA', { profile: { phoneNumber: PHONE } })
  await wait()
  await sms.follow('_links.resend.0', { factorType: 'sms', provider: 'OKTA' })
  const push = await enroll('push', 'OKTA')
  await push.follow('_links.next')
  await push.follow(`${ACTIVATION}._links.send.0`)
  await push.follow(`${ACTIVATION}._links.send.1`, { profile: { phoneNumber: PHONE } })
  await sendByFactorPath(push, 'email')
  await sendByFactorPath(push, 'sms', { profile: { phoneNumber: PHONE } })
  while (valueAt(push.held.json, `${ACTIVATION}.factorResult`) !== 'TIMEOUT') await push.follow('_links.next')
  await push.follow(`${ACTIVATION}._links.activate`)
  await enroll('question', 'OKTA', { profile: { question: 'favorite_toy', answer: 'a top' } })
})

/** An org whose links for sending have the factor's path. */
async function sendByFactorPath(page: PortalPage, by: string, fields: object = {}): Promise<void> {
  const path = `${AUTHN}/factors/${valueAt(page.held.json, '_embedded.factor.id')}/lifecycle/activate/${by}`
  const answer = JSON.stringify(page.held.json).replace(
    /[^"]+\/lifecycle\/activate\/\w+/g,
    harness.authnUrl + path,
  )
  await answerAs(page, JSON.parse(answer))
  await page.send(path, fields)
}

/** The org answers the page's next state request with this. */
async function answerAs(page: PortalPage, answer: object): Promise<void> {
  const token = harness
    .upstreamCalls()
    .map(({ body }) => valueAt(body, 'stateToken'))
    .findLast(Boolean)
  const body: unknown = JSON.parse(
    JSON.stringify(answer)
      .replaceAll(page.stateToken, String(token))
      .replaceAll(harness.gatehouse.url, harness.authnUrl),
  )
  harness.sandbox.faults.authn.set({ kind: 'status', status: 200, body, times: 1 })
  await page.send(AUTHN)
}

test('a step-up', async () => {
  const page = await open()
  const arrival = `${harness.gatehouse.url}/signin/step-up?stateToken=`
  const { stateToken } = harness.sandbox.startStepUp('payroll', undefined, arrival)
  const arrived = await redirect(page, 'beginStepUp', arrival + stateToken)
  const handle = new URL(arrived.location ?? '').searchParams.get('stateToken') ?? ''
  await page.begin(AUTHN, { stateToken: handle })
  await page.send(AUTHN, { username: user('amelia.stone'), password: PASSWORD })
  await redirect(page, 'followStepUp', hrefAt(page.held, '_links.next'))
})

type Redirects = Parameters<typeof recordHeaders>[1]

/** Navigates to a link, and records where it leads. */
async function redirect(
  { browser }: Pick<PortalPage, 'browser'>,
  id: Redirects,
  href: string,
): Promise<Navigated> {
  const answer = await navigate(browser, href)
  expect([id, answer.status, answer.text]).toEqual([id, expect.any(Number), ''])
  recordHeaders(examples, id, { Location: answer.location }, origins)
  return answer
}

test('redirects, and the user for a proxy', async () => {
  harness.sandbox.reset()
  const { browser } = await signIn('amelia.stone')
  const { headers } = await browser.get('/forward-auth')
  const names = ['X-Auth-Request-User', 'X-Auth-Request-Preferred-Username', 'X-Auth-Request-Session']
  recordHeaders(
    examples,
    'forwardAuth',
    Object.fromEntries(names.map((name) => [name, headers.get(name)])),
    origins,
  )
  const sso = openBrowser((await harness.replica({ SSO_REDIRECTS: APP })).url)
  await sso.get('/api/v1/sessions/me')
  const { json } = await sso.post(AUTHN, { username: user('amelia.stone'), password: PASSWORD })
  const target = new URLSearchParams({ token: String(json.sessionToken), redirectUrl: APP })
  await redirect({ browser: sso }, 'redeemSsoToken', `${sso.origin}/login/sessionCookieRedirect?${target}`)
  const cleo = await signIn('cleo.claims')
  await cleo.verify('claims_provider')
  await redirect(cleo, 'followIdentityProvider', hrefAt(cleo.held, '_links.next'))
  await cleo.send(AUTHN)
  const link = JSON.stringify(cleo.held.json).replace(
    '/sso/idps/0oasandboxidp000001',
    '/login/token/redirect',
  )
  await answerAs(cleo, JSON.parse(link))
  await redirect(cleo, 'followTokenRedirect', hrefAt(cleo.held, '_links.next'))
})

test('the examples are those of src/openapi/examples.json; when this is red: RECORD_EXAMPLES=1 npx jest openapi-examples', () => {
  const text = `${JSON.stringify(examples, null, 2)}\n`
  if (process.env.RECORD_EXAMPLES === '1') writeFileSync(FILE, text)
  expect(JSON.parse(readFileSync(FILE, 'utf8'))).toEqual(examples)
})
