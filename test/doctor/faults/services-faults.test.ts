import { afterAll, beforeAll, expect, test } from '@jest/globals'
import type { CheckResult } from '../../../src/doctor/check.ts'
import { SERVICES_FAULTS } from './all-faults.ts'
import { said, testFaults } from './fault.ts'
import { type Services, startServices } from './services.ts'

let services: Services
let healthy: CheckResult[] = []
beforeAll(async () => {
  services = await startServices()
  healthy = await services.diagnose()
})
afterAll(() => services.stop())

test('without a fault, all is well', () => {
  const around = healthy.filter(({ name }) => /^(redis|authn|pam)\./.test(name) && name !== 'redis.latency')
  const others = around.filter(({ status }) => status !== 'ok')
  expect(others.map((result) => `${result.name} ${said(result)}`)).toEqual([
    'authn.tls skipped: AUTHN_BASE_URL is http://, on this machine',
  ])
})

testFaults(
  SERVICES_FAULTS,
  (cause) => services.diagnose(cause),
  () => healthy,
)
