import { FEATURE_FAULTS } from './all-faults.ts'
import { testPortalFaults } from './use-portal.ts'

testPortalFaults(FEATURE_FAULTS)
