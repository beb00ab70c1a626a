import type { ClientContext } from './client-context.ts'
import { isSupported } from './identity-engine.ts'
import type { Org } from './org.ts'
import { contextMember, type PrimaryBody, parseBody } from './schemas.ts'

/** The body's deviceToken is read, and its length checked, only for a trusted app. */
export function withDeviceToken(
  org: Org,
  client: ClientContext,
  { context }: Pick<PrimaryBody, 'context'>,
): ClientContext {
  if (!client.trusted || !isSupported(org, 'deviceToken')) return client
  const deviceToken = parseBody(contextMember, { context }).context?.deviceToken
  return deviceToken ? { ...client, deviceToken } : client
}
