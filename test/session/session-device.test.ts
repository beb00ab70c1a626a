import { describe, expect, test } from '@jest/globals'
import { createSigner } from '../../src/crypto/keys.ts'
import { useKeeper } from '../support/keeper.ts'
import { GRANT } from './grant.ts'
import { DEVICE_HEADER, FIRST_KEY, startSessionHarness } from './session-harness.ts'

const keep = useKeeper()

async function signedIn() {
  const harness = keep(await startSessionHarness())
  const { cookieHeader } = await harness.signIn()
  return {
    ...harness,
    cookieHeader,
    /** The status of a request from this device; empty: no device. */
    statusFrom: async (device: string) =>
      (await harness.call('GET', '/need', cookieHeader, { [DEVICE_HEADER]: device })).status,
    audited: () => harness.lines().filter(({ event }) => event === 'session_device_mismatch'),
    async mismatches() {
      const { values } = await harness.metrics.requestsRefused.get()
      return values.filter(({ labels }) => labels.reason === 'session_device_mismatch')
    },
  }
}

describe('a session cookie from another device than the one that opened the session', () => {
  test('is not accepted, and each request is counted', async () => {
    const { statusFrom, mismatches, call, cookieHeader } = await signedIn()
    expect((await call('GET', '/need', cookieHeader)).status).toBe(200)
    expect(await mismatches()).toEqual([])
    expect([await statusFrom('another'), await statusFrom('')]).toEqual([401, 401])
    expect(await mismatches()).toEqual([expect.objectContaining({ value: 2 })])
  })

  test('is audited, with the session and the hash of the device', async () => {
    const { statusFrom, audited, call, cookieHeader } = await signedIn()
    const { json } = await call('GET', '/api/v1/sessions/me', cookieHeader)
    await statusFrom('another')
    const [line] = audited()
    expect(line).toMatchObject({
      requestId: expect.any(String),
      address: '127.0.0.1',
      userId: GRANT.userId,
      loginHash: GRANT.loginHash,
      deviceHash: createSigner([FIRST_KEY], 'log-hashes').sign('another').slice(0, 16),
      sessionId: (json as { id: string }).id,
    })
  })

  test('is audited once a minute for each device, and for requests without a device', async () => {
    const { statusFrom, audited, clock } = await signedIn()
    for (const device of ['another', 'another', '', '', 'a third']) await statusFrom(device)
    expect(audited()).toHaveLength(3)
    expect(audited().map(({ deviceHash }) => typeof deviceHash)).toEqual(['string', 'undefined', 'string'])
    clock.now += 59_999
    await statusFrom('another')
    expect(audited()).toHaveLength(3)
    clock.now += 1
    await statusFrom('another')
    expect(audited()).toHaveLength(4)
  })
})

test('a device is recognized by a retired key, but not by a removed one', async () => {
  const { call, cookieHeader, restartWith, audited, statusFrom } = await signedIn()
  const second = Buffer.alloc(32, 2)
  restartWith(second, FIRST_KEY)
  expect((await call('GET', '/need', cookieHeader)).status).toBe(200)
  expect(await statusFrom('another')).toBe(401)
  expect(audited()).toHaveLength(1)
  restartWith(second)
  expect((await call('GET', '/need', cookieHeader)).status).toBe(401)
})
