import { describe, expect, test } from '@jest/globals'
import { generousLimits } from '../support/generous-limits.ts'
import { useStubHarness } from '../support/harness.ts'
import { openPage, type PortalPage } from '../support/portal-page.ts'

/**
 * What a page sends reaches Okta: the fields of each step, and the query of the link that it
 * follows.
 */

const STATE_TOKEN = '00plainly-fake-state-token-00000001'
const FACTOR = '/api/v1/authn/factors/otp1'

const harness = useStubHarness({ tunables: generousLimits })

const post = (path: string) => ({ href: harness.stub.origin + path, hints: { allow: ['POST'] } })
const answer = (links: object, embedded: object = {}) => ({
  stateToken: STATE_TOKEN,
  status: 'MFA_CHALLENGE',
  _embedded: { factor: { id: 'otp1', factorType: 'token:software:totp' }, ...embedded },
  _links: links,
})

async function offered(links: object, embedded: object = {}): Promise<PortalPage> {
  const page = await openPage(harness)
  harness.stub.answers(answer(links, embedded), answer({}))
  expect((await page.signIn('ada@example.test')).status).toBe(200)
  return page
}
const sent = () => harness.stub.requests.at(-1)

test.each([
  // shows: F-2.16
  ['password', { username: 'wilma@example.test', factorType: 'SMS' }],
  // shows: F-2.16
  ['unlock', { username: 'wilma@example.test', factorType: 'EMAIL' }],
  // shows: F-2.18
  ['token', { recoveryToken: 'recovery-token-0123456789', options: { multiOptionalFactorEnroll: true } }],
])('recovery/%s sends all its fields upstream, but not relayState (R10)', async (kind, fields) => {
  const path = `/api/v1/authn/recovery/${kind}`
  harness.stub.answers({ stateToken: STATE_TOKEN, status: 'RECOVERY_CHALLENGE' })
  await (await harness.visit()).post(path, { ...fields, relayState: '/back', more: 'left out' })
  expect(harness.stub.requests.map(({ path, body }) => ({ path, body }))).toEqual([{ path, body: fields }])
})

describe('the query of a followed link', () => {
  test('is kept, with the flags that the page adds', async () => {
    const page = await offered({ next: post(`${FACTOR}/verify?tenant=a%20b&mode=x&mode=y`) })
    await page.follow('_links.next', { passCode: '1' }, { query: '&rememberDevice=true' })
    expect(sent()?.url).toBe(`${FACTOR}/verify?tenant=a%20b&mode=x&mode=y&rememberDevice=true`)
  })

  test('belongs to that link; any other query of the page is dropped', async () => {
    const page = await offered({
      next: post(`${FACTOR}/verify?mode=one`),
      resend: [post(`${FACTOR}/verify?mode=two`)],
    })
    await page.follow('_links.next', { passCode: '1' })
    expect(sent()?.url).toBe(`${FACTOR}/verify?mode=one`)
    harness.stub.answers(answer({}))
    await page.browser.post(`${FACTOR}/verify?mode=three`, { stateToken: page.stateToken, passCode: '2' })
    expect(sent()?.url).toBe(`${FACTOR}/verify`)
  })
})
