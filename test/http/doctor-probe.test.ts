import { describe, expect, test } from '@jest/globals'
import { createSigner } from '../../src/crypto/keys.ts'
import {
  answerProbes,
  CONFIGURATION_NONCE,
  configurationTags,
  createProbe,
  ERROR_NONCE,
  isProofOf,
  PROBE_HEADER,
  RESPONSE_NONCE,
  STORE_NONCE,
  storedValue,
} from '../../src/http/doctor-probe.ts'
import { getRequestContext } from '../../src/http/request-context.ts'
import type { Route } from '../../src/http/route.ts'
import { useKeeper } from '../support/keeper.ts'
import { serve } from './serve.ts'

const keep = useKeeper()

const NOW = 1_900_000_000_000
const MINUTE_MS = 60_000
const signer = (byte = 7) => createSigner([Buffer.alloc(32, byte)], 'doctor-probe')
const PROBE = { nonce: 'a-nonce', waitMs: 0 }
const probeAt = (ms: number, by = signer()) => createProbe(PROBE, { signer: by, now: () => ms })
const PROBE_PATH = '/api/v1/sessions/me'

const responding = (method: Route['method'], path: string, status: number): Route => ({
  method,
  path,
  handle: (_req, res) => void res.status(status).end(),
})

const neverRead = async () => {
  throw new Error('only a probe that asks for it costs a read')
}

async function ask(
  probe: string | string[],
  forwardedFor: string,
  method = 'GET',
  path = PROBE_PATH,
  readKey: (nonce: string) => Promise<string | undefined> = neverRead,
  more: Readonly<Record<string, string>> = {},
) {
  const options = {
    signer: signer(),
    now: () => NOW,
    publicUrl: 'https://portal.example.com',
    readKey,
    configuration: { RETURN_TO: 'a' },
  }
  const broker = keep(
    await serve({
      before: [answerProbes(options)],
      routes: [responding('GET', PROBE_PATH, 204)],
      trusted: ['127.0.0.1/32', '10.0.0.0/8'],
    }),
  )
  const headers = {
    [PROBE_HEADER]: probe,
    'X-Forwarded-For': forwardedFor,
    Origin: 'https://doctor.invalid',
    ...more,
  }
  return broker.ask({ method, path, headers, ...(method === 'POST' && { body: 'four' }) })
}

test.each([
  ['of another key', probeAt(NOW, signer(8))],
  ['that is too old', probeAt(NOW - 6 * MINUTE_MS)],
  ['of the future', probeAt(NOW + 6 * MINUTE_MS)],
  ['with another time', probeAt(NOW).replace('19000', '18999')],
  ['with another nonce', probeAt(NOW).replace('a-nonce', 'b-nonce')],
  ['without a signature', String(NOW)],
  ['that is empty', ''],
  ['sent twice', [probeAt(NOW), probeAt(NOW)]],
])('a probe %s gets no answer', async (_, probe) => {
  expect(await ask(probe, '198.51.100.7')).toMatchObject({ status: 204, text: '' })
})

test('a genuine probe, which a reader of a proxy’s log can repeat, never gets a success', async () => {
  expect((await ask(probeAt(NOW), '198.51.100.7')).status).toBe(302)
})

test('the answer says what arrives, and proves that it belongs to the probe', async () => {
  const { json } = await ask(probeAt(NOW), '198.51.100.7', 'POST', '/another/path')
  expect(json).toMatchObject({
    path: '/another/path',
    publicUrl: 'https://portal.example.com',
    origin: 'https://doctor.invalid',
    bodyBytes: 4,
  })
  const { proof } = json as { proof: string } // compared above
  expect(isProofOf(PROBE, proof, signer())).toBe(true)
  expect(isProofOf({ ...PROBE, nonce: 'b-nonce' }, proof, signer())).toBe(false)
})

test.each([
  ['198.51.100.7', { address: '198.51.100.7', firstForwarded: '198.51.100.7' }],
  ['192.0.2.1, 198.51.100.7:4711, 10.1.1.1', { address: '198.51.100.7', firstForwarded: '192.0.2.1' }],
  ['unknown, 198.51.100.7', { address: '198.51.100.7', firstForwarded: 'malformed' }],
])('the answer to X-Forwarded-For %s', async (forwardedFor, answer) => {
  for (const sentAt of [NOW, NOW - 4 * MINUTE_MS, NOW + 4 * MINUTE_MS])
    expect((await ask(probeAt(sentAt), forwardedFor)).json).toMatchObject(answer)
})

test('the answer has the query as it arrives, and says whether the connection was used before', async () => {
  const { json } = await ask(probeAt(NOW), '198.51.100.7', 'GET', `${PROBE_PATH}?a=%2F&b=`)
  expect(json).toMatchObject({ query: 'a=%2F&b=', httpVersion: '1.1', reused: false })
  expect(json).not.toHaveProperty('store')
})

describe('a probe that asks whether broker and doctor have the same Redis', () => {
  const nonce = `${STORE_NONCE}0123`
  const header = createProbe({ nonce, waitMs: 0 }, { signer: signer(), now: () => NOW })

  test.each<[string, (nonce: string) => Promise<string | undefined>, string]>([
    ['finds what the doctor has written', async (name) => storedValue(name, signer()), 'shared'],
    ['finds nothing', async () => undefined, 'missing'],
    ['finds what was written with another key', async (name) => storedValue(name, signer(8)), 'missing'],
    ['finds what was written for another probe', async () => storedValue('other', signer()), 'missing'],
    ['cannot read', async () => Promise.reject(new Error('down')), 'failed'],
  ])('the broker %s', async (_, readKey, store) => {
    const { json } = await ask(header, '198.51.100.7', 'GET', PROBE_PATH, readKey)
    expect(json).toMatchObject({ store })
  })
})

test('the answer has the headers of browsers, their beginnings, and the names of Gatehouse’s cookies', async () => {
  const { json } = await ask(probeAt(NOW), '198.51.100.7', 'GET', PROBE_PATH, neverRead, {
    'User-Agent': 'x'.repeat(200),
    'X-Gatehouse-Session': 'doctor',
    Cookie: '__Host-gatehouse=secret-1; other=secret-2; __Host-Http-gatehouse-device=secret-3',
  })
  expect(json).toMatchObject({
    headers: { 'User-Agent': 'x'.repeat(100), 'X-Gatehouse-Session': 'doctor' },
    cookies: ['__Host-gatehouse', '__Host-Http-gatehouse-device'],
    cookieBytes: 80,
  })
  expect(JSON.stringify(json)).not.toContain('secret')
})

describe('a probe that asks for more', () => {
  const probeOf = (nonce: string) => createProbe({ nonce, waitMs: 0 }, { signer: signer(), now: () => NOW })

  test('learns whether a value of the configuration is the same, and nothing else of it', async () => {
    const { json } = await ask(probeOf(`${CONFIGURATION_NONCE}0123`), '198.51.100.7')
    const { configuration } = Object(json)
    expect(Object.keys(configuration)).toEqual(['RETURN_TO'])
    expect(configurationTags('RETURN_TO', 'a', signer())).toEqual([configuration.RETURN_TO])
    for (const [name, value, key] of [
      ['RETURN_TO', 'b', 7],
      ['STEP_UP', 'a', 7],
      ['RETURN_TO', 'a', 8],
    ] as const)
      expect(configurationTags(name, value, signer(key))).not.toContain(configuration.RETURN_TO)
    expect((await ask(probeAt(NOW), '198.51.100.7')).json).not.toHaveProperty('configuration')
  })

  test('gets a redirect to a host that never exists, and two cookies that no browser keeps', async () => {
    const { headers } = await ask(probeOf(`${RESPONSE_NONCE}0123`), '198.51.100.7')
    expect(headers.location).toMatch(/^https:\/\/doctor\.invalid\//)
    expect(headers['set-cookie']).toEqual(
      ['1', '2'].map((n) => expect.stringMatching(new RegExp(`^gatehouse-doctor-${n}=doctor; Max-Age=0;`))),
    )
    expect((await ask(probeAt(NOW), '198.51.100.7')).headers).not.toHaveProperty('location')
  })
})

test.each([
  [`${ERROR_NONCE}0123`, 503, true],
  ['a-nonce', 302, false],
])(
  'the probe %s is answered with %d; metrics do not count it as a failure',
  async (nonce, status, isOfClient) => {
    const contexts: { isErrorOfClient?: boolean }[] = []
    const options = {
      signer: signer(),
      now: () => NOW,
      publicUrl: 'https://portal.example.com',
      readKey: neverRead,
      configuration: {},
    }
    const broker = keep(
      await serve({
        before: [
          (req, _res, next) => {
            contexts.push(getRequestContext(req))
            next()
          },
          answerProbes(options),
        ],
        routes: [responding('GET', PROBE_PATH, 204)],
        trusted: ['127.0.0.1/32'],
      }),
    )
    const probe = createProbe({ nonce, waitMs: 0 }, { signer: signer(), now: () => NOW })
    const headers = { [PROBE_HEADER]: probe, 'X-Forwarded-For': '198.51.100.7' }
    const answer = await broker.ask({ method: 'GET', path: PROBE_PATH, headers })
    expect([
      answer.status,
      isProofOf({ nonce, waitMs: 0 }, String(Object(answer.json).proof), signer()),
    ]).toEqual([status, true])
    expect(contexts.map(({ isErrorOfClient }) => isErrorOfClient)).toEqual([isOfClient])
  },
)
