import { afterEach, expect, test } from '@jest/globals'
import { AMELIA, type Harness, PASSWORD, startHarness } from '../support/harness.ts'
import { until } from '../support/until.ts'

const USERS = Array.from({ length: 12 }, (_, n) => `user-${n}@example.test`)
const MAX = 4

let harness: Harness
afterEach(() => harness.stop())

/** A call waits for half of `totalTimeoutMs`. */
async function start(totalTimeoutMs: number): Promise<void> {
  harness = await startHarness({
    tunables: (tunables) => ({
      ...tunables,
      upstream: {
        ...tunables.upstream,
        authn: { ...tunables.upstream.authn, totalTimeoutMs, maxConnections: MAX },
      },
    }),
    sandboxConfig: (config) => ({
      ...config,
      users: config.users
        .filter(({ login }) => login === AMELIA)
        .flatMap((amelia) => USERS.map((login) => ({ ...amelia, login }))),
    }),
  })
}

const signIn = async (username: string) =>
  (await harness.visit()).post('/api/v1/authn', { username, password: PASSWORD })

test('no more calls than upstream.authn.maxConnections are in flight; the others wait, and each password is checked once', async () => {
  await start(120_000)
  const release = harness.sandbox.faults.authn.hold()
  const answers = USERS.map(signIn)
  await until(async () =>
    new RegExp(`gatehouse_http_requests_in_flight\\S* ${USERS.length}\n`).test(
      await harness.gatehouse.metrics(),
    ),
  )
  await until(() => harness.upstreamCalls().length === MAX)
  release()
  for (const { json } of await Promise.all(answers)) expect(json.status).toBe('SUCCESS')
  expect(harness.sandbox.signIns.map(({ login }) => login).toSorted()).toEqual(USERS.toSorted())
  expect(harness.upstreamCalls()).toHaveLength(USERS.length)
})

// shows: V13.2.6, V15.2.2
test('a call that waits too long is answered 503 with Retry-After, and is not sent', async () => {
  await start(12_000)
  const release = harness.sandbox.faults.authn.hold()
  const [first = '', ...others] = USERS
  const sent = others.slice(0, MAX).map(signIn)
  await until(() => harness.upstreamCalls().length === MAX)
  const refused = await signIn(first)
  release()
  expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '1'])
  for (const { json } of await Promise.all(sent)) expect(json.status).toBe('SUCCESS')
  expect(harness.upstreamCalls()).toHaveLength(MAX)
  expect(await harness.gatehouse.metrics()).toContain('gatehouse_requests_shed_total{reason="upstream"} 1')
  expect((await signIn(first)).json.status).toBe('SUCCESS')
})
