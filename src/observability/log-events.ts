/**
 * Every log event by level, audit events excepted (`audit-events.ts`). The logger accepts no other
 * event. `scripts/docs/log-events.ts` describes them for `docs/logs.md`.
 */
interface LogEvents {
  /** An operator must act. */
  readonly error:
    | 'upstream_token_refused'
    | 'token_leak_blocked'
    | 'recovery_token_dropped'
    | 'user_mismatch'
    | 'too_many_steps'
    | 'session_revocation_failed'
    | 'session_revocation_abandoned'
    | 'pam_key_refused'
    | 'pam_new_token_refused'
    | 'pam_token_unusable'
    | 'pam_response_invalid'
    | 'pam_call_failed'
    | 'unexpected_error'
    | 'ops_error'
    | 'uncaught_exception'
    | 'unhandled_rejection'
    | 'clock_disagrees'
    | 'listen_failed'
    | 'stop_failed'
  /** The broker recovers without an operator, or a request was refused. */
  readonly warn:
    | 'dependency_failed'
    | 'overloaded'
    | 'step_in_progress'
    | 'untrusted_forwarded_for'
    | 'invalid_forwarded_for'
    | 'origin_not_allowed'
    | 'redirect_loop'
    | 'forward_auth_rule_mistyped'
    | 'forward_auth_names_left_out'
    | 'step_up_user_mismatch'
    | 'token_user_mismatch'
    | 'unknown_step'
    | 'attempt_refund_failed'
    | 'known_device_not_stored'
    | 'groups_not_cleared'
    | 'org_event_not_cleared'
    | 'org_event_unreadable'
    | 'recheck_failed'
    | 'step_lock_release_failed'
    | 'step_rollback_failed'
    | 'unreadable_record'
    | 'upstream_token_accepted_again'
    | 'upstream_breaker'
    | 'store_check_failed'
    | 'store_disconnected'
    | 'store_reconnecting'
    | 'pam_token_refresh_failed'
    | 'pam_call_failed'
    | 'signal_ignored'
    | 'trace_export_failed'
    | 'library_output'
    | 'process_warning'
  readonly info:
    | 'request'
    | 'upstream_error'
    | 'recovery_refused'
    | 'configured'
    | 'listening'
    | 'stopping'
    | 'stopped'
    | 'store_check_passed'
    | 'store_connected'
    | 'clock_agrees'
    | 'pam_token_minted'
  readonly debug: 'pam_error'
}

export type LogLevel = keyof LogEvents

export type LogEvent<Level extends LogLevel> = LogEvents[Level]
