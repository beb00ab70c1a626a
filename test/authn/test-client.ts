import type { Client } from '../../src/authn/browser/client.ts'

/** A client that returned its device cookie, without any optional header. */
export const CLIENT: Client = {
  requestId: 'request-1',
  address: '198.51.100.7',
  device: { id: 'd'.repeat(32), returned: true },
  userAgent: '',
  acceptLanguage: '',
  fingerprint: undefined,
  origin: undefined,
  sessionId: undefined,
  evidence: { cookie: undefined, skipped: undefined },
}
