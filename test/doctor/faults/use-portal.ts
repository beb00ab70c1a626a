import { afterAll, beforeAll } from '@jest/globals'
import type { CheckResult } from '../../../src/doctor/check.ts'
import { type FaultGroups, testFaults } from './fault.ts'
import { type Portal, type PortalCause, startPortal } from './portal.ts'

/** A portal for the tests of a file, with what the doctor says of it without a fault. */
export function usePortal() {
  const started: { portal?: Portal; healthy?: CheckResult[]; log?: string } = {}
  beforeAll(async () => {
    started.portal = await startPortal()
    started.healthy = await started.portal.diagnose()
    started.log = started.portal.gatehouse.logText()
  })
  afterAll(() => started.portal?.stop())

  return () => {
    const { portal, healthy, log } = started
    if (portal === undefined || healthy === undefined || log === undefined)
      throw new Error('the portal starts before the first test')
    return { portal, healthy, log }
  }
}

/** One test for each fault around a portal. */
export function testPortalFaults(groups: FaultGroups<PortalCause>, around = usePortal()): void {
  testFaults(
    groups,
    (cause) => around().portal.diagnose(cause),
    () => around().healthy,
  )
}
