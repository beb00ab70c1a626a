import { beforeAll, expect, test } from '@jest/globals'
import fc from 'fast-check'
import { askPort } from '../support/ask-port.ts'
import { codePoint } from '../support/code-point.ts'
import { type MatrixVisitor, useMatrixHarness } from '../support/matrix-harness.ts'
import { pathOf } from '../support/permissive-upstream.ts'
import { CLASS_OF } from '../support/route-classes.ts'
import { STEP_FIELDS, stepBody } from '../support/step-body.ts'
import { runs, SEED_LABEL, TEST_MS } from './fuzz.ts'

/** Random upstream responses: the browser gets a success, Okta's error or a 502, never a 500. */

const harness = useMatrixHarness({
  constants: { upstream: { breaker: { consecutiveFailures: 1_000_000, halfOpenAfterMs: 1 } } },
})
const pool: MatrixVisitor[] = []
beforeAll(async () => {
  while (pool.length < 60) pool.push(await harness.newcomer())
})

const NAMES = [
  ...'status stateToken sessionToken recoveryToken expiresAt type factorResult _embedded _links user id'.split(
    ' ',
  ),
  ...'profile login factors factor factorTypes factorType href hints allow next resend name'.split(' '),
  ...'errorCode errorSummary errorCauses errorId __proto__ constructor toJSON'.split(' '),
  '',
]
const WORDS = [
  ...'SUCCESS MFA_REQUIRED MFA_CHALLENGE WAITING SESSION_STEP_UP GET POST E0000011 E0000047'.split(' '),
  ...'2026-01-01T00:00:00Z +275760-09-13T00:00:00Z never /api/v1/authn/skip https://x/%ff http://[ //'.split(
    ' ',
  ),
]
const word = fc.oneof(fc.constantFrom(...WORDS), fc.string({ unit: codePoint, maxLength: 30 }))
const { value } = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'medium' },
    word,
    fc.oneof(fc.double(), fc.boolean(), fc.constant(null)),
    fc.array(tie('value'), { maxLength: 4 }),
    fc.dictionary(fc.constantFrom(...NAMES), tie('value'), { maxKeys: 8 }),
  ),
}))
const object = fc
  .dictionary(fc.constantFrom(...NAMES), value, { maxKeys: 9 })
  .map((one) => JSON.stringify(one))
const deep = fc
  .tuple(
    fc.constantFrom(['[', ']'], ['{"_links":', '}'], ['{"href":', '}']),
    fc.constantFrom(100, 5000, 100_000),
  )
  .map(([[open = '', close = ''], depth]) => `${open.repeat(depth)}1${close.repeat(depth)}`)
const body = fc.oneof(
  { weight: 6, arbitrary: object },
  {
    weight: 1,
    arbitrary: deep.map(
      (nest) => `{"status":"MFA_REQUIRED","stateToken":"00plainly-fake-deep-token","x":${nest}}`,
    ),
  },
  {
    weight: 1,
    arbitrary: deep.map((nest) => `{"errorCode":"E0000001","errorSummary":"x","errorCauses":${nest}}`),
  },
  { weight: 1, arbitrary: deep },
  { weight: 1, arbitrary: fc.string({ unit: codePoint, maxLength: 100 }) },
)
/** Without 429, because after one the broker would send nothing for a while. */
const status = fc.constantFrom<number>(200, 200, 200, 200, 201, 204, 301, 400, 401, 403, 404, 500, 503)
const header: fc.Arbitrary<Record<string, string>> = fc.oneof(
  fc.constant({}),
  fc.constantFrom('x', '-1', '1e99', '99999999999999999999', '').map((text) => ({
    date: text,
    'retry-after': text,
    'x-rate-limit-limit': text,
    'x-rate-limit-remaining': text,
    'x-rate-limit-reset': text,
  })),
)
const type = fc.constantFrom<string>('application/json', 'application/json', 'text/html', 'image/png', '')

const ROUTES = Object.entries(CLASS_OF).flatMap(([name, kind]) =>
  kind === 'step' ||
  kind === 'sign-in' ||
  kind === 'recovery start' ||
  (kind.startsWith('offered ') && kind !== 'offered redirect')
    ? [name]
    : [],
)
/** Extremely nested JSON, once at every route. */
const NEST = '['.repeat(100_000) + ']'.repeat(100_000)
const NESTED_ERROR = `{"errorCode":"E0000001","errorSummary":"x","errorCauses":${NEST}}`
const DEEPEST = ROUTES.map((name): [string, string, number, Record<string, string>, string] => {
  return [name, NESTED_ERROR, 400, {}, 'application/json']
})

test(
  `any response to every step ${SEED_LABEL}`,
  async () => {
    let attempts = 0
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...ROUTES),
        body,
        status,
        header,
        type,
        async (name, text, code, more, as) => {
          const [method = '', template = ''] = name.split(' ')
          harness.answerWith({
            status: code,
            headers: { 'content-type': as, ...more },
            body: code === 204 ? '' : text,
          })
          attempts += 1
          const browser = pool[attempts % pool.length]
          if (browser === undefined) throw new Error('the pool is empty')
          const credentials = {
            username: `someone-${attempts}`,
            password: 'plainly-fake',
            recoveryToken: 'plainly-fake',
          }
          const isStart = CLASS_OF[name] === 'sign-in' || CLASS_OF[name] === 'recovery start'
          const path = template.includes('/qr/') ? browser.picture : pathOf(template, browser.userId)
          const fields = { ...STEP_FIELDS, ...(isStart ? credentials : { stateToken: browser.handle }) }
          const { type: bodyType, text: bodyText } = stepBody(path, fields)
          const headers = { 'sec-fetch-site': 'same-origin', cookie: browser.cookies('own') ?? '' }
          const asked = { method, path, headers }
          const answer = await askPort(
            harness.port,
            method === 'GET'
              ? asked
              : { ...asked, headers: { ...headers, 'content-type': bodyType }, body: bodyText },
          )
          if (code !== 500) expect(answer.status).not.toBe(500)
        },
      ),
      { ...runs(800), examples: DEEPEST },
    )
    expect(harness.gatehouse.logLines().filter(({ event }) => event === 'unexpected_error')).toEqual([])
  },
  TEST_MS,
)
