import { beforeEach, expect, test } from '@jest/globals'
import type { Client } from '../../../src/authn/browser/client.ts'
import {
  createSignInPacing,
  type SignInPacing,
  type SignInPacingDeps,
} from '../../../src/authn/throttling/call-limits.ts'
import { defaultTunables } from '../../../src/config/load-config.ts'
import { createMetrics } from '../../../src/observability/metrics.ts'
import { createLoginNames } from '../../../src/session/login-names.ts'

const CLIENT = { address: '192.0.2.1' } as Client

let timeMs: number
let waits: number[]
let pacing: SignInPacing
beforeEach(() => {
  timeMs = 1_000_000
  waits = []
  pacing = pacingWith({ limit: { attempts: 4, perSeconds: 1 }, maxWaitMs: 3000 })
})

function pacingWith(limits: Pick<SignInPacingDeps, 'limit' | 'maxWaitMs'>) {
  return createSignInPacing({
    ...limits,
    canonicalLogin: createLoginNames([]).canonical,
    audit: { limitHit: () => undefined },
    metrics: createMetrics({ processMetrics: false }),
    now: () => timeMs,
    monotonic: () => timeMs,
    start(callback, ms) {
      waits.push(ms)
      callback()
      return () => undefined
    },
  })
}

async function signIns(count: number, login = 'ada@example.test'): Promise<void> {
  for (let n = 0; n < count; n++) await pacing.wait(login, CLIENT)
}

test('the fifth sign-in of a user name waits for the next second, however the name is written', async () => {
  await signIns(4)
  expect(waits).toEqual([])
  await signIns(1, 'ADA@example.test ')
  expect(waits).toEqual([1100]) // a tenth of a second more, for differences on the way
  await signIns(4, 'another@example.test')
  expect(waits).toHaveLength(1)
})

test('sign-ins at a slower rate never wait', async () => {
  for (let n = 0; n < 20; n++) {
    await signIns(1)
    timeMs += 275
  }
  expect(waits).toEqual([])
})

test('what would wait longer than three seconds is refused, and takes no place', async () => {
  await signIns(12)
  expect(waits).toEqual([...Array(4).fill(1100), ...Array(4).fill(2200)])
  for (let n = 0; n < 10; n++)
    await expect(pacing.wait('ada@example.test', CLIENT)).rejects.toMatchObject({
      status: 429,
      code: 'E0000047',
      headers: { 'X-Rate-Limit-Limit': '4', 'Retry-After': '1' },
    })
  timeMs += 300
  await signIns(1)
  expect(waits.at(-1)).toBe(3000)
})

test('an attacker who knows the password cannot cause the refusal of a sign-in from a known device', async () => {
  const { authn, limits } = defaultTunables()
  pacing = pacingWith({ limit: limits.signInsPerUser, maxWaitMs: authn.signInWaitMs })
  // just sent; and as many at once as the limit of all unknown devices allows, because successful attempts are refunded
  await signIns(limits.signInsPerUser.attempts + limits.password.perUser.burst.attempts)
  await signIns(1)
  expect(waits.at(-1)).toBe(3300)
})
