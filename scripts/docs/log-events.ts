import type { LogEvent, LogLevel } from '../../src/observability/log-events.ts'

export interface LogEventText {
  readonly meaning: string
  /** For an operator; omitted if none is needed. */
  readonly action?: string
}

/** Every log event; those of audit lines are in scripts/docs/audit.ts. An event with two levels has two texts. */
export const LOG_EVENT_TEXTS: {
  readonly [Level in LogLevel]: Readonly<Record<LogEvent<Level>, LogEventText>>
} = {
  error: {
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
  },

  warn: {
    dependency_failed: {
      meaning: 'A request failed with 502, 503 or 504 because a dependency failed: see `outcome` and `code`.',
      action: 'Alert on the metrics, not on this event.',
    },
    overloaded: {
      meaning: 'A request was refused with 503 by load shedding.',
      action: 'Add replicas if the CPU is busy; otherwise find the slow dependency.',
    },
    step_in_progress: {
      meaning: 'A step was refused with 503 because it waited too long for other steps of its transaction.',
    },
    untrusted_forwarded_for: {
      meaning: 'A request with `X-Forwarded-For` did not come from a trusted proxy. Logged once per process.',
      action:
        'If `address` is your proxy, add it to `TRUST_PROXY`. Until then, all users share the limits of its address.',
    },
    invalid_forwarded_for: {
      meaning:
        'A proxy in `TRUST_PROXY` sent a request whose `X-Forwarded-For` is missing or malformed (`reason`). It was refused with 400.',
      action: 'Configure the proxy to send the header. Send its health checks to the ops listener.',
    },
    origin_not_allowed: {
      meaning: 'A page on an origin that is neither `PUBLIC_URL` nor in `ALLOWED_ORIGINS` called the broker.',
      action: 'If it is your page, add its origin to `ALLOWED_ORIGINS`.',
    },
    no_visible_factors: {
      meaning: 'A user has only factors that `HIDDEN_FACTORS` hides, and cannot continue.',
      action: 'Ask the user to enroll another factor, or change `HIDDEN_FACTORS`.',
    },
    step_up_user_mismatch: { meaning: 'A step-up was refused: the open session belongs to another user.' },
    token_user_mismatch: {
      meaning: 'An activation or recovery token was refused: the open session belongs to another user.',
    },
    unknown_step: {
      meaning: 'Okta sent an unknown status, factor type or link. It was passed on to the page.',
      action: 'Check that the sign-in page supports it.',
    },
    recovery_lifetime_lowered: {
      meaning:
        'Okta’s recovery challenges expire sooner than `recovery.challengeMinutes`. The shorter time is used from now on.',
      action: 'Lower `recovery.challengeMinutes`.',
    },
    attempt_refund_failed: {
      meaning: 'An attempt could not be refunded. It stays counted until its window ends.',
      action: 'If frequent, check Redis.',
    },
    known_device_not_stored: {
      meaning:
        'A user signed in, but the device could not be stored as known, or in the list of the user’s devices. The next sign-in stores it.',
      action: 'If frequent, check Redis.',
    },
    step_lock_release_failed: {
      meaning: 'The step lock of a failed step could not be released. It expires within seconds.',
      action: 'If frequent, check Redis.',
    },
    step_rollback_failed: {
      meaning: 'The writes of a failed commit could not be deleted. They expire.',
      action: 'If frequent, check Redis.',
    },
    unreadable_record: {
      meaning: 'A stored record could not be read and is treated as expired; `name` is its kind.',
      action: 'After a change of `SECRET_KEYS`, put the old key back, after the new one.',
    },
    upstream_token_accepted_again: { meaning: 'Okta accepts an API token again.' },
    authn_pipeline_changed: {
      meaning: 'The org was moved to another pipeline; `name` is the new one.',
      action: '[The org’s pipeline changed](#the-orgs-pipeline-changed).',
    },
    authn_pipeline_unknown: {
      meaning:
        '`/.well-known/okta-organization` of the org could not be read; `outcome` says how. The broker retries every minute, or every five minutes if the pipeline was known. Sign-ins are not affected.',
      action: 'If it lasts, check `AUTHN_BASE_URL`.',
    },
    upstream_token_switched: {
      meaning: 'Okta accepted a different API token than before; `name` is `first` or `standby`.',
      action: 'If it is the standby token, replace the first one.',
    },
    upstream_breaker: { meaning: 'The circuit breaker of an upstream has opened or closed (`state`).' },
    upstream_concurrency_lowered: {
      meaning:
        'Okta refused calls because the org has too many at once. They are sent again; this replica has at most `count` in flight, and more again while Okta responds.',
      action:
        'If frequent, lower `upstream.authn.maxConnections` ([the limits of the org](scale.md#the-limits-of-the-org)).',
    },
    readiness_check_failed: {
      meaning: 'A required check of `/readyz` started to fail, or now fails for another reason.',
      action: 'Check that Redis is reachable, not full, and accepts the user and password.',
    },
    store_disconnected: {
      meaning: 'The connection to Redis was lost; `reason` is the code.',
      action: 'If it lasts, check Redis.',
    },
    store_reconnecting: { meaning: 'One attempt to reconnect to Redis failed; `reason` is the code.' },
    store_url_unusable: {
      meaning: 'The changed `REDIS_URL` does not work yet (`reason`). The old connection stays in use.',
      action: 'Correct the file; a replica that starts with it does not become ready.',
    },
    pam_token_refresh_failed: {
      meaning:
        'The PAM token could not be refreshed ahead of time. The old one stays in use; the broker retries every 15 s.',
      action: 'If it lasts, see `pam_call_failed`.',
    },
    pam_key_expiry_unknown: {
      meaning:
        'PAM does not show when the key expires, and `PAM_KEY_EXPIRES_AT` is not set; `name` is the error.',
      action: 'Set `PAM_KEY_EXPIRES_AT`, or let the service user list its keys.',
    },
    pam_attributes_unavailable: {
      meaning:
        'The attributes of a group could not be read from PAM; `name` is the error. Responses are sent without them. Logged once an hour for each error.',
      action: 'If `name` is `forbidden_error`, give the service user a role that may list attributes.',
    },
    pam_key_expires_soon: {
      meaning: 'The PAM key expires in under two weeks; `count` is the number of days. Logged daily.',
      action: 'Create a new key.',
    },
    pam_call_failed: { meaning: 'A PAM call failed; `name` is the error. Cached lists may be served.' },
    signal_ignored: {
      meaning: 'The process received SIGUSR1, which would make Node open a debugger. It was ignored.',
      action: 'Find out who can send signals to the process.',
    },
    library_output: {
      meaning: 'A library printed a message. The text is not logged because it may contain sensitive values.',
      action: 'If `error` names `_readyCheck`, allow the Redis user to run INFO; otherwise report it.',
    },
    process_warning: {
      meaning: 'Node printed a warning. The text is not logged because it may contain sensitive values.',
      action: 'Report it.',
    },
  },

  info: {
    request: {
      meaning: 'One request, logged once it has been answered or its client has disconnected (`status` 499).',
    },
    upstream_error: { meaning: 'Okta answered a step with an error; `upstreamErrorId` is Okta’s id for it.' },
    recovery_refused: {
      meaning: 'Okta refused to start a recovery. The client got the same response as for a known user.',
    },
    authn_pipeline: {
      meaning:
        'The pipeline of the org, when it is known after the start; `name` is `v1` (Classic Engine) or `idx` (Identity Engine).',
      action: 'If it is `idx`, read [what differs](identity-engine.md).',
    },
    configured: { meaning: 'The configuration at start, without secrets and addresses.' },
    listening: { meaning: 'A listener is open; `name` is `public` or `ops`.' },
    stopping: { meaning: 'The process received a signal and is shutting down.' },
    stopped: { meaning: 'The process has shut down.' },
    readiness_check_passed: { meaning: 'A required check of `/readyz` passes again.' },
    store_connected: { meaning: 'The connection to Redis is ready.' },
    store_url_changed: { meaning: 'The broker uses the changed `REDIS_URL`.' },
    secret_reloaded: { meaning: 'The new value of a secret file is in use; `name` is the variable.' },
    upstream_token_verified: {
      meaning:
        'Okta accepted an API token for the first time since a change; `name` is `first` or `standby`.',
    },
    pam_token_minted: { meaning: 'PAM issued a token; it expires in `lifetimeMs`.' },
  },

  debug: {
    pam_error: { meaning: 'PAM answered one attempt with an error; `name` is the error.' },
  },
}
