import { expect, test } from '@jest/globals'
import { storeUnavailable } from '../../src/errors.ts'
import { DependencyFailure } from '../../src/observability/dependency-failure.ts'
import { type Check, createHealth as createLoggedHealth } from '../../src/observability/health.ts'
import { collectLog } from './collect-log.ts'

const createHealth = (checks: Check[]) => createLoggedHealth(checks, collectLog().log)
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

test('each change of a required check is logged once: failing, failing for another reason, passing', async () => {
  const errors = ['first', 'first', 'second', undefined, undefined, 'first'].map((reason) =>
    reason === undefined ? undefined : storeUnavailable(new DependencyFailure('refused', { code: reason })),
  )
  let round = 0
  const run = async () => {
    const error = errors[round++]
    if (error !== undefined) throw error
  }
  const { log, lines } = collectLog('info', { now: () => 0 })
  const health = createLoggedHealth([{ name: 'store', run }], log)
  for (const _ of errors) await health.readiness()
  const line = { time: '1970-01-01T00:00:00.000Z', name: 'store' }
  const failed = {
    ...line,
    level: 'warn',
    event: 'readiness_check_failed',
    dependency: 'store',
    outcome: 'refused',
  }
  expect(lines()).toEqual([
    { ...failed, code: 'first' },
    { ...failed, code: 'second' },
    { ...line, level: 'info', event: 'readiness_check_passed' },
    { ...failed, code: 'first' },
  ])
})

test('while draining, a replica is not ready, even if all checks pass', async () => {
  const health = createHealth([{ name: 'store', run: good }])
  expect(await health.readiness()).toMatchObject({ ready: true, draining: false })
  health.drain()
  expect(await health.readiness()).toEqual({ ready: false, draining: true, checks: { store: 'ok' } })
})

test('a check that passes again takes effect at once', async () => {
  let down = true
  const health = createHealth([{ name: 'store', run: () => (down ? bad() : good()) }])
  expect((await health.readiness()).ready).toBe(false)
  down = false
  expect((await health.readiness()).ready).toBe(true)
})
