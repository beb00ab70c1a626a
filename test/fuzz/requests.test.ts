import { beforeAll, describe, expect, test } from '@jest/globals'
import fc from 'fast-check'
import { askPort } from '../support/ask-port.ts'
import { codePoint } from '../support/code-point.ts'
import { type MatrixVisitor, useMatrixHarness } from '../support/matrix-harness.ts'
import { expectNoAlarm, expectSuccessOrRefusal, runs, SEED_LABEL, TEST_MS } from './fuzz.ts'

/** Random request lines, headers and queries. */

const harness = useMatrixHarness({
  listener: { requestTimeout: 400, headersTimeout: 400, connectionsCheckingInterval: 50 },
})
let browser: MatrixVisitor
beforeAll(async () => {
  browser = await harness.newcomer()
})

const opened = () => ({
  cookie: browser.cookies('own') ?? '',
  'sec-fetch-site': 'none',
  'sec-fetch-mode': 'navigate',
  'sec-fetch-dest': 'document',
})

describe('queries of redirects', () => {
  const SPECIAL =
    'handle ssoToken https%3A%2F%2Fapp.example.com%2Fstart https://app.example.com.evil.example/'
  const word = fc.oneof(
    fc
      .string({ unit: codePoint, maxLength: 60 })
      .map((text) => encodeURIComponent(Buffer.from(text).toString())),
    fc.string({ unit: fc.constantFrom(...'ab%=&;+/?#[]\\.:@'), maxLength: 60 }),
    fc.constantFrom(...SPECIAL.split(' '), '%ff', '__proto__'),
  )
  const NAMES = 'stateToken token redirectUrl fromURI __proto__ stateToken[] stateToken[a] constructor'
  const name = fc.oneof(fc.constantFrom(...NAMES.split(' '), ''), word)
  const soup = fc.array(fc.tuple(name, word), { maxLength: 8 })
  const path = fc.constantFrom(
    '/login/step-up/redirect',
    '/login/token/redirect',
    '/sso/idps/fac123',
    '/sso/idps/%2e%2e',
    '/login/sessionCookieRedirect',
    '/signin/step-up',
  )

  test(
    `lead to the org, to the sign-in page, or are refused ${SEED_LABEL}`,
    async () => {
      await fc.assert(
        fc.asyncProperty(path, soup, async (where, pairs) => {
          const own = new Map([
            ['handle', browser.handle],
            ['ssoToken', browser.ssoToken],
          ])
          const query = pairs.map(([key, value]) => `${key}=${own.get(value) ?? value}`).join('&')
          const answer = await askPort(harness.port, { path: `${where}?${query}`, headers: opened() })
          expectSuccessOrRefusal(answer)
          const { location } = answer.headers
          if (location === undefined) return
          const { origin, searchParams } = new URL(location)
          expect([harness.upstreamUrl, 'https://portal.example.com']).toContain(origin)
          const redirectUrl = searchParams.get('redirectUrl')
          if (redirectUrl !== null) expect(new URL(redirectUrl).origin).toBe('https://app.example.com')
          browser = await harness.newcomer()
        }),
        runs(1500),
      )
      expectNoAlarm(harness.gatehouse)
    },
    TEST_MS,
  )
})
