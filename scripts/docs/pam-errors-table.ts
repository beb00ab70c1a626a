import { PAM_ERROR_POLICIES } from '../../src/pam/upstream/pam-errors.ts'
import { markdownTable } from './markdown.ts'

/** All others are names of the PAM API. */
const MEANINGS: Readonly<Record<string, string>> = {
  too_many_requests: 'a name of the PAM API; retried if the rate limit ends within 2 s',
  unknown_user: '`resource_does_not_exist` for the user',
  unknown_team: '`resource_does_not_exist` for the team',
  page_gone: '`resource_does_not_exist` for a later page of a list',
  other_team: 'the token is for a team other than `PAM_TEAM`',
  no_answer: 'no complete response',
  held_back: 'not sent: the circuit breaker is open, or no connection was free',
  unreadable: 'the response cannot be used',
}

export function pamErrorsTable(): string {
  const rows = Object.entries(PAM_ERROR_POLICIES).map(([name, policy]) => {
    const { retries, renewsToken, stale, purges, status, code, retryAfterSeconds } = policy
    const retried = renewsToken ? 'once, with a new token' : (['no', 'once', 'twice'][retries] ?? '')
    const retryAfter = retryAfterSeconds === undefined ? '' : ', `Retry-After`'
    const cached = purges === 'nothing' ? (stale ? 'served' : 'not served') : 'deleted'
    return [`\`${name}\``, MEANINGS[name] ?? '', retried, cached, `${status} \`${code}\`${retryAfter}`]
  })
  return markdownTable(['error', 'meaning', 'retried', 'cached data', 'response'], rows)
}
