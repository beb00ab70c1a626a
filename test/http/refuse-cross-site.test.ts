import { afterEach, describe, expect, test } from '@jest/globals'
import { refuseCrossSite } from '../../src/http/refuse-cross-site.ts'
import type { Route } from '../../src/http/routes.ts'
import { createMetrics } from '../../src/observability/metrics.ts'
import { keeper, serve } from './serve.ts'

const { keep, closeAll } = keeper()
afterEach(closeAll)

const PUBLIC = 'https://portal.example.com'
const SPA = 'https://spa.example.com'
const SIBLING = 'https://other.example.com'
const routes = (['GET', 'POST', 'DELETE'] as const).map(
  (method): Route => ({ method, path: '/', handle: (_req, res) => void res.json({ passed: true }) }),
)

async function guarded() {
  const metrics = createMetrics({ processMetrics: false })
  let told = 0
  const served = keep(
    await serve({
      before: [
        refuseCrossSite({
          origins: [PUBLIC, SPA],
          bearsSessionCookie: (req) => req.headers.cookie?.includes('session=') === true,
          onRefused: () => {
            told += 1
          },
          metrics,
        }),
      ],
      routes,
    }),
  )
  return {
    ...served,
    told: () => told,
    counted: async () => (await metrics.refusals.get()).values[0]?.value ?? 0,
  }
}

const METHODS = ['GET', 'HEAD', 'POST', 'DELETE'] as const
const SITES = [
  undefined,
  'same-origin',
  'none',
  'same-site',
  'cross-site',
  'nonsense',
  'Same-Origin',
  '',
] as const
const ORIGINS = [
  undefined,
  PUBLIC,
  SPA,
  SIBLING,
  'https://evil.example',
  'null',
  `${PUBLIC}.evil.example`,
  `${PUBLIC}:444`,
  'http://portal.example.com',
  'https://PORTAL.example.com',
  `${PUBLIC}/`,
  '',
] as const

/** The rule of DESIGN §4, put as a table. */
function expected(method: string, site: string | undefined, origin: string | undefined, cookie: boolean) {
  if (method === 'GET' || method === 'HEAD') return 200
  if (site === 'same-origin' || site === 'none') return 200
  if (origin !== undefined) return origin === PUBLIC || origin === SPA ? 200 : 403
  if (site !== undefined) return 403
  return cookie ? 403 : 200
}

test('every method × Sec-Fetch-Site × Origin × cookie', async () => {
  const { ask } = await guarded()
  for (const method of METHODS) {
    for (const site of SITES) {
      for (const origin of ORIGINS) {
        for (const cookie of [false, true]) {
          const headers = {
            ...(site === undefined ? {} : { 'Sec-Fetch-Site': site }),
            ...(origin === undefined ? {} : { Origin: origin }),
            ...(cookie ? { Cookie: 'a=b; session=1' } : {}),
          }
          const { status } = await ask({ method, headers })
          expect({ method, site, origin, cookie, status }).toEqual({
            method,
            site,
            origin,
            cookie,
            status: expected(method, site, origin, cookie),
          })
        }
      }
    }
  }
})

describe('a refusal says which header and which setting it was', () => {
  test.each([
    [
      { Origin: 'https://evil.example' },
      'Origin: https://evil.example is neither PUBLIC_URL nor one of ALLOWED_ORIGINS',
    ],
    [{ 'Sec-Fetch-Site': 'cross-site' }, 'Sec-Fetch-Site: cross-site without an Origin header'],
    [{ Cookie: 'session=1' }, 'Origin: missing, and Sec-Fetch-Site too, on a request with a session cookie'],
  ])('%j', async (headers, errorSummary) => {
    const { ask, counted, told } = await guarded()
    const answer = await ask({ method: 'POST', headers })
    expect(answer.status).toBe(403)
    expect(answer.json).toMatchObject({ errorCode: 'E0000006', errorCauses: [{ errorSummary }] })
    expect([await counted(), told()]).toEqual([1, 1])
  })

  test('what the caller wrote is shown short and in visible ASCII only', async () => {
    const { ask } = await guarded()
    const answer = await ask({
      method: 'POST',
      headers: { Origin: `https://\u00e4\u0085\u001b`.replace('\u001b', '\t') + 'x'.repeat(5000) },
    })
    expect(answer.status).toBe(403)
    expect(answer.text).toMatch(/^[\x20-\x7e]*$/)
    expect(answer.text.length).toBeLessThan(500)
  })
})

test('two Sec-Fetch-Site headers are no word of a browser', async () => {
  const { ask } = await guarded()
  const headers = { 'Sec-Fetch-Site': ['same-origin', 'same-origin'] }
  expect((await ask({ method: 'POST', headers })).status).toBe(403)
})

test('methods that nobody offers are looked at like unsafe ones', async () => {
  const { ask } = await guarded()
  for (const method of ['PUT', 'PATCH', 'PROPFIND', 'TRACE']) {
    expect((await ask({ method, headers: { Origin: 'https://evil.example' } })).status).toBe(403)
  }
})
