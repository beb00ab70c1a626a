import { afterEach, describe, expect, test } from '@jest/globals'
import type { SandboxConfig } from '../../src/sandbox/sandbox-config.ts'
import { AMELIA, type Harness, PASSWORD, startHarness } from '../support/harness.ts'
import { openPage, type PortalPage } from '../support/portal-page.ts'
import { valueAt } from '../support/transaction-view.ts'

const PUBLIC_URL = 'http://localhost:8080'
let harness: Harness
afterEach(() => harness.stop())

/** The `Origin` headers that Okta gets for a sign-in from each of these pages. */
async function forwarded(env: Record<string, string>, ...origins: (string | undefined)[]) {
  harness = await startHarness({ env })
  const seen: (string | undefined)[] = []
  for (const origin of origins) {
    harness.sandbox.requestLog.authn.clear()
    const response = await fetch(`${harness.gatehouse.url}/api/v1/authn`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'sec-fetch-site': 'same-origin',
        ...(origin === undefined ? {} : { origin }),
      },
      body: JSON.stringify({ username: AMELIA, password: PASSWORD }),
    })
    expect(response.status).toBe(200)
    seen.push(...harness.upstreamCalls().map(({ headers }) => headers.origin as string | undefined))
  }
  return seen
}

test('with AUTHN_FORWARD_ORIGIN=on, Okta gets the origin of allowed pages, and of no others', async () => {
  const ALLOWED_ORIGINS = 'http://localhost:3000'
  const pages = [PUBLIC_URL, ALLOWED_ORIGINS, 'http://localhost:3001', undefined]
  const env = { AUTHN_FORWARD_ORIGIN: 'on', PUBLIC_URL, ALLOWED_ORIGINS }
  expect(await forwarded(env, ...pages)).toEqual([PUBLIC_URL, ALLOWED_ORIGINS, undefined, undefined])
})

const WANDA = 'wanda.key@example.test'
const ERIN = 'erin.enroll@example.test'
const KEY = { factorType: 'webauthn', provider: 'FIDO' }

/** Signs in with a key, and enrolls one, on the portal's page. Returns the answers to the key's signatures. */
async function useKeys(portal: Harness, trustedPage: string) {
  const headers = { origin: trustedPage, 'sec-fetch-site': 'same-site' }
  const finish = (
    page: PortalPage,
    kind: 'challenge' | 'activation',
    answer: (challenge: string) => object,
  ) => {
    const challenge = valueAt(page.held.json, `_embedded.factor._embedded.${kind}.challenge`)
    return page.follow('_links.next', answer(String(challenge)), { headers })
  }
  const verifying = await openPage(portal)
  await verifying.signIn(WANDA)
  await verifying.verify('webauthn', {}, { headers })
  const key = portal.sandbox.authenticator(WANDA)
  const verified = await finish(verifying, 'challenge', (nonce) => key.signWebauthn(nonce, trustedPage))

  const enrolling = await openPage(portal)
  await enrolling.signIn(ERIN)
  await enrolling.send('/api/v1/authn/factors', KEY, { headers })
  const newKey = portal.sandbox.authenticator(ERIN)
  const enrolled = await finish(enrolling, 'activation', (nonce) =>
    newKey.registerWebauthn(nonce, trustedPage),
  )
  return { verified, enrolled }
}

/** The sandbox is stricter than any documented org here: it shows what the variable changes. */
describe('an org that accepts security keys only with a trusted Origin header', () => {
  const sandboxConfig = (config: SandboxConfig) => ({ ...config, requiresOriginHeader: true })

  test('with AUTHN_FORWARD_ORIGIN=on, they work, on pages of ALLOWED_ORIGINS too', async () => {
    const ALLOWED_ORIGINS = 'http://localhost:3000'
    harness = await startHarness({ env: { AUTHN_FORWARD_ORIGIN: 'on', ALLOWED_ORIGINS }, sandboxConfig })
    for (const page of [harness.gatehouse.url, ALLOWED_ORIGINS]) {
      harness.sandbox.reset()
      const { verified, enrolled } = await useKeys(harness, page)
      expect([verified.json.status, enrolled.json.status]).toEqual(['SUCCESS', 'SUCCESS'])
    }
  })
})

/** https://developer.okta.com/docs/reference/api/authn/#enroll-u2f-factor: `appId` is the origin of the requesting page. */
test.each(['off', 'on'])('with AUTHN_FORWARD_ORIGIN=%s, the appId of a U2F enrollment', async (setting) => {
  harness = await startHarness({ env: { AUTHN_FORWARD_ORIGIN: setting } })
  const { url } = harness.gatehouse
  const page = await openPage(harness)
  await page.signIn(ERIN)
  const chosen = { factorType: 'u2f', provider: 'FIDO' }
  const { json } = await page.send('/api/v1/authn/factors', chosen, { headers: { origin: url } })
  const appId = valueAt(json, '_embedded.factor._embedded.activation.appId')
  expect(appId).toBe(setting === 'on' ? url : harness.authnUrl)
})
