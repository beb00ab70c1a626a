import type { LogEventDescription } from './log-event-description.ts'

/** An operator must act. */
export const ERROR_EVENTS = {
  upstream_token_refused: {
    meaning: 'Okta refuses every API token. Sign-in steps fail with 503; clients keep their transactions.',
    action: 'Put a valid token into `AUTHN_API_TOKEN_FILE`; the file is read again without a restart.',
  },
  token_leak_blocked: {
    meaning: 'A response from Okta contained an upstream token in an unexpected place. It was removed.',
    action: 'Report it with the request id: the format of Okta’s responses has probably changed.',
  },
  recovery_token_dropped: {
    meaning: 'Okta returned a recovery token although the request had only a user name. It was dropped.',
    action: 'Check the recovery settings of the org and the rights of the API token.',
  },
  user_mismatch: {
    meaning: 'Okta’s response names a different user than the transaction. No session was opened.',
    action: 'Report the error ids to Okta.',
  },
  too_many_steps: {
    meaning: 'A transaction offers more steps than `transaction.maxOfferedSteps`. The step fails with 502.',
    action: 'Raise `transaction.maxOfferedSteps`.',
  },
  session_revocation_failed: {
    meaning:
      'A user changed the password, and the user’s other sessions could not be ended. The broker retries for 15 minutes.',
    action: 'If the process ends first, call `DELETE /admin/users/{uid}/sessions` with this `userId`.',
  },
  session_revocation_abandoned: {
    meaning: 'The retries after `session_revocation_failed` have failed too.',
    action: 'Call `DELETE /admin/users/{uid}/sessions` with this `userId`.',
  },
  pam_key_refused: {
    meaning:
      'PAM refuses the key or does not allow it to get tokens. No replica tries it for `retryAfterSeconds`.',
    action: 'Create a new key and put it first in both files.',
  },
  pam_key_expired: {
    meaning: 'The PAM key has expired, as PAM or `PAM_KEY_EXPIRES_AT` says.',
    action: 'Create a new key.',
  },
  pam_new_token_refused: {
    meaning: 'PAM refuses a lookup with a token that it has just issued.',
    action: 'Check the roles of the service user.',
  },
  pam_token_unusable: {
    meaning:
      'PAM’s token response is invalid, or (`name` is `other_team`) its token is for a team other than `PAM_TEAM`.',
    action: 'Check `PAM_TEAM` and `PAM_TOKEN_PATH`.',
  },
  pam_response_invalid: {
    meaning: 'A group list from PAM could not be read. Cached lists are served while they are valid.',
    action: 'Report it: the API has probably changed.',
  },
  pam_user_status_unknown: {
    meaning: 'PAM gave a user a status other than ACTIVE, DISABLED and DELETED. The user gets no groups.',
    action: 'Look the user up in PAM, and report the status.',
  },
  pam_call_failed: {
    meaning: 'A PAM call failed with an error that a retry does not solve; `name` is the error.',
    action: 'Check the key, the roles of the service user, and whether the team is enabled.',
  },
  secret_reload_failed: {
    meaning: 'A secret file has changed, but its new value is invalid. The old value stays in use.',
    action: 'Correct the file.',
  },
  unexpected_error: {
    meaning: 'An unexpected error in the broker. The request fails with 500.',
    action: 'Report it with the `error` field.',
  },
  ops_error: {
    meaning: 'An unexpected error in the ops listener.',
    action: 'Report it with the `error` field.',
  },
  uncaught_exception: {
    meaning: 'An unexpected error in the broker. The process exits with 1.',
    action: 'Report it with the `error` field.',
  },
  unhandled_rejection: {
    meaning: 'An unexpected error in the broker. The process exits with 1.',
    action: 'Report it with the `error` field.',
  },
  listen_failed: {
    meaning: 'A listener (`name`) could not bind to its port, probably in use. The process exits with 1.',
    action: 'See `host`, `port` and the code in `error`.',
  },
  stop_failed: { meaning: 'The shutdown failed. The process exits with 1.', action: 'See `error`.' },
} as const satisfies Readonly<Record<string, LogEventDescription>>
