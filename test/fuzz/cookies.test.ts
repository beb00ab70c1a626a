import { afterAll, beforeAll, expect, test } from '@jest/globals'
import fc from 'fast-check'
import { askPort } from '../http/serve.ts'
import {
  cookiesIn,
  DEVICE_COOKIE,
  type MatrixHarness,
  type MatrixVisitor,
  SESSION_COOKIE,
  startMatrixHarness,
} from '../support/matrix-harness.ts'
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

/** Corrupted session and device cookies are never accepted, and cause no errors. */

let harness: MatrixHarness
let browser: MatrixVisitor
let device: string
let session: string
beforeAll(async () => {
  harness = await startMatrixHarness()
  browser = await harness.newcomer()
  ;[device = '', session = ''] = (browser.cookies('own') ?? '')
    .split('; ')
    .map((one) => one.replace(/^[^=]*=/, ''))
})
afterAll(() => harness.stop())

const visible = fc.string({ unit: fc.constantFrom(...'abcXYZ019.-_:%=+/ !"&~s'), maxLength: 120 })
const corruption = fc.oneof(
  instead(visible),
  instead(fc.constantFrom('x'.repeat(9000), '%00', '%', 's%3A', 's%3A.', '__proto__', '')),
  instead(fc.constant(`${'0'.repeat(32)}.0.${'A'.repeat(43)}`)),
  damaged('abcXYZ019-_:%+/ "~'),
  fc.constantFrom<Corrupt>(
    (_, other) => other,
    (own) => own.toUpperCase(),
    (own) => own + own,
    (own) => `${own}.x`,
    (own) => `"${own}x"`,
    (own) => own.replace('.', ''),
    (own) => own.split('.').reverse().join('.'),
    (own) => own + 'x'.repeat(4096),
  ),
)

async function ask(method: string, path: string, cookie: string, body?: object) {
  const headers = { 'sec-fetch-site': 'same-origin', cookie }
  const answer = await askPort(harness.port, {
    ...{ method, path },
    ...(body === undefined
      ? { headers }
      : { headers: { ...headers, 'content-type': 'application/json' }, body: JSON.stringify(body) }),
  })
  expectSuccessOrRefusal(answer)
  return answer
}

/** A corrupted value may decode to the original one. Such values are skipped. */
function isOwn(value: string, own: string): boolean {
  const plain = (text: string) => {
    try {
      return decodeURIComponent(text.replace(/^"(.*)"$/, '$1').trim())
    } catch {
      return text // it cannot be decoded
    }
  }
  return plain(value) === plain(own)
}

test(
  `a corrupted session cookie is not a session on any device ${SEED_LABEL}`,
  async () => {
    const route = fc.constantFrom(
      ['GET', '/api/v1/sessions/me', 404] as const,
      ['GET', '/api/v1/sessions', 401] as const,
      ['GET', '/api/v1/pam/me', 401] as const,
      ['POST', '/api/v1/sessions/me/lifecycle/refresh', 404] as const,
      ['DELETE', '/api/v1/sessions/me', 404] as const,
      ['DELETE', '/api/v1/sessions', 401] as const,
    )
    await fc.assert(
      fc.asyncProperty(corruption, route, async (corrupt, [method, path, refusal]) => {
        const value = corrupt(session, device)
        fc.pre(!isOwn(value, session))
        const answer = await ask(method, path, `${DEVICE_COOKIE}=${device}; ${SESSION_COOKIE}=${value}`)
        expect([value, answer.status]).toEqual([value, refusal])
        expect(cookiesIn(answer)).toEqual({})
      }),
      runs(1500),
    )
    expect((await ask('GET', '/api/v1/sessions/me', browser.cookies('own') ?? '')).status).toBe(200)
    expectNoAlarm(harness.gatehouse)
  },
  TEST_MS,
)

test(
  `a corrupted device cookie is replaced, opens no transaction and is never sent upstream ${SEED_LABEL}`,
  async () => {
    await fc.assert(
      fc.asyncProperty(corruption, async (corrupt) => {
        const value = corrupt(device, session)
        fc.pre(!isOwn(value, device))
        const cookie = `${DEVICE_COOKIE}=${value}; ${SESSION_COOKIE}=${session}`
        harness.callsSinceLastLook()
        const { handle } = browser
        const answer = await ask('POST', '/api/v1/authn', cookie, { stateToken: handle })
        expect([value, answer.status]).toEqual([value, 401])
        expect(cookiesIn(answer)[DEVICE_COOKIE]).toMatch(/^(?!000000)[0-9a-f]{32}\.[0-9a-z]+\.[\w-]{43}$/)
        expect(cookiesIn(answer)[DEVICE_COOKIE]?.slice(0, 32)).not.toBe(device.slice(0, 32))
        expect(harness.callsSinceLastLook()).toEqual([])
      }),
      runs(1200),
    )
    expectNoAlarm(harness.gatehouse)
  },
  TEST_MS,
)

test(
  `a random Cookie header has a session only if the right cookie comes first ${SEED_LABEL}`,
  async () => {
    const part = fc.oneof(
      visible,
      fc
        .tuple(fc.constantFrom(DEVICE_COOKIE, SESSION_COOKIE, 'gatehouse', '__proto__', ''), visible)
        .map(([name, value]) => `${name}=${value}`),
      fc.constantFrom('right session', 'right device'),
    )
    const separator = fc.constantFrom('; ', ';', ', ', ' ; ', '&', '\t;')
    await fc.assert(
      fc.asyncProperty(fc.array(part, { maxLength: 60 }), separator, async (parts, between) => {
        const right = new Map([
          ['right session', `${SESSION_COOKIE}=${session}`],
          ['right device', `${DEVICE_COOKIE}=${device}`],
        ])
        const header = parts.map((one) => right.get(one) ?? one).join(between)
        const answer = await ask('GET', '/api/v1/sessions/me', header.slice(0, 12_000))
        if (!parts.includes('right session')) expect([header, answer.status]).toEqual([header, 404])
        else expect([200, 404]).toContain(answer.status)
      }),
      runs(800),
    )
    expectNoAlarm(harness.gatehouse)
  },
  TEST_MS,
)
