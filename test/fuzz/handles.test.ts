import { afterAll, beforeAll, expect, test } from '@jest/globals'
import fc from 'fast-check'
import { type Answer, askPort } from '../http/serve.ts'
import { codePoint } from '../support/code-point.ts'
import { type MatrixHarness, type MatrixVisitor, startMatrixHarness } from '../support/matrix-harness.ts'
import { pathOf } from '../support/permissive-upstream.ts'
import { CLASS_OF } from '../support/route-classes.ts'
import { STEP_FIELDS, stepBody } from '../support/step-body.ts'
import {
  type Corrupt,
  damaged,
  expectNoAlarm,
  expectSuccessOrRefusal,
  instead,
  runs,
  SEED_LABEL,
  TEST_MS,
} from './fuzz.ts'

/** Almost valid handles in bodies, queries and paths are handled as unknown, and nothing is sent upstream. */

let harness: MatrixHarness
let browser: MatrixVisitor
let other: MatrixVisitor
beforeAll(async () => {
  harness = await startMatrixHarness()
  browser = await harness.newcomer()
  other = await harness.newcomer()
})
afterAll(() => harness.stop())

const KNOWN_WRONG = ['00plainly-fake-state-token-00000001', 'x'.repeat(100_000), '__proto__']
const random = fc.string({ unit: fc.constantFrom(...'abcXYZ019-_'), minLength: 43, maxLength: 43 })
const corruption = fc.oneof(
  instead(fc.string({ unit: codePoint, maxLength: 120 })),
  instead(random.map((text) => `00${text}`)),
  instead(fc.constantFrom(...KNOWN_WRONG)),
  damaged('abcXYZ019-_.~%\u0000\ud800'),
  fc.constantFrom<Corrupt>(
    (right) => right + right,
    (right) => `${right} `,
    (right) => ` ${right}`,
    (right) => `${right}\n`,
    (right) => `${right}=`,
    (right) => right.replace(/^00/, '01'),
    (right) => right.toLowerCase(),
    (_, another) => another,
    () => other.ssoToken,
    () => browser.ssoToken,
  ),
)

const own = () => ({ cookie: browser.cookies('own') ?? '', 'sec-fetch-site': 'same-origin' })
const opened = () => ({ ...own(), 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document' })

async function expectRefused(asked: Promise<Answer>, allowed: readonly number[]): Promise<void> {
  const answer = await asked
  expectSuccessOrRefusal(answer)
  expect(allowed).toContain(answer.status)
  expect(harness.callsSinceLastLook()).toEqual([])
}

const STEPS = Object.entries(CLASS_OF).flatMap(([name, kind]) =>
  kind === 'step' ? [name.slice('POST '.length)] : [],
)
test(
  `in the body of any step ${SEED_LABEL}`,
  async () => {
    await fc.assert(
      fc.asyncProperty(fc.constantFrom('/api/v1/authn', ...STEPS), corruption, async (step, corrupt) => {
        const stateToken = corrupt(browser.handle, other.handle)
        fc.pre(stateToken !== browser.handle)
        const fields = step === '/api/v1/authn' ? {} : STEP_FIELDS
        harness.callsSinceLastLook()
        const path = pathOf(step, browser.userId)
        const { type, text } = stepBody(path, { stateToken, ...fields })
        const headers = { ...own(), 'content-type': type }
        const asked = askPort(harness.port, { method: 'POST', path, headers, body: text })
        await expectRefused(asked, [400, 401, 413])
      }),
      runs(1500),
    )
    expectNoAlarm(harness.gatehouse)
  },
  TEST_MS,
)

test(
  `in the query of a redirect, and as an SSO token ${SEED_LABEL}`,
  async () => {
    const target = encodeURIComponent('https://app.example.com/start')
    const place = fc.constantFrom(
      ['/login/step-up/redirect?stateToken=', ''] as const,
      ['/login/token/redirect?stateToken=', ''] as const,
      ['/sso/idps/fac123?stateToken=', ''] as const,
      ['/login/sessionCookieRedirect?token=', `&redirectUrl=${target}`] as const,
    )
    await fc.assert(
      fc.asyncProperty(place, corruption, async ([before, after], corrupt) => {
        const right = before.includes('?token=') ? browser.ssoToken : browser.handle
        const given = corrupt(right, other.handle)
        fc.pre(given !== right)
        const text = encodeURIComponent(Buffer.from(given).toString()).slice(0, 12_000)
        harness.callsSinceLastLook()
        await expectRefused(askPort(harness.port, { path: before + text + after, headers: opened() }), [401])
      }),
      runs(1200),
    )
    expectNoAlarm(harness.gatehouse)
  },
  TEST_MS,
)

test(
  `in the path of a QR image ${SEED_LABEL}`,
  async () => {
    const [folder = '', right = ''] = browser.picture.split(/(?<=\/qr\/)/)
    await fc.assert(
      fc.asyncProperty(corruption, async (corrupt) => {
        const given = corrupt(right, other.handle)
        fc.pre(given !== right)
        const text = encodeURIComponent(Buffer.from(given).toString()).slice(0, 12_000)
        harness.callsSinceLastLook()
        await expectRefused(askPort(harness.port, { path: folder + text, headers: own() }), [403, 404])
      }),
      runs(600),
    )
    expect((await askPort(harness.port, { path: browser.picture, headers: own() })).status).toBe(200)
    expectNoAlarm(harness.gatehouse)
  },
  TEST_MS,
)
