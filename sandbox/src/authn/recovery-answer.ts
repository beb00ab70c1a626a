import { accountLocked, wrongRecoveryAnswer } from './authn-error.ts'
import { answersMatch } from './factors/question-factor.ts'
import type { Org } from './org.ts'
import type { User } from './user.ts'

/**
 * @throws E0000087 for a wrong answer; E0000119 for the last one that is allowed, which locks the
 * user out (R8)
 */
export function checkRecoveryAnswer(org: Org, user: User, answer: string): void {
  if (answersMatch(answer, user.config.recoveryQuestion?.answer)) {
    user.wrongRecoveryAnswers = 0
    return
  }
  user.wrongRecoveryAnswers += 1
  if (user.wrongRecoveryAnswers < org.config.limits.wrongRecoveryAnswers) throw wrongRecoveryAnswer()
  user.wrongRecoveryAnswers = 0
  user.lockedOut = true
  for (const transaction of org.transactions.all())
    if (transaction.user === user && transaction.recoveryType !== undefined) org.transactions.end(transaction)
  org.recoveries.endWhere((recovery) => recovery.user === user)
  void org.sendEvent('user.account.lock', user)
  throw accountLocked()
}
