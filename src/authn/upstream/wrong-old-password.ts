import type { AuthnReply } from './authn-reply.ts'
import { record } from './read-answer.ts'

const UPDATE_REFUSED = 'E0000014'
/** Okta writes the field's name first, `oldPassword: …`, or the same in words: `Old Password is not correct`. */
const NAMES_OLD_PASSWORD = /^\s*old ?password\b/i

/**
 * E0000014 stands for a wrong old password and for a new one that the policy refuses. Only the text of the causes tells
 * them apart.
 */
export function isWrongOldPassword({ errorCode, body }: Pick<AuthnReply, 'errorCode' | 'body'>): boolean {
  if (errorCode !== UPDATE_REFUSED) return false
  const causes = [body.errorCauses].flat().map((cause) => record(cause).errorSummary)
  return causes.some((summary) => typeof summary === 'string' && NAMES_OLD_PASSWORD.test(summary))
}
