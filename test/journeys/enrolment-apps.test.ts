import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { openBrowser } from '../support/browser.ts'
import { type Harness, startHarness } from '../support/harness.ts'
import { openPage, type PortalPage } from '../support/portal-page.ts'
import { errorOf, factorAt, hrefAt, valueAt } from '../support/transaction-view.ts'

/** Setting up apps on a phone: pictures to scan, links by mail and text message, and the poll until it is done. */
const ERIN = 'erin.enrol@example.test'
const PNG = Buffer.from('89504e470d0a1a0a', 'hex')
const ACTIVATION = '_embedded.factor._embedded.activation'
const POLLS_UNTIL_TIMEOUT = 3

let harness: Harness
beforeAll(async () => {
  harness = await startHarness({
    sandboxConfig: (config) => ({
      ...config,
      limits: { ...config.limits, pushPolls: POLLS_UNTIL_TIMEOUT },
    }),
  })
})
afterAll(() => harness.stop())
beforeEach(() => harness.sandbox.reset())

/** A page on which this app is being set up. */
async function settingUp(factorType: string, provider: string): Promise<PortalPage> {
  const page = await openPage(harness)
  await page.signIn(ERIN)
  const begun = await page.follow(`${factorAt(page.held, factorType, provider)}._links.enroll`, {
    factorType,
    provider,
  })
  expect(begun.json.status).toBe('MFA_ENROLL_ACTIVATE')
  return page
}

async function expectSession(page: PortalPage) {
  expect(page.held.json.status).toBe('SUCCESS')
  expect(await page.session()).toMatchObject({ login: ERIN, amr: ['pwd'] })
}

describe('the picture to scan', () => {
  test.each([
    ['token:software:totp', 'GOOGLE'],
    ['token:software:totp', 'OKTA'],
    ['push', 'OKTA'],
  ])('of %s by %s is fetched by us; its address holds no token of the upstream', async (...row) => {
    const page = await settingUp(...row)
    const href = hrefAt(page.held, `${ACTIVATION}._links.qrcode`)
    expect(href.startsWith(`${harness.gatehouse.url}/api/v1/users/`)).toBe(true)
    for (const token of harness.sandbox.tokensIssued()) expect(page.held.text).not.toContain(token)

    const picture = await page.browser.get(href)
    expect(picture.status).toBe(200)
    expect(picture.bytes.subarray(0, PNG.length)).toEqual(PNG)
    expect(picture.headers.get('content-type')).toBe('image/png')
    expect(picture.headers.get('cross-origin-resource-policy')).toBe('same-site')
    expect(picture.headers.get('cache-control')).toBe('no-store')
    expect(picture.headers.get('x-content-type-options')).toBe('nosniff')
    // the same one as long as it is offered: a page may be drawn again
    const again = await page.send('/api/v1/authn')
    expect(hrefAt(again, `${ACTIVATION}._links.qrcode`)).toBe(href)
  })

  test('is there for the browser that it was offered to, and for nobody else', async () => {
    const page = await settingUp('token:software:totp', 'GOOGLE')
    const href = hrefAt(page.held, `${ACTIVATION}._links.qrcode`)
    const upstreamToken = harness.sandbox.tokensIssued().at(-1) ?? ''
    const other = await settingUp('token:software:totp', 'GOOGLE')
    harness.forget()
    const attempts = [
      await openBrowser(harness.gatehouse.url).get(href),
      await other.browser.get(href),
      await page.browser.get(href.replace(/[^/]+$/, upstreamToken)),
      await page.browser.get(`${href}x`),
      await page.browser.get(href.replace(/factors\/\w+/, 'factors/ostSomeoneElses')),
    ]
    expect(attempts.map(errorOf)).toEqual(Array.from(attempts, () => [403, 'E0000079']))
    expect(harness.upstreamCalls()).toEqual([])
    expect((await page.browser.get(href)).status).toBe(200)
  })

  test('is refused once the app is set up and the sign-in is over, and nothing is sent upstream', async () => {
    const page = await settingUp('token:software:totp', 'GOOGLE')
    const href = hrefAt(page.held, `${ACTIVATION}._links.qrcode`)
    await page.follow('_links.next', { passCode: harness.sandbox.totpCode(ERIN) })
    harness.forget()
    expect(errorOf(await page.browser.get(href))).toEqual([403, 'E0000079'])
    expect(harness.upstreamCalls()).toEqual([])
  })

  test('is gone when the user goes back: Okta says so, and its token is removed', async () => {
    const page = await settingUp('token:software:totp', 'GOOGLE')
    const href = hrefAt(page.held, `${ACTIVATION}._links.qrcode`)
    await page.follow('_links.prev')
    const gone = await page.browser.get(href)
    expect(errorOf(gone)).toEqual([404, 'E0000007'])
    for (const token of harness.sandbox.tokensIssued()) expect(gone.text).not.toContain(token)
  })

  test.each([
    ['a page', { kind: 'html', status: 200 }],
    ['a drawing that could run a script', picture('image/svg+xml', '<svg onload="alert(1)"/>')],
    ['no type', picture('application/octet-stream', 'bytes')],
    ['too large', picture('image/png', 'x'.repeat(300_000))],
    ['a redirect', { kind: 'status', status: 302, headers: { location: 'https://elsewhere.example/' } }],
  ] as const)('that is %s is never passed on', async (_, fault) => {
    const page = await settingUp('push', 'OKTA')
    harness.sandbox.faults.authn.set({ ...fault, path: '/api/v1/users' })
    const answer = await page.browser.get(hrefAt(page.held, `${ACTIVATION}._links.qrcode`))
    expect(errorOf(answer)).toEqual([502, 'E0000009'])
    expect(answer.text).not.toMatch(/svg|elsewhere|html/)
  })
})

describe('an authenticator app', () => {
  test.each(['GOOGLE', 'OKTA'])(
    'of %s: a wrong code is refused, the right one ends the sign-in',
    async (provider) => {
      const page = await settingUp('token:software:totp', provider)
      expect(valueAt(page.held.json, `${ACTIVATION}.sharedSecret`)).toMatch(/^[A-Z2-7]{16,}$/)
      expect(errorOf(await page.follow('_links.next', { passCode: '000000' }))).toEqual([403, 'E0000068'])
      expect(await page.session()).toBeUndefined()
      await page.follow('_links.next', { passCode: harness.sandbox.totpCode(ERIN) })
      await expectSession(page)
    },
  )
})

describe('the verification app', () => {
  test('is polled until it is set up; the sign-in ends with it, and it shows nothing of itself next time', async () => {
    const page = await settingUp('push', 'OKTA')
    expect(page.held.json.factorResult).toBe('WAITING')
    const waiting = await page.follow('_links.next')
    expect(waiting.json).toMatchObject({ status: 'MFA_ENROLL_ACTIVATE', factorResult: 'WAITING' })
    expect(await page.session()).toBeUndefined()
    harness.sandbox.answerPush(ERIN, 'approve')
    await page.follow('_links.next')
    await expectSession(page)

    const next = await openPage(harness)
    await next.signIn(ERIN)
    expect(valueAt(next.held.json, `${factorAt(next.held, 'push')}.profile`)).toEqual({})
    await next.verify('push')
    harness.sandbox.answerPush(ERIN, 'approve')
    await next.follow('_links.next')
    expect(await next.session()).toMatchObject({ login: ERIN, amr: ['pwd', 'swk', 'mfa'] })
  })

  test('that nobody sets up in time is begun again by the link of the answer', async () => {
    const page = await settingUp('push', 'OKTA')
    for (let poll = 0; poll < POLLS_UNTIL_TIMEOUT; poll += 1) await page.follow('_links.next')
    expect(valueAt(page.held.json, `${ACTIVATION}.factorResult`)).toBe('TIMEOUT')
    const anew = await page.follow(`${ACTIVATION}._links.activate`)
    expect(anew.json).toMatchObject({ status: 'MFA_ENROLL_ACTIVATE', factorResult: 'WAITING' })
    harness.sandbox.answerPush(ERIN, 'approve')
    await page.follow('_links.next')
    await expectSession(page)
  })

  test.each([
    ['mail', 0, {}, ERIN],
    ['text message', 1, { profile: { phoneNumber: '+15550107777' } }, '+15550107777'],
  ])('is set up by a link in a %s', async (_, at, fields, to) => {
    const page = await settingUp('push', 'OKTA')
    const sent = await page.follow(`${ACTIVATION}._links.send.${at}`, fields)
    expect(sent.json).toMatchObject({ status: 'MFA_ENROLL_ACTIVATE', factorResult: 'WAITING' })
    const message = harness.sandbox.outbox.latest(ERIN, 'push-activation')
    expect(message?.to).toBe(to)
    expect(sent.text).not.toContain(message?.token)
    expect((await fetch(message?.link ?? '')).status).toBe(200)
    await page.follow('_links.next')
    await expectSession(page)
  })

  test.each(['email', 'sms'])('%s: the other path of the same link works where it is offered', async (by) => {
    const page = await settingUp('push', 'OKTA')
    const factorId = String(valueAt(page.held.json, '_embedded.factor.id'))
    const userId = harness.sandbox.user(ERIN).id
    const path = `/api/v1/authn/factors/${factorId}/lifecycle/activate/${by}`
    const fields = { profile: { phoneNumber: '+15550107777' } }
    expect(errorOf(await page.send(path, fields))).toEqual([403, 'E0000079'])

    const [stateToken] = harness.sandbox.tokensIssued()
    const send = [{ name: by, href: harness.authnUrl + path, hints: { allow: ['POST'] } }]
    const factor = { id: factorId, factorType: 'push', _embedded: { activation: { _links: { send } } } }
    const body = {
      stateToken,
      status: 'MFA_ENROLL_ACTIVATE',
      factorResult: 'WAITING',
      _embedded: { user: { id: userId }, factor },
    }
    harness.sandbox.faults.authn.set({ kind: 'status', status: 200, body, times: 1 })
    await page.send('/api/v1/authn')
    const sent = await page.follow(`${ACTIVATION}._links.send.0`, fields)
    expect(sent.json.status).toBe('MFA_ENROLL_ACTIVATE')
    expect(harness.upstreamCalls().at(-1)?.path).toBe(path)
    expect(harness.sandbox.outbox.latest(ERIN, 'push-activation')?.kind).toBe(by === 'email' ? 'mail' : 'sms')
  })

  test('a text message without a number is refused by the upstream; a link of another person was never offered', async () => {
    const page = await settingUp('push', 'OKTA')
    const bySms = hrefAt(page.held, `${ACTIVATION}._links.send.1`)
    expect(errorOf(await page.send(bySms))).toEqual([400, 'E0000001'])
    harness.forget()
    const ofAnother = bySms.replace(harness.sandbox.user(ERIN).id, '00uSomebodyElse')
    expect(errorOf(await page.send(ofAnother))).toEqual([403, 'E0000079'])
    expect(harness.upstreamCalls()).toEqual([])
  })
})

function picture(type: string, body: string) {
  return { kind: 'status', status: 200, headers: { 'content-type': type }, body } as const
}
