import { afterEach, expect, test } from '@jest/globals'
import { AMELIA, type Harness, PASSWORD, startHarness } from '../support/harness.ts'

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

test('by default, Okta gets no origin', async () => {
  expect(await forwarded({ PUBLIC_URL }, PUBLIC_URL)).toEqual([undefined])
})
