import { afterEach, describe, expect, test } from '@jest/globals'
import { type Client, createClientOf, createDeviceCookie } from '../../../src/authn/browser/client.ts'
import { createSigner } from '../../../src/crypto/keys.ts'
import { serve } from '../../http/serve.ts'
import { keeper } from '../../support/keeper.ts'

const NO_EVIDENCE = { cookie: undefined, skipped: undefined }

const { keep, closeAll } = keeper()
afterEach(closeAll)

async function clientFrom(
  headers: Record<string, string | string[]>,
  { trusted = [], forwardedOrigins = [] }: { trusted?: string[]; forwardedOrigins?: string[] } = {},
): Promise<Client> {
  const deviceCookie = createDeviceCookie({
    signer: createSigner([Buffer.alloc(32, 1)], 'device-cookie'),
    secure: true,
  })
  const clientOf = createClientOf({
    deviceCookie,
    sessionCookie: { idIn: () => undefined },
    boundSessions: { evidenceIn: () => NO_EVIDENCE },
    forwardedOrigins,
  })
  const { ask } = keep(
    await serve({
      trusted,
      routes: [{ method: 'GET', path: '/', handle: (req, res) => void res.json(clientOf(req, res)) }],
    }),
  )
  return (await ask({ headers })).json as Client
}

describe('headers about the browser', () => {
  // shows: V1.3.3
  test('are cut to 512 characters', async () => {
    const client = await clientFrom({ 'User-Agent': 'a'.repeat(5000), 'Accept-Language': 'b'.repeat(5000) })
    expect([client.userAgent, client.acceptLanguage]).toEqual(['a'.repeat(512), 'b'.repeat(512)])
  })

  // shows: V1.3.3
  test('keep only visible ASCII and spaces', async () => {
    const client = await clientFrom({ 'User-Agent': 'a\tb\u0085c\u00e4d e', 'Accept-Language': '\u00ff' })
    expect([client.userAgent, client.acceptLanguage]).toEqual(['abcd e', ''])
  })

  test('are empty if the browser sends none', async () => {
    expect(await clientFrom({})).toMatchObject({ userAgent: '', acceptLanguage: '' })
  })
})

describe('a device fingerprint', () => {
  test.each([['a'.repeat(257)], ['with space'], ['t\tab'], ['\u00e4'], ['']])('%j is none', async (value) => {
    expect(await clientFrom({ 'X-Device-Fingerprint': value })).not.toHaveProperty('fingerprint')
  })

  test('is ignored if it is sent twice', async () => {
    expect(await clientFrom({ 'X-Device-Fingerprint': ['one', 'two'] })).not.toHaveProperty('fingerprint')
  })

  test.each([['x'], ['a'.repeat(256)], ['1|2;{"a":~}']])('%j is accepted', async (fingerprint) => {
    expect(await clientFrom({ 'X-Device-Fingerprint': fingerprint })).toMatchObject({ fingerprint })
  })
})

// shows: V15.3.4
test('the address is the one that trusted proxies report, as in the log', async () => {
  const headers = { 'X-Forwarded-For': '6.6.6.6, 198.51.100.7' }
  expect((await clientFrom(headers)).address).toBe('127.0.0.1')
  expect((await clientFrom(headers, { trusted: ['127.0.0.1/32'] })).address).toBe('198.51.100.7')
})

test('the device comes from the cookie only', async () => {
  const client = await clientFrom({ 'X-Device-Token': 'f'.repeat(32), Cookie: `DT=${'f'.repeat(32)}` })
  expect(client.device).toEqual({ id: expect.stringMatching(/^[0-9a-f]{32}$/), returned: false })
  expect(client.device.id).not.toBe('f'.repeat(32))
})

test.each([
  ['https://portal.example.com', 'https://portal.example.com'],
  ['https://app.example.com', 'https://app.example.com'],
  ['https://portal.example.com:8443', undefined],
  ['https://other.example', undefined],
  ['null', undefined],
])('Origin %s is forwarded as %s', async (Origin, origin) => {
  const forwardedOrigins = ['https://portal.example.com', 'https://app.example.com']
  expect((await clientFrom({ Origin }, { forwardedOrigins })).origin).toBe(origin)
  expect(await clientFrom({ Origin })).not.toHaveProperty('origin')
})
