import { beforeAll, describe, expect, test } from '@jest/globals'
import fc from 'fast-check'
import { askPort } from '../support/ask-port.ts'
import { codePoint } from '../support/code-point.ts'
import { type MatrixVisitor, useMatrixHarness } from '../support/matrix-harness.ts'
import { pathOf } from '../support/permissive-upstream.ts'
import { CLASS_OF } from '../support/route-classes.ts'
import { expectNoAlarm, expectSuccessOrRefusal, runs, SEED_LABEL, TEST_MS } from './fuzz.ts'

/**
 * Random bodies at every route that accepts one: each request succeeds or is refused, without
 * delay.
 */

const POSTS = Object.keys(CLASS_OF).flatMap((name) =>
  name.startsWith('POST ') ? [name.slice('POST '.length)] : [],
)
const template = fc.constantFrom(...POSTS)

const harness = useMatrixHarness({
  listener: { requestTimeout: 400, headersTimeout: 400, connectionsCheckingInterval: 50 },
})
let browser: MatrixVisitor
beforeAll(async () => {
  browser = await harness.newcomer()
})

const headers = () => ({ 'sec-fetch-site': 'same-origin', cookie: browser.cookies('own') ?? '' })

async function post(path: string, body: Buffer | string, more: Record<string, string> = {}) {
  const answer = await askPort(harness.port, {
    method: 'POST',
    path: pathOf(path, browser.userId),
    headers: { ...headers(), 'content-type': 'application/json', ...more },
    body,
  })
  expectSuccessOrRefusal(answer)
  return answer
}

// JSON as text, for what an object cannot express: repeated names, numbers of a thousand digits

const string = fc.oneof(
  fc.string({ unit: codePoint, maxLength: 40 }).map((text) => JSON.stringify(text)),
  fc.constantFrom(
    ...'"\\ud800" "\\udc00\\ud800" "\\u0000" "\\u2028" "" "__proto__" "constructor"'.split(' '),
  ),
  fc.constantFrom(129, 321, 1025, 2049, 33_000).map((length) => `"${'x'.repeat(length)}"`),
)
const number = fc.oneof(
  fc.double().map((value) => (Number.isFinite(value) ? String(value) : '1e999')),
  fc.constantFrom('1e400', '-0', `${'9'.repeat(1000)}`, `1e-${'9'.repeat(100)}`, '9007199254740993'),
)
const deep = fc
  .tuple(fc.constantFrom(['[', ']'], ['{"a":', '}'], ['{"__proto__":', '}']), fc.constantFrom(2, 100, 6000))
  .map(([[open, close], depth]) => `${open?.repeat(depth)}1${close?.repeat(depth)}`)
const NAMES = [
  ...'stateToken username password token context options relayState audience factorType provider'.split(' '),
  ...'profile passCode nextPassCode answer oldPassword newPassword validatePhone recoveryToken'.split(' '),
  ...'revokeSessions clientData attestation registrationData signatureData authenticatorData'.split(' '),
  ...'deviceToken phoneNumber question multiOptionalFactorEnroll warnBeforePasswordExpired'.split(' '),
  ...'__proto__ constructor prototype toString hasOwnProperty toJSON then'.split(' '),
  '',
]
const name = fc.oneof(
  { weight: 9, arbitrary: fc.constantFrom(...NAMES).map((text) => JSON.stringify(text)) },
  { weight: 1, arbitrary: string },
)
const objectOf = (value: fc.Arbitrary<string>) =>
  fc
    .array(fc.tuple(name, value), { maxLength: 12 })
    .map((members) => `{${members.map(([key, member]) => `${key}:${member}`).join()}}`)
const { value } = fc.letrec<{ value: string }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small' },
    string,
    number,
    fc.constantFrom('null', 'true', 'false', '[]', '{}'),
    deep,
    fc.array(tie('value'), { maxLength: 4 }).map((items) => `[${items.join()}]`),
    objectOf(tie('value')),
  ),
}))
/** Sometimes with a valid handle first, so that the step itself is reached. */
const body = fc.tuple(fc.boolean(), objectOf(value)).map(
  ([withHandle, text]) =>
    (handle: string) =>
      withHandle ? text.replace('{', `{"stateToken":"${handle}"${text === '{}' ? '' : ','}`) : text,
)

describe('JSON', () => {
  test(
    `of any shape at every route: success or refusal ${SEED_LABEL}`,
    async () => {
      await fc.assert(
        fc.asyncProperty(template, body, async (path, bodyFor) => {
          await post(path, bodyFor(browser.handle))
          expect(Object.keys(Object.prototype)).toEqual([])
        }),
        runs(1200),
      )
      expectNoAlarm(harness.gatehouse)
    },
    TEST_MS,
  )
})
