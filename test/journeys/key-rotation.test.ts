import { expect, test } from '@jest/globals'
import { generateKey } from '../../src/config/secret-values.ts'
import type { Browser } from '../support/browser.ts'
import { AMELIA, TOMAS, useHarness } from '../support/harness.ts'
import { navigate } from '../support/navigate.ts'
import { openPage } from '../support/portal-page.ts'
import { verifyHref } from '../support/transaction-view.ts'

/**
 * A replica with other SECRET_KEYS takes over from an earlier one, as in a rolling restart
 * (docs/configuration.md). Restarts of real processes are in secret-keys.test.ts.
 */

const ME = '/api/v1/sessions/me'
const [older, newer] = [generateKey(), generateKey()]
const harness = useHarness({ env: { SECRET_KEYS: older, SSO_REDIRECTS: 'https://app.example.com/' } })

async function deviceOf({ jar }: Browser): Promise<string[]> {
  const cookie = (await jar.getCookies(harness.gatehouse.url)).find(({ key }) => key === 'gatehouse-device')
  const [id = '', ...proof] = (cookie?.value ?? '').split('.')
  return [id, proof.join('.')]
}

// shows: V11.2.2
test('a new key before the old one loses no session, transaction, device, SSO token or PAM token', async () => {
  const [inside, waiting] = [await openPage(harness), await openPage(harness)]
  const { sessionToken } = (await inside.signIn(AMELIA)).json
  expect((await inside.browser.get('/api/v1/pam/me')).status).toBe(200)
  const mfaRequired = await waiting.signIn(TOMAS)
  const browsers = [inside.browser, waiting.browser]
  const devices = await Promise.all(browsers.map(deviceOf))

  const { url, logLines } = await harness.replica({ SECRET_KEYS: [newer, older].join() })

  expect((await inside.browser.get(url + ME)).json.login).toBe(AMELIA)
  expect((await inside.browser.post(`${url}${ME}/lifecycle/refresh`, {})).status).toBe(200)
  const list = await inside.browser.get(`${url}/api/v1/sessions`)
  expect(list.json.sessions).toMatchObject([{ current: true }])
  const { pathname } = new URL(verifyHref(mfaRequired, 'token:software:totp'))
  const done = await waiting.send(url + pathname, { passCode: harness.sandbox.totpCode(TOMAS) })
  expect(done.json.status).toBe('SUCCESS')
  expect((await waiting.browser.get(url + ME)).json.login).toBe(TOMAS)
  const deviceTokens = harness.sandbox.signIns.map(({ deviceToken }) => deviceToken)
  for (const [n, browser] of browsers.entries()) {
    const [id, proof] = await deviceOf(browser)
    const [idBefore, proofBefore] = devices[n] ?? []
    expect(id).toBe(idBefore)
    expect(proof).not.toBe(proofBefore) // signed again, with the new key
    expect(deviceTokens).toContain(id)
  }
  const target = encodeURIComponent('https://app.example.com/start')
  const redeem = `/login/sessionCookieRedirect?token=${sessionToken}&redirectUrl=${target}`
  expect((await navigate(inside.browser, url + redeem)).status).toBe(302)
  expect((await inside.browser.get(`${url}/api/v1/pam/me`)).status).toBe(200)
  expect(harness.sandbox.pamControl.counts().tokensMinted).toBe(1)
  const lines = [...harness.gatehouse.logLines(), ...logLines()]
  expect(lines.filter(({ level }) => level === 'error')).toEqual([])
})
