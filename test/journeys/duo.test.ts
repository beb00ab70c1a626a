import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import type { PageAnswer } from '../support/browser.ts'
import { type Harness, PASSWORD, startHarness } from '../support/harness.ts'
import { onlyLimits } from '../support/limits.ts'
import { openPage, type PortalPage } from '../support/portal-page.ts'
import { errorOf, hrefAt, valueAt } from '../support/transaction-view.ts'

const DARIO = 'dario.duo@example.test'
const DINA = 'dina.duo@example.test'
const WRONG_LIMIT = 3

let harness: Harness
beforeAll(async () => {
  harness = await startHarness({
    tunables: onlyLimits({
      code: { perTransaction: { burst: { attempts: WRONG_LIMIT, perSeconds: 3600 } } },
    }),
    sandboxConfig: (config) => ({ ...config, limits: { ...config.limits, wrongCodes: 100 } }),
  })
})
afterAll(() => harness.stop())
beforeEach(() => harness.sandbox.reset())

const VERIFICATION = '_embedded.factor._embedded.verification'
const ACTIVATION = '_embedded.factor._embedded.activation'
/** The browser's time between two polls is the broker's. */
const poll = (page: PortalPage, query = '') => page.follow('_links.next', {}, { query })

/** A page whose user has been asked to approve in Duo's frame. */
async function askedFor(login: string): Promise<PortalPage> {
  const page = await openPage(harness)
  await page.signIn(login)
  if (page.held.json.status === 'MFA_ENROLL')
    await page.follow('_embedded.factors.0._links.enroll', { factorType: 'web', provider: 'DUO' })
  else await page.verify('web')
  expect(page.held.json.factorResult).toBe('WAITING')
  return page
}

/** What the sign-in widget posts when the frame has signed. */
function complete(page: PortalPage, frame: string, form: Record<string, string> = {}): Promise<PageAnswer> {
  const id = String(valueAt(page.held.json, '_embedded.factor.id'))
  const { stateToken } = page
  return page.browser.post(hrefAt(page.held, `${frame}._links.complete`), undefined, {
    form: { id, stateToken, sig_response: 'AUTH|wrong|wrong:APP|wrong|wrong', ...form },
  })
}

const approved = (login: string) => ({ sig_response: harness.sandbox.duoResponse(login) })

describe('Duo', () => {
  test('the page gets what its frame needs: host, signature, our link to complete, the org’s link to the script', async () => {
    const page = await askedFor(DARIO)
    expect(valueAt(page.held.json, VERIFICATION)).toEqual({
      host: 'api-sandbox.duosecurity.example',
      signature: expect.stringMatching(/^TX\|[\w+/=]+\|\w+:APP\|[\w+/=]+\|\w+$/),
      factorResult: 'WAITING',
      _links: {
        complete: {
          href: expect.stringMatching(
            new RegExp(`^${harness.gatehouse.url}/api/v1/authn/factors/dsf\\w+/lifecycle/duoCallback$`),
          ),
          hints: { allow: ['POST'] },
        },
        script: {
          href: `${harness.authnUrl}/js/sections/duo/Duo-Web-v2.js`,
          type: 'text/javascript; charset=utf-8',
        },
      },
    })
  })

  test('nothing is proved before the form, nor by the form alone; the poll after it opens the session', async () => {
    const page = await askedFor(DARIO)
    expect((await poll(page)).json.factorResult).toBe('WAITING')
    const handedIn = await complete(page, VERIFICATION, approved(DARIO))
    expect([handedIn.status, handedIn.text, handedIn.setCookies]).toEqual([200, '{}', []])
    expect(await page.session()).toBeUndefined()
    await poll(page, '?rememberDevice=true')
    expect(page.held.json.status).toBe('SUCCESS')
    expect(await page.session()).toMatchObject({ login: DARIO, amr: ['pwd', 'mfa'] })
  })

  test('it is set up the same way, audited once the poll says so, and asked for the next time', async () => {
    const enrolled = () =>
      harness.gatehouse
        .logLines()
        .filter(({ event }) => event === 'factor_enrolled' || event === 'factor_changed')
    const page = await askedFor(DINA)
    expect(page.held.json.status).toBe('MFA_ENROLL_ACTIVATE')
    expect((await complete(page, ACTIVATION, approved(DINA))).status).toBe(200)
    expect(enrolled()).toEqual([])
    await poll(page)
    expect(page.held.json.status).toBe('SUCCESS')
    expect(enrolled()).toMatchObject([{ event: 'factor_enrolled', factorType: 'web', provider: 'DUO' }])
    expect(await page.session()).toMatchObject({ login: DINA })
    await askedFor(DINA)
  })

  test('a form goes upstream as a form, with the state token in the place of the handle', async () => {
    const page = await askedFor(DARIO)
    harness.forget()
    const form = approved(DARIO)
    await complete(page, VERIFICATION, form)
    const [call] = harness.upstreamCalls()
    expect(call?.headers['content-type']).toBe('application/x-www-form-urlencoded')
    expect(call?.body).toEqual({
      stateToken: expect.not.stringMatching(page.stateToken),
      id: valueAt(page.held.json, '_embedded.factor.id'),
      ...form,
    })
    expect(harness.sandbox.tokensIssued()).toContain(valueAt(call?.body, 'stateToken'))
  })

  test.each(['reject', 'cancel', 'error'] as const)('%s in the frame opens nothing', async (answer) => {
    const page = await askedFor(DARIO)
    harness.sandbox.answerPush(DARIO, answer)
    const refused = await poll(page)
    expect(refused.json.status).toBe('MFA_CHALLENGE')
    expect(refused.json.factorResult).not.toBe('WAITING')
    expect(await page.session()).toBeUndefined()
  })

  test('a wrong signature is refused, audited and limited like a wrong code', async () => {
    const page = await askedFor(DARIO)
    for (let attempt = 0; attempt < WRONG_LIMIT; attempt += 1)
      expect(errorOf(await complete(page, VERIFICATION))).toEqual([403, 'E0000068'])
    harness.forget()
    expect(errorOf(await complete(page, VERIFICATION, approved(DARIO)))).toEqual([429, 'E0000047'])
    expect(harness.upstreamCalls()).toEqual([])
    const failures = harness.gatehouse.logLines().filter(({ event }) => event === 'factor_failed')
    expect(failures.at(-1)).toMatchObject({ operation: 'duo_callback', factorType: 'web' })
  })

  test('an org that answers the form with a page or a redirect is no trouble; its poll tells', async () => {
    for (const fault of [
      { kind: 'html', status: 200 },
      { kind: 'status', status: 302, body: {} },
    ] as const) {
      const page = await askedFor(DARIO)
      harness.sandbox.faults.authn.set({ ...fault, path: '/api/v1/authn/factors', times: 1 })
      expect((await complete(page, VERIFICATION, approved(DARIO))).text).toBe('{}')
      expect((await poll(page)).json.factorResult).toBe('WAITING')
    }
  })

  test('another browser’s handle, an unknown one, and a factor that was not offered get nowhere', async () => {
    const page = await askedFor(DARIO)
    const other = await askedFor(DARIO)
    harness.forget()
    const stolen = { stateToken: other.stateToken }
    expect(errorOf(await complete(page, VERIFICATION, stolen))).toEqual([401, 'E0000011'])
    expect(errorOf(await complete(page, VERIFICATION, { stateToken: '00x' }))).toEqual([401, 'E0000011'])
    const form = { id: 'dsf1', stateToken: page.stateToken, sig_response: 'AUTH|x|x:APP|x|x' }
    const elsewhere = '/api/v1/authn/factors/dsf1/lifecycle/duoCallback'
    expect(errorOf(await page.browser.post(elsewhere, undefined, { form }))).toEqual([403, 'E0000079'])
    expect(harness.upstreamCalls()).toEqual([])
  })
})

describe('a form', () => {
  test('is taken by Duo’s link alone, and that link takes nothing else', async () => {
    const page = await askedFor(DARIO)
    const callback = hrefAt(page.held, `${VERIFICATION}._links.complete`)
    const { stateToken } = page
    harness.forget()
    const asJson = await page.browser.post(callback, { id: 'x', stateToken, sig_response: 'x' })
    expect(errorOf(asJson)).toEqual([415, 'E0000021'])
    for (const path of ['/api/v1/authn', '/api/v1/authn/cancel', hrefAt(page.held, '_links.next')]) {
      const form = { stateToken, username: DARIO, password: PASSWORD }
      expect(errorOf(await page.browser.post(path, undefined, { form }))).toEqual([415, 'E0000021'])
    }
    expect(harness.upstreamCalls()).toEqual([])
  })

  test.each<[string, Record<string, string>, string]>([
    ['without a signature', { sig_response: '' }, 'sig_response: must not be empty'],
    [
      'with a long one',
      { sig_response: 'x'.repeat(8193) },
      'sig_response: must have at most 8192 characters',
    ],
    ['without a factor', { id: '' }, 'id: must not be empty'],
  ])('%s is 400, and names the field', async (_, form, cause) => {
    const page = await askedFor(DARIO)
    harness.forget()
    const refused = await complete(page, VERIFICATION, form)
    expect(errorOf(refused)).toEqual([400, 'E0000001'])
    expect(refused.json.errorCauses).toEqual([{ errorSummary: cause }])
    expect(harness.upstreamCalls()).toEqual([])
  })

  test('of another site is refused', async () => {
    const page = await askedFor(DARIO)
    const form = { id: 'x', stateToken: page.stateToken, sig_response: 'x' }
    const headers = { 'sec-fetch-site': 'cross-site', origin: 'https://evil.example' }
    const callback = hrefAt(page.held, `${VERIFICATION}._links.complete`)
    expect(errorOf(await page.browser.post(callback, undefined, { form, headers }))).toEqual([
      403,
      'E0000006',
    ])
  })
})
