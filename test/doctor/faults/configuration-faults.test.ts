import { expect, test } from '@jest/globals'
import type { CheckResult } from '../../../src/doctor/check.ts'
import { problemsOf } from '../../config/valid-environment.ts'
import { CONFIGURATION_FAULTS } from './all-faults.ts'
import { testFaults } from './fault.ts'

/** `--doctor` prints these problems, and ends. Each says itself what to do. */
async function diagnose(variables: Readonly<Record<string, string | undefined>>): Promise<CheckResult[]> {
  const problems = problemsOf(variables).join('; ')
  return problems === '' ? [] : [{ name: 'configuration', status: 'fail', detail: problems, fix: problems }]
}

test('without a fault, there are no problems', async () => {
  expect(await diagnose({})).toEqual([])
})

testFaults(CONFIGURATION_FAULTS, diagnose, () => [])
