import { PUBLIC_URL_FAULTS } from './all-faults.ts'
import { testPortalFaults } from './use-portal.ts'

testPortalFaults(PUBLIC_URL_FAULTS)
