import { afterEach, describe, expect, test } from '@jest/globals'
import { generateKey } from '../../src/config/secret-values.ts'
import type { Browser, PageAnswer } from '../support/browser.ts'
import type { Gatehouse } from '../support/gatehouse.ts'
import {
  AMELIA,
  type Harness,
  type HarnessOptions,
  PASSWORD,
  startHarness,
  TOMAS,
} from '../support/harness.ts'
import { navigate } from '../support/navigate.ts'
import { handleOf, verifyHref } from '../support/transaction-view.ts'

/**
 * A replica with other SECRET_KEYS takes over from an earlier one, as in a rolling restart (docs/configuration.md). Restarts of real
 * processes are in secret-keys.test.ts.
 */

const ME = '/api/v1/sessions/me'
const [older, newer] = [generateKey(), generateKey()]
let harness: Harness
afterEach(() => harness.stop())

async function startWithOldKey({ env, ...options }: HarnessOptions = {}): Promise<Gatehouse> {
  harness = await startHarness({ ...options, env: { ...env, SECRET_KEYS: older } })
  return harness.gatehouse
}

const restartWith = (...keys: string[]) => harness.replica({ SECRET_KEYS: keys.join() })

const signIn = (browser: Browser, username: string, { url }: Gatehouse) =>
  browser.post(`${url}/api/v1/authn`, { username, password: PASSWORD })

/** The last step of a sign-in, at any replica: links have the shared PUBLIC_URL. */
function finish(browser: Browser, asked: PageAnswer, { url }: Gatehouse) {
  const { pathname } = new URL(verifyHref(asked, 'token:software:totp'))
  const passCode = harness.sandbox.totpCode(TOMAS)
  return browser.post(url + pathname, { stateToken: handleOf(asked), passCode })
}

async function deviceOf({ jar }: Browser): Promise<string[]> {
  const cookie = (await jar.getCookies(harness.gatehouse.url)).find(({ key }) => key === 'gatehouse-device')
  const [id = '', issued = '', signature = ''] = (cookie?.value ?? '').split('.')
  return [id, `${issued}.${signature}`]
}

function expectNothingWrong(...brokers: Gatehouse[]) {
  const wrong = brokers.flatMap((broker) => broker.logLines().filter(({ level }) => level === 'error'))
  expect(wrong).toEqual([])
}

describe('SECRET_KEYS', () => {
  test('a new key before the old one loses no session, transaction, device, SSO token or PAM token', async () => {
    const before = await startWithOldKey({ env: { SSO_REDIRECTS: 'https://app.example.com/' } })
    const [inside, waiting] = [await harness.visit(), await harness.visit()]
    const { sessionToken } = (await signIn(inside, AMELIA, before)).json
    expect((await inside.get('/api/v1/pam/me')).status).toBe(200)
    const mfaRequired = await signIn(waiting, TOMAS, before)
    const devices = { inside: await deviceOf(inside), waiting: await deviceOf(waiting) }

    const broker = await restartWith(newer, older)

    expect((await inside.get(broker.url + ME)).json.login).toBe(AMELIA)
    expect((await inside.post(`${broker.url}${ME}/lifecycle/refresh`, {})).status).toBe(200)
    const list = await inside.get(`${broker.url}/api/v1/sessions`)
    expect(list.json.sessions).toMatchObject([{ current: true }])
    expect((await finish(waiting, mfaRequired, broker)).json.status).toBe('SUCCESS')
    expect((await waiting.get(broker.url + ME)).json.login).toBe(TOMAS)
    const deviceTokens = new Set(harness.sandbox.signIns.map(({ deviceToken }) => deviceToken))
    for (const [name, browser] of Object.entries({ inside, waiting })) {
      const [id, proof] = await deviceOf(browser)
      const [idBefore, proofBefore] = devices[name as keyof typeof devices] // keys of the same object
      expect(id).toBe(idBefore)
      expect(proof).not.toBe(proofBefore) // signed again, with the new key
      expect(deviceTokens).toContain(id)
    }
    const target = encodeURIComponent('https://app.example.com/start')
    const redeem = `/login/sessionCookieRedirect?token=${sessionToken}&redirectUrl=${target}`
    expect((await navigate(inside, broker.url + redeem)).status).toBe(302)
    expect((await inside.get(`${broker.url}/api/v1/pam/me`)).status).toBe(200)
    expect(harness.sandbox.pamControl.counts().tokensMinted).toBe(1)
    expectNothingWrong(before, broker)
  })
})
