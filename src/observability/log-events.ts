import type { LogEventDescription } from './log-event-description.ts'
import { ERROR_EVENTS } from './log-events-error.ts'
import { WARN_EVENTS } from './log-events-warn.ts'

export type LogLevel = 'error' | 'warn' | 'info' | 'debug'

/**
 * Every log event by level, audit events excepted (`audit-events.ts`). The logger accepts no other event. The table of
 * the log events in the documentation is generated from these texts.
 */
export const LOG_EVENTS = {
  error: ERROR_EVENTS,
  warn: WARN_EVENTS,

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
} as const satisfies Readonly<Record<LogLevel, Readonly<Record<string, LogEventDescription>>>>

export type LogEvent<Level extends LogLevel> = keyof (typeof LOG_EVENTS)[Level]
