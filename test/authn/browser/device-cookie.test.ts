import { afterEach, describe, expect, test } from '@jest/globals'
import { createDeviceCookie } from '../../../src/authn/browser/client.ts'
import { createSigner } from '../../../src/crypto/keys.ts'
import { serve } from '../../http/serve.ts'
import { keeper } from '../../support/keeper.ts'
import { restartable } from '../../support/restartable.ts'

const { keep, closeAll } = keeper()
afterEach(closeAll)

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
const START = Date.parse('2026-11-05T06:00:00Z')

async function devices({ secure = true, httpOnlyPrefix = false } = {}) {
  const clock = { now: START }
  const { object: cookie, restartWith } = restartable([Buffer.alloc(32, 1)], (keys) =>
    createDeviceCookie({
      signer: createSigner(keys, 'device-cookie'),
      secure,
      httpOnlyPrefix,
      now: () => clock.now,
    }),
  )
  const { ask } = keep(
    await serve({
      routes: [
        {
          method: 'GET',
          path: '/',
          handle: (req, res) => void res.json(cookie.ensure(req, res)),
        },
      ],
    }),
  )
  const visit = async (header?: string | string[]) => {
    const answer = await ask({ headers: header === undefined ? {} : { Cookie: header } })
    const set = answer.headers['set-cookie'] ?? []
    for (const deletion of set.slice(1)) expect(deletion).toContain('=; Max-Age=0;')
    const device = answer.json as { id: string; returned: boolean }
    return { ...device, set: set[0], bearer: set[0]?.split(';')[0] ?? '', further: set.slice(1) }
  }
  return { clock, restartWith, visit }
}

describe('a browser without a device cookie', () => {
  // shows, V3.3.1, V3.3.4, V3.3.5, V11.5.1
  test('gets one with 32 hexadecimal characters, and does not count as returned', async () => {
    const { visit } = await devices()
    const first = await visit()
    expect(first.id).toMatch(/^[0-9a-f]{32}$/)
    expect(first.returned).toBe(false)
    expect(first.set).toMatch(
      /^__Host-gatehouse-device=[0-9a-f]{32}\.[0-9a-z]+\.[\w-]{43}; Max-Age=34560000; Path=\/; HttpOnly; Secure; SameSite=Lax$/,
    )
    expect(String(first.set).indexOf(';')).toBeLessThan(200)
    expect((await visit()).id).not.toBe(first.id)
  })

  // shows
  test('gets it under another name and without Secure over http on localhost', async () => {
    const { visit } = await devices({ secure: false })
    const { set, bearer, id } = await visit()
    expect(set).toMatch(/^gatehouse-device=[^;]+; Max-Age=34560000; Path=\/; HttpOnly; SameSite=Lax$/)
    expect(await visit(bearer)).toMatchObject({ id, returned: true })
  })
})

// shows: V3.3.3
test('with DEVICE_BOUND_SESSIONS, it is renamed at once, and the old name deleted', async () => {
  const { visit } = await devices({ httpOnlyPrefix: true })
  const { bearer, id, further } = await visit()
  expect([bearer.split('=')[0], further]).toEqual(['__Host-Http-gatehouse-device', []])
  expect(await visit(bearer)).toMatchObject({ id, returned: true, set: undefined })
  const old = bearer.replace('__Host-Http-', '__Host-')
  const renamed = await visit(old)
  expect(renamed).toMatchObject({ id, returned: true })
  expect(renamed.set).toMatch(/^__Host-Http-gatehouse-device=/)
  expect(renamed.further).toEqual([expect.stringMatching(/^__Host-gatehouse-device=; Max-Age=0; Path=\/;/)])
  // a script can set the old name only
  const planted = (await visit()).bearer.replace('__Host-Http-', '__Host-')
  expect(await visit(`${planted}; ${bearer}`)).toMatchObject({ id, set: undefined })
})

test('after a switch back, the newer name is still read', async () => {
  const { visit, clock } = await devices()
  const { bearer, id } = await visit()
  const newer = bearer.replace('__Host-', '__Host-Http-')
  expect(await visit(newer)).toMatchObject({ id, returned: true, set: undefined })
  clock.now += 2 * DAY_MS
  expect((await visit(newer)).set).toMatch(/^__Host-gatehouse-device=/)
})

describe('a malformed or forged cookie is replaced, and its id is not used', () => {
  test.each<[string, (value: string) => string]>([
    ['empty', () => ''],
    ['no signature', (value) => value.split('.').slice(0, 2).join('.')],
    ['another signature', (value) => value.replace(/.{43}$/, 'A'.repeat(43))],
    ['the same signature, encoded differently', (value) => value.replace(/.$/, (last) => nextTo(last))],
    ['another id with the same signature', (value) => value.replace(/^.{32}/, 'f'.repeat(32))],
    ['another time with the same signature', (value) => value.replace(/\.[0-9a-z]+\./, '.zzzzzz.')],
    ['an upper-case id', (value) => value.replace(/^.{32}/, (id) => id.toUpperCase())],
    ['too long', (value) => value + 'A'.repeat(8000)],
  ])('%s', async (_name, forge) => {
    const { visit } = await devices()
    const honest = await visit()
    const [name, value = ''] = honest.bearer.split('=')
    const forged = await visit(`${name}=${forge(value)}`)
    expect(forged.returned).toBe(false)
    expect(forged.id).not.toBe(honest.id)
    expect(forged.id).toMatch(/^[0-9a-f]{32}$/)
    expect(forged.set).toContain(forged.id)
    expect(await visit(forged.bearer)).toMatchObject({ id: forged.id, returned: true, set: undefined })
  })

  test('a cookie with the name for the other scheme', async () => {
    const { visit } = await devices()
    const { bearer } = await visit()
    expect(await visit(bearer.replace('__Host-', ''))).toMatchObject({ returned: false })
  })

  // shows: V9.1.1
  test('signed with a removed key', async () => {
    const { visit, restartWith } = await devices()
    const { bearer, id } = await visit()
    restartWith(Buffer.alloc(32, 2))
    const after = await visit(bearer)
    expect([after.returned, after.id === id]).toEqual([false, false])
  })

  // shows: V9.2.2
  test('signed with the same keys for another purpose', async () => {
    const { visit } = await devices()
    const other = createSigner([Buffer.alloc(32, 1)], 'session-names')
    const value = `${'a'.repeat(32)}.t0.`
    const forged = await visit(`__Host-gatehouse-device=${value}${other.sign(value.slice(0, -1))}`)
    expect(forged).toMatchObject({ returned: false })
  })
})

describe('a cookie', () => {
  test.each<[string, number, 'same' | 'renewed' | 'replaced']>([
    ['is not renewed within a day', DAY_MS, 'same'],
    ['is renewed with the same id after a day', DAY_MS + 1000, 'renewed'],
    ['is renewed until 400 days have passed', 400 * DAY_MS, 'renewed'],
    // shows: V9.2.1
    ['is replaced after 400 days', 400 * DAY_MS + 1000, 'replaced'],
    ['is not affected by a clock that was set back', -DAY_MS, 'same'],
  ])('%s', async (_name, afterMs, expected) => {
    const { visit, clock } = await devices()
    const { bearer, id } = await visit()
    clock.now = START + afterMs
    const later = await visit(bearer)
    const kind = later.id !== id ? 'replaced' : later.set === undefined ? 'same' : 'renewed'
    expect([kind, later.returned]).toEqual([expected, expected !== 'replaced'])
    if (expected !== 'renewed') return
    expect(later.bearer).not.toBe(bearer)
    clock.now += 400 * DAY_MS // a renewed cookie is valid for another 400 days
    expect(await visit(later.bearer)).toMatchObject({ id, returned: true })
  })

  test('that was signed with a retired key is renewed at once, and stays valid after that key is removed', async () => {
    const { visit, restartWith } = await devices()
    const { bearer, id } = await visit()
    restartWith(Buffer.alloc(32, 2), Buffer.alloc(32, 1))
    const renewed = await visit(bearer)
    expect(renewed).toMatchObject({ id, returned: true })
    restartWith(Buffer.alloc(32, 2))
    expect(await visit(renewed.bearer)).toMatchObject({ id, returned: true, set: undefined })
  })
})

test('if the cookie is sent twice, the first one counts', async () => {
  const { visit } = await devices()
  const { bearer, id } = await visit()
  const other = await visit()
  expect(await visit(`${bearer}; ${other.bearer}`)).toMatchObject({ id, returned: true })
  expect(await visit(`${other.bearer}; ${bearer}`)).toMatchObject({ id: other.id, returned: true })
  expect(await visit(`__Host-gatehouse-device=garbage; ${bearer}`)).toMatchObject({ returned: false })
})

/**
 * The last of the 43 base64url characters has two unused bits, so another one decodes to the same
 * bytes.
 */
function nextTo(last: string): string {
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
  return alphabet[alphabet.indexOf(last) ^ 1] ?? 'A'
}
