import { expect, test } from '@jest/globals'
import { useHarness } from '../support/harness.ts'
import { openPage, type PortalPage } from '../support/portal-page.ts'
import { valueAt } from '../support/transaction-view.ts'

const ALLOWED_ORIGINS = 'http://localhost:3000'
/** The sandbox is stricter than any documented org here: it shows what the variable changes. */
const harness = useHarness({
  env: { AUTHN_FORWARD_ORIGIN: 'on', ALLOWED_ORIGINS },
  sandboxConfig: (config) => ({ ...config, requiresOriginHeader: true }),
})

const WANDA = 'wanda.key@example.test'
const ERIN = 'erin.enroll@example.test'
const KEY = { factorType: 'webauthn', provider: 'FIDO' }

/**
 * Signs in with a key, and enrolls one, on the portal's page. Returns the answers to the key's
 * signatures.
 */
async function useKeys(trustedPage: string) {
  const headers = { origin: trustedPage, 'sec-fetch-site': 'same-site' }
  const finish = (
    page: PortalPage,
    kind: 'challenge' | 'activation',
    answer: (challenge: string) => object,
  ) => {
    const challenge = valueAt(page.held.json, `_embedded.factor._embedded.${kind}.challenge`)
    return page.follow('_links.next', answer(String(challenge)), { headers })
  }
  const verifying = await openPage(harness)
  await verifying.signIn(WANDA)
  await verifying.verify('webauthn', {}, { headers })
  const key = harness.sandbox.authenticator(WANDA)
  const verified = await finish(verifying, 'challenge', (nonce) => key.signWebauthn(nonce, trustedPage))

  const enrolling = await openPage(harness)
  await enrolling.signIn(ERIN)
  await enrolling.send('/api/v1/authn/factors', KEY, { headers })
  const newKey = harness.sandbox.authenticator(ERIN)
  const enrolled = await finish(enrolling, 'activation', (nonce) =>
    newKey.registerWebauthn(nonce, trustedPage),
  )
  return { verified, enrolled }
}

test.each(['PUBLIC_URL', 'ALLOWED_ORIGINS'])(
  'an org that accepts security keys only with a trusted Origin header accepts them on a page of %s with AUTHN_FORWARD_ORIGIN=on',
  async (name) => {
    const page = name === 'PUBLIC_URL' ? harness.gatehouse.url : ALLOWED_ORIGINS
    const { verified, enrolled } = await useKeys(page)
    expect([verified.json.status, enrolled.json.status]).toEqual(['SUCCESS', 'SUCCESS'])
  },
)
