import { beforeEach, expect, test } from '@jest/globals'
import { createReportUnknownSteps } from '../../../src/authn/sanitize/unknown-steps.ts'
import { FACTOR_TYPE_NAMES } from '../../../src/factor-types.ts'
import { createMetrics } from '../../../src/observability/metrics.ts'
import { collectLog } from '../../observability/collect-log.ts'

/**
 * Unknown names are counted and logged, so that a portal team sees what its page may not support.
 */
let metrics: ReturnType<typeof createMetrics>
let collected: ReturnType<typeof collectLog>
let report: ReturnType<typeof createReportUnknownSteps>
beforeEach(() => {
  metrics = createMetrics()
  collected = collectLog()
  report = createReportUnknownSteps({ log: collected.log, metrics })
})
const counted = async () =>
  (await metrics.unknownSteps.get()).values.map(({ labels, value }) => [labels.kind, labels.name, value])
const logged = () => collected.lines().map(({ level, reason, name }) => [level, reason, name])

/** As the specification names them. */
const KNOWN = {
  statuses: [
    'SUCCESS',
    'LOCKED_OUT',
    'UNAUTHENTICATED',
    'PASSWORD_EXPIRED',
    'PASSWORD_WARN',
    'PASSWORD_RESET',
    'MFA_REQUIRED',
    'MFA_CHALLENGE',
    'MFA_ENROLL',
    'MFA_ENROLL_ACTIVATE',
    'RECOVERY',
    'RECOVERY_CHALLENGE',
  ],
  links: [
    'next',
    'prev',
    'cancel',
    'skip',
    'resend',
    'enroll',
    'verify',
    'questions',
    'send',
    'qrcode',
    'activate',
    'logo',
    'poll',
    'script',
    'complete',
    'self',
  ],
}

test('what the specification names is not counted, nor an empty status or one that is no text', async () => {
  const factors = FACTOR_TYPE_NAMES.map((factorType) => ({ factorType }))
  for (const status of [...KNOWN.statuses, '', undefined, 7])
    report({ status, _embedded: { factors: [...factors, { factorType: 7 }] } }, KNOWN.links, 'request-1')
  expect([await counted(), logged()]).toEqual([[], []])
})

test('each unknown name is counted every time, and logged once', async () => {
  const factors = [{ factorType: 'token:mind' }]
  for (const _again of [1, 2]) report({ status: 'ODD', _embedded: { factors } }, ['ODD', 'bend'], 'request-1')
  expect(await counted()).toEqual([
    ['status', 'ODD', 2],
    ['factor', 'token:mind', 2],
    ['link', 'ODD', 2],
    ['link', 'bend', 2],
  ])
  expect(logged()).toEqual([
    ['warn', 'status', 'ODD'],
    ['warn', 'factor', 'token:mind'],
    ['warn', 'link', 'ODD'],
    ['warn', 'link', 'bend'],
  ])
  expect(collected.lines()[0]).toMatchObject({ event: 'unknown_step', requestId: 'request-1' })
})

test('fifty names have their own counter; further names are counted together and not logged', async () => {
  const names = Array.from({ length: 70 }, (_, at) => `odd-${at}`)
  report({}, [...names, 'odd-0'], 'request-1')
  const values = await counted()
  expect(values).toHaveLength(51)
  expect(values).toEqual(
    expect.arrayContaining([
      ['link', 'other', 20],
      ['link', 'odd-0', 2],
      ['link', 'odd-49', 1],
    ]),
  )
  expect(logged()).toHaveLength(50)
})

// shows: V16.4.1
test('a name that could break a log line or a metric is not written', async () => {
  report({}, ['X"}\n injected 1', `x${'y'.repeat(64)}`, 'a b', 'é', 'x'.repeat(64)], 'request-1')
  expect(await counted()).toEqual([
    ['link', 'unprintable', 4],
    ['link', 'x'.repeat(64), 1],
  ])
  expect(collected.text()).not.toContain('injected')
})
