import type { Client } from '../../src/authn/browser/client.ts'

/** A browser that came back, of which nothing else is known. */
export const CLIENT: Client = {
  requestId: 'request-1',
  address: '198.51.100.7',
  device: { id: 'd'.repeat(32), returned: true },
  userAgent: '',
  acceptLanguage: '',
  fingerprint: undefined,
  sessionId: undefined,
}
