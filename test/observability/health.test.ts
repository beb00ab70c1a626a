import { expect, test } from '@jest/globals'
import { storeUnavailable } from '../../src/errors.ts'
import { DependencyFailure } from '../../src/observability/dependency-failure.ts'
import { createHealth } from '../../src/observability/health.ts'

const good = async () => undefined
const bad = () => Promise.reject(new Error('down'))

test('one failing check makes the replica not ready', async () => {
  const health = createHealth([
    { name: 'store', run: bad },
    { name: 'other', run: good },
  ])
  expect(await health.readiness()).toEqual({
    ready: false,
    draining: false,
    checks: { store: 'failing', other: 'ok' },
  })
})

test('a check that throws synchronously fails like one that rejects', async () => {
  const run = () => {
    throw new Error('at once')
  }
  expect(await createHealth([{ name: 'store', run }]).readiness()).toMatchObject({
    ready: false,
    checks: { store: 'failing' },
  })
})

test('an informational check is shown, and does not affect readiness', async () => {
  const health = createHealth([
    { name: 'authn_token', state: () => 'failing' },
    { name: 'pam', state: () => 'unknown' },
  ])
  expect(await health.readiness()).toEqual({
    ready: true,
    draining: false,
    checks: { authn_token: 'failing', pam: 'unknown' },
  })
})

test('each change of a required check is reported once: failing, failing for another reason, passing', async () => {
  const errors = ['first', 'first', 'second', undefined, undefined, 'first'].map((reason) =>
    reason === undefined ? undefined : storeUnavailable(new DependencyFailure('refused', { code: reason })),
  )
  const changes: unknown[] = []
  let round = 0
  const run = async () => {
    const error = errors[round++]
    if (error !== undefined) throw error
  }
  const health = createHealth([{ name: 'store', run }], { onChange: (change) => changes.push(change) })
  for (const _ of errors) await health.readiness()
  const failing = (at: number) => ({ name: 'store', error: errors[at] })
  expect(changes).toEqual([failing(0), failing(2), { name: 'store' }, failing(5)])
})

test('while draining, a replica is not ready, even if all checks pass', async () => {
  const health = createHealth([{ name: 'store', run: good }])
  expect(await health.readiness()).toMatchObject({ ready: true, draining: false })
  health.drain()
  expect(health.isDraining()).toBe(true)
  expect(await health.readiness()).toEqual({ ready: false, draining: true, checks: { store: 'ok' } })
})

test('a check that passes again takes effect at once', async () => {
  let down = true
  const health = createHealth([{ name: 'store', run: () => (down ? bad() : good()) }])
  expect((await health.readiness()).ready).toBe(false)
  down = false
  expect((await health.readiness()).ready).toBe(true)
})
