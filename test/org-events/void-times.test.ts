import { afterEach, expect, test } from '@jest/globals'
import type { Request } from 'express'
import { GRANT } from '../session/grant.ts'
import { startSessionHarness } from '../session/session-harness.ts'
import { keeper } from '../support/keeper.ts'

const { keep, closeAll } = keeper()
afterEach(closeAll)

const ME = '/api/v1/sessions/me'
const { userId } = GRANT

test('a session that was created before the time is void at once, although its record is still stored', async () => {
  const { signIn, call, clock, voidTimes, stored, sessions } = keep(
    await startSessionHarness({ usesVoidTimes: true }),
  )
  const { cookieHeader, id } = await signIn()
  await voidTimes.record('00u2other', clock.now + 1)
  await voidTimes.record(userId, clock.now) // the session was not created earlier
  expect((await call('GET', ME, cookieHeader)).status).toBe(200)
  expect(await sessions.exists(id)).toBe(true)
  const storedFor = async (req = {} as Request) => {
    await sessions.loadHandedOver(req, { sessionId: id, isKeyProved: false })
    return req.stored
  }
  expect(await storedFor()).toMatchObject({ id })

  await voidTimes.record(userId, clock.now + 1)
  for (const [method, path] of [
    ['GET', ME],
    ['POST', `${ME}/lifecycle/refresh`],
    ['GET', '/need'],
    ['GET', '/forward-auth'],
    ['DELETE', ME],
  ] as const)
    expect([401, 404]).toContain((await call(method, path, cookieHeader)).status)
  expect(await sessions.exists(id)).toBe(false)
  expect(await storedFor()).toBeUndefined()
  expect(stored()).toHaveLength(1)
  clock.now += 1
  const later = await signIn()
  expect((await call('GET', ME, later.cookieHeader)).status).toBe(200)
})

test('an earlier time does not replace a later one', async () => {
  const { signIn, call, clock, voidTimes } = keep(await startSessionHarness({ usesVoidTimes: true }))
  const { cookieHeader } = await signIn()
  await voidTimes.record(userId, clock.now + 1)
  await voidTimes.record(userId, clock.now - 1)
  expect((await call('GET', ME, cookieHeader)).status).toBe(404)
})

test('a session of a retired key becomes void too', async () => {
  const { signIn, call, clock, voidTimes, restartWith } = keep(
    await startSessionHarness({ usesVoidTimes: true }),
  )
  const { cookieHeader } = await signIn()
  restartWith(Buffer.alloc(32, 2), Buffer.alloc(32, 1))
  await voidTimes.record(userId, clock.now + 1)
  expect((await call('GET', ME, cookieHeader)).status).toBe(404)
})

test('the time lasts as long as a session can, under a key that does not contain the user', async () => {
  const { clock, voidTimes, entries } = keep(await startSessionHarness({ usesVoidTimes: true }))
  await voidTimes.record(userId, clock.now)
  const [[key, entry] = ['', undefined]] = [...entries]
  expect(key).toMatch(/^gatehouse:event:void:[\w-]{15}$/)
  expect(key).not.toContain(userId)
  expect(entry?.expiresAt).toBe(clock.now + 12 * 3_600_000)
})

test('no time is read if none is ever recorded', async () => {
  const { signIn, call, traffic, entries } = keep(await startSessionHarness())
  const { cookieHeader } = await signIn()
  traffic.reads = 0
  expect((await call('GET', ME, cookieHeader)).status).toBe(200)
  expect(traffic.reads).toBe(1)
  expect([...entries.keys()].filter((key) => key.includes(':event:'))).toEqual([])
})

test('if the time cannot be read: 503, not "signed out"', async () => {
  const { signIn, call, traffic } = keep(await startSessionHarness({ usesVoidTimes: true }))
  const { cookieHeader } = await signIn()
  traffic.unavailable = true
  expect((await call('GET', ME, cookieHeader)).status).toBe(503)
})
