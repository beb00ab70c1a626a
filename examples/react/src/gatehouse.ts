import { createGatehouse } from 'gatehouse-client'

/** One for the page: it knows the open session. */
export const gatehouse = createGatehouse()
