import {
  callMadeRecently,
  emailSentRecently,
  SEND_LIMITS,
  type SendLimit,
  smsSentRecently,
} from './authn-error.ts'
import type { Org } from './org.ts'

export type Channel = (typeof SEND_LIMITS)[SendLimit]['channel']

/**
 * Call it before a message is sent.
 *
 * @param sentAtMs when the transaction sent its last message by this channel
 * @throws 429 if that was too recent; the error of the setting `sendLimit`
 */
export function enforceSendLimits(org: Org, channel: Channel, sentAtMs: number | undefined): void {
  const { sendLimit } = org.settings
  if (sendLimit !== null && SEND_LIMITS[sendLimit].channel === channel) throw SEND_LIMITS[sendLimit].error()
  const { resendSeconds, emailResendSeconds } = org.config.limits
  const pauseMs = 1000 * (channel === 'email' ? emailResendSeconds : resendSeconds)
  if (sentAtMs !== undefined && org.now() - sentAtMs < pauseMs) throw TOO_SOON[channel]()
}

const TOO_SOON = { sms: smsSentRecently, call: callMadeRecently, email: emailSentRecently }
