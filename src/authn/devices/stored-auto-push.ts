import type { Client } from '../browser/client.ts'
import type { AnsweredUser } from '../transaction/answer.ts'
import type { Transaction } from '../transaction/transaction.ts'
import { type AuthnReply, record } from '../upstream/read-answer.ts'
import type { UserDevices } from './user-devices.ts'

/**
 * Shows the user's `autoPush` choice in an answer. Okta keeps it in a cookie of its own origin, which a trusted application does not
 * have, so Okta's answers always say false.
 */
export async function showStoredAutoPush(
  reply: AuthnReply,
  { autoPush }: Transaction,
  user: AnsweredUser | undefined,
  { device }: Client,
  devices: Pick<UserDevices, 'hasAutoPush'>,
): Promise<{ readonly reply: AuthnReply; readonly stored: boolean | undefined }> {
  const embedded = record(reply.body._embedded)
  const policy = record(embedded.policy)
  const factors = Object.entries(record(policy.factorsPolicyInfo))
  const isDisabled = factors.some(([, info]) => record(info).autoPushEnabled === false)
  if (!isDisabled || user === undefined) return { reply, stored: autoPush?.stored }

  const stored = autoPush?.stored ?? (await devices.hasAutoPush(user.id, device.id))
  if (!stored) return { reply, stored }
  const factorsPolicyInfo = Object.fromEntries(
    factors.map(([id, info]) => [id, { ...record(info), autoPushEnabled: true }]),
  )
  const body = {
    ...reply.body,
    _embedded: { ...embedded, policy: { ...policy, factorsPolicyInfo } },
  }
  return { reply: { ...reply, body }, stored }
}
