import type { LogEvent, LogLevel } from '../../src/observability/log-events.ts'

/**
 * Every log event; those of audit lines are in scripts/docs/audit.ts. An event with two levels has
 * two texts. After the arrow: what an operator does, if anything.
 */
export const LOG_EVENT_TEXTS: {
  readonly [Level in LogLevel]: Readonly<Record<LogEvent<Level>, string>>
} = {
  error: {
    upstream_token_refused:
      'Okta refuses the API token. Sign-in steps fail with 503; clients keep their transactions. → Set a valid token and restart the replicas, one after another.',
    token_leak_blocked:
      'A response from Okta contained an upstream token in an unexpected place. It was removed. → Report it with the request id: the format of Okta’s responses has probably changed.',
    recovery_token_dropped:
      'Okta returned a recovery token although the request had only a user name, and no API token. It was dropped. → Report the request id to Okta.',
    user_mismatch:
      'Okta’s response names a different user than the transaction. No session was opened. → Report the error ids to Okta.',
    too_many_steps:
      'A transaction offers more than 2,000 steps. The step fails with 502. → Find out why: no known sign-in offers so many.',
    session_revocation_failed:
      'A user changed the password, and the user’s other sessions could not be ended. The broker retries for 15 minutes. → If the process ends first, call `DELETE /admin/users/{uid}/sessions` with this `userId`.',
    session_revocation_abandoned:
      'The retries after `session_revocation_failed` have failed too. → Call `DELETE /admin/users/{uid}/sessions` with this `userId`.',
    pam_key_refused:
      'PAM refuses the key or does not allow it to get tokens. No replica tries it for `retryAfterSeconds`. → Create a new key of the same service user, and restart the replicas with it.',
    pam_new_token_refused:
      'PAM refuses a lookup with a token that it has just issued. → Check the roles of the service user.',
    pam_token_unusable:
      'PAM’s token response is invalid, or (`name` is `other_team`) its token is for a team other than `PAM_TEAM`. → Check `PAM_TEAM` and `PAM_TOKEN_PATH`.',
    pam_response_invalid:
      'A group list from PAM could not be read. Cached lists are served while they are valid. → Report it: the API has probably changed.',
    pam_call_failed:
      'A PAM call failed with an error that a retry does not solve; `name` is the error. → Check the key, the roles of the service user, and whether the team is enabled.',
    unexpected_error:
      'An unexpected error in the broker. The request fails with 500. → Report it with the `error` field.',
    ops_error: 'An unexpected error in the ops listener. → Report it with the `error` field.',
    uncaught_exception:
      'An unexpected error in the broker. The process exits with 1. → Report it with the `error` field.',
    unhandled_rejection:
      'An unexpected error in the broker. The process exits with 1. → Report it with the `error` field.',
    clock_disagrees:
      'The clock of this replica is more than 30 s ahead (`offsetMs`), or behind if negative, of that of Redis or of an upstream (`dependency`). Logged when it begins. → See [a clock is wrong](operations.md#a-clock-is-wrong).',
    listen_failed:
      'A listener (`name`) could not bind to its address or port, probably in use. The process exits with 1. → Change the variable in `variables`; see `host`, `port` and the code in `error`.',
    stop_failed: 'The shutdown failed. The process exits with 1. → See `error`.',
  },

  warn: {
    dependency_failed:
      'Requests failed with 502, 503 or 504 because a dependency failed: see `outcome` and `code`. One line for each cause in ten seconds; `count` is the number of its failures since its last line. → Alert on the metrics, not on this event.',
    overloaded:
      'A request was refused with 503 by load shedding. → Add replicas if the CPU is busy; otherwise find the slow dependency.',
    step_in_progress:
      'A step was refused with 503 because it waited too long for other steps of its transaction.',
    untrusted_forwarded_for:
      'A request with `X-Forwarded-For` did not come from a trusted proxy. Logged once per process. → If `address` is your proxy, add it to `TRUST_PROXY`. Until then, all users share the limits of its address.',
    invalid_forwarded_for:
      'A proxy in `TRUST_PROXY` sent a request whose `X-Forwarded-For` does not name its client (`reason`: `missing`; `empty`, the last entry, which the proxy added, is empty; `malformed`, an entry is not an address). It was refused with 400. → Configure the proxy to send the header. Send its health checks to the ops listener.',
    redirect_loop:
      'An application sent a browser with a session to the sign-in again and again (`origin`), and the browser got a page that says why. `reason`: `hand_over` (its proxy passes on no cookie or no `X-Forwarded-Host`, or a rule is missing in the URL), `other_host` (it uses `/signin` instead of `/forward-auth/start`) or `portal`. One line for each origin and reason in ten minutes. → [Find the missing setting](applications.md#a-loop).',
    forward_auth_rule_mistyped:
      'A rule of `/forward-auth` has an unknown parameter or a wrong value and therefore refuses everyone, or names a method (`amr`) or role that Gatehouse does not know and has refused a user. `reason` names the parameters. One line for each `reason` in ten minutes. → Correct the rule in the configuration of the proxy.',
    forward_auth_names_left_out:
      'The headers of `/forward-auth` that a location asks for with `rule`, its query, lack names of groups or roles. `reason`: `none_named` (`headers` asks for them, but no `group`, `role`, `showGroups` or `showRoles` names one, so the header is always empty) or `too_large` (for a user with many of those that are named; the rest was left out). One line for each rule and reason in ten minutes. → [Name those that the application needs](applications.md#groups-and-roles), and fewer if they are too large.',
    origin_not_allowed:
      'A page on an origin that is neither `PUBLIC_URL` nor in `ALLOWED_ORIGINS` called the broker. → If it is your page, add its origin to `ALLOWED_ORIGINS`.',
    step_up_user_mismatch: 'A step-up was refused: the open session belongs to another user.',
    token_user_mismatch:
      'An activation or recovery token was refused: the open session belongs to another user.',
    unknown_step:
      'Okta sent an unknown status, factor type or link. It was passed on to the page. → Check that the sign-in page supports it.',
    attempt_refund_failed:
      'An attempt could not be refunded. It stays counted until its window ends. → If frequent, check Redis.',
    known_device_not_stored:
      'A user signed in, but the device could not be stored as known. The next sign-in stores it. → If frequent, check Redis.',
    groups_not_cleared:
      'The sessions of a user have ended, but the user’s PAM groups could not be removed from the cache. They are served until they are old, at most 5 minutes. → If frequent, check Redis.',
    org_event_not_cleared:
      'An event of the org, or a re-check, made the sessions of a user void, but they, open transactions or known devices could not be deleted. They expire. → Call `DELETE /admin/users/{uid}/sessions` with this `userId`.',
    org_event_unreadable:
      'Of an event of the org whose type (`operation`) has an effect here, the parts in `reason` could not be read: `uuid`, `published` (the event then counts as published now), `target` (one of the users, or all), `login` (groups are not fetched again). The rest took effect. One line a minute for each type and parts; `count` is the number of events since the last one. → Find the event in Okta’s System Log, end the sessions of its user with `DELETE /admin/users/{uid}/sessions`, and report it.',
    recheck_failed:
      'Okta could not be asked about the user of an open session, or its answer (`upstreamStatus`) does not tell. No session ended. The check is repeated when a session of the user is next extended; while checks fail, 5 a minute. One line a minute for each status. → If it lasts, run the doctor: `authn.users`.',
    step_lock_release_failed:
      'The step lock of a failed step could not be released. It expires within seconds. → If frequent, check Redis.',
    step_rollback_failed:
      'What a failed step had written could not be undone. It expires. → If frequent, check Redis.',
    unreadable_record:
      'A stored record could not be read and is treated as expired; `name` is its kind. → After a change of `SECRET_KEYS`, put the old key back, after the new one.',
    upstream_token_accepted_again: 'Okta accepts the API token again.',
    upstream_breaker: 'The circuit breaker of an upstream has opened or closed (`state`).',
    store_check_failed:
      'The check of Redis started to fail, or now fails for another reason. → Check that Redis is reachable, not full, and accepts the user and password.',
    store_disconnected: 'The connection to Redis was lost; `reason` is the code. → If it lasts, check Redis.',
    store_reconnecting: 'One attempt to reconnect to Redis failed; `reason` is the code.',
    pam_token_refresh_failed:
      'The PAM token could not be refreshed ahead of time. The old one stays in use; the broker retries every 15 s. → If it lasts, see `pam_call_failed`.',
    pam_call_failed: 'A PAM call failed; `name` is the error. Cached lists may be served.',
    signal_ignored:
      'The process received SIGUSR1, which would make Node open a debugger. It was ignored. → Find out who can send signals to the process.',
    trace_export_failed:
      'The collector of `OTEL_EXPORTER_OTLP_ENDPOINT` did not take spans; they are lost. `count` is the number of failed exports since the last such line, of which there is one a minute at most. → Check the collector. Requests do not wait for it.',
    library_output:
      'A library printed a message. The text is not logged because it may contain sensitive values. → If `error` names `_readyCheck`, allow the Redis user to run INFO; otherwise report it.',
    process_warning:
      'Node printed a warning. The text is not logged because it may contain sensitive values. → Report it.',
  },

  info: {
    request: 'One request, logged once it has been answered or its client has disconnected (`status` 499).',
    upstream_error: 'Okta answered a step with an error; `upstreamErrorId` is Okta’s id for it.',
    recovery_refused: 'Okta refused to start a recovery. The client got the same response as for any user.',
    configured: 'The configuration at start, without secrets and addresses.',
    listening: 'A listener is open; `name` is `public` or `ops`.',
    stopping: 'The process received a signal and is shutting down.',
    stopped: 'The process has shut down.',
    store_check_passed: 'The check of Redis passes again.',
    clock_agrees: 'The clocks agree again.',
    store_connected: 'The connection to Redis is ready.',
    pam_token_minted: 'PAM issued a token; it expires in `lifetimeMs`.',
  },

  debug: {
    pam_error: 'PAM answered one attempt with an error; `name` is the error.',
  },
}
