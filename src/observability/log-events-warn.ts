import type { LogEventDescription } from './log-event-description.ts'

/** The broker recovers without an operator, or a request was refused. */
export const WARN_EVENTS = {
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
} as const satisfies Readonly<Record<string, LogEventDescription>>
