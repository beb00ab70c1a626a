import { PROXY_FAULTS } from './all-faults.ts'
import { testPortalFaults } from './use-portal.ts'

testPortalFaults(PROXY_FAULTS)
