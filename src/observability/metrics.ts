import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'

/**
 * Every metric of the broker. Label values come from closed lists or are limited in number; none is
 * a user, token, address or path.
 */
const METRICS = {
  buildInfo: gauge('build_info', 'Always 1; the labels name the running build', ['version', 'revision']),
  ready: gauge('ready', '1 if this replica should receive requests, as in /readyz'),
  httpRequestDuration: histogram(
    'http_request_duration_seconds',
    'Duration of requests on the public listener, by route template and status',
    ['method', 'route', 'status'],
  ),
  httpRequestsInFlight: gauge('http_requests_in_flight', 'Requests in flight'),
  requestsShed: counter('requests_shed_total', 'Requests refused by load shedding', ['reason']),
  upstreamRequestDuration: histogram(
    'upstream_request_duration_seconds',
    'Duration of upstream requests, by response status or kind of failure',
    ['upstream', 'outcome'],
  ),
  upstreamResponses: counter('upstream_responses_total', 'Upstream responses, by status', [
    'upstream',
    'status',
  ]),
  upstreamBreakerOpen: gauge('upstream_breaker_open', '1 while the circuit breaker of the upstream is open', [
    'upstream',
  ]),
  upstreamTokenRefused: gauge('upstream_token_refused', '1 while Okta refuses the API token'),
  storeFailures: counter(
    'store_failures_total',
    'Store operations that failed: Redis refused them, was unreachable or too slow',
  ),
  storeFailing: gauge('store_failing', '1 while the check of Redis fails, as `store` in /readyz'),
  storeCommandDuration: histogram(
    'store_command_duration_seconds',
    'Duration of commands to Redis, failed ones included, by group: read, write, script, scan',
    ['group'],
    [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5],
  ),
  clockOffset: gauge(
    'clock_offset_seconds',
    'How far the clock of this replica is ahead of the one of Redis (`store`) or of an upstream’s last `Date`',
    ['source'],
  ),
  signInSteps: counter('sign_in_steps_total', 'Sign-in steps, by operation and resulting status or error', [
    'operation',
    'status',
  ]),
  recoveriesRefused: counter(
    'recoveries_refused_total',
    'Recoveries that Okta refused to start, by error code; the client is not told',
    ['code'],
  ),
  sessionChecks: counter(
    'session_checks_total',
    'Session cookies that were checked, by result: session, no_session',
    ['result'],
  ),
  sessionsOpened: counter('sessions_opened_total', 'Sessions opened'),
  sessionsEnded: counter('sessions_ended_total', 'Sessions ended, by reason', ['reason']),
  sessionsBound: counter('sessions_bound_total', 'Sessions bound to a key of their browser'),
  sessionsExtended: counter(
    'sessions_extended_total',
    'Sessions extended, a session in use once a minute, by whether they are bound to a key',
    ['bound'],
  ),
  boundSessionRefusals: counter(
    'bound_session_refusals_total',
    'Requests refused because the bound cookie or the proof of the key was missing or wrong, by reason',
    ['reason'],
  ),
  orgEvents: counter(
    'org_events_total',
    'Events of the org, by result; one event can concern several users',
    ['result'],
  ),
  sessionRechecks: counter('session_rechecks_total', 'Users of open sessions looked up at Okta, by result', [
    'result',
  ]),
  forwardAuthRequests: counter('forward_auth_requests_total', 'Requests to /forward-auth, by result', [
    'result',
  ]),
  handOvers: counter('hand_overs_total', 'Hand-overs to applications on other hosts, by result', ['result']),
  appLookups: counter('app_lookups_total', 'Look-ups of backends, by the name of their token and by status', [
    'name',
    'status',
  ]),
  requestsRefused: counter('requests_refused_total', 'Requests refused by a rule of the broker, by reason', [
    'reason',
  ]),
  tokenLeaksBlocked: counter(
    'token_leaks_blocked_total',
    'Upstream tokens removed from responses, by where they were found',
    ['found_in'],
  ),
  unknownSteps: counter(
    'unknown_steps_total',
    'Statuses, factor types and links from Okta that the broker does not know',
    ['kind', 'name'],
  ),
  coalescedRequests: counter(
    'coalesced_requests_total',
    'Requests that shared the upstream call of an identical request in flight',
    ['scope'],
  ),
  logEvents: counter('log_events_total', 'Log events except request, by level (or audit) and name', [
    'level',
    'event',
  ]),
  logLinesLost: counter('log_lines_lost_total', 'Log lines that standard output did not take'),
  unreadableRecords: counter('unreadable_records_total', 'Stored records that could not be read', ['kind']),
  limitHits: counter('limit_hits_total', 'Attempts refused by a limit', ['limit']),
  rateLimitHolds: counter(
    'rate_limit_holds_total',
    'Calls to PAM that the rate limit held, by what happened to them',
    ['upstream', 'outcome'],
  ),
  pamTokens: counter('pam_tokens_total', 'PAM tokens obtained, refused or discarded, by outcome', [
    'outcome',
  ]),
  pamKeyExpiry: gauge('pam_key_expiry_timestamp_seconds', 'When the PAM API key expires, as a Unix time'),
  pamCacheRequests: counter(
    'pam_cache_requests_total',
    'PAM lists served, by outcome: fresh, stale, stale_on_timeout, stale_on_error, miss',
    ['list', 'outcome'],
  ),
  pamPagesFetched: counter('pam_pages_fetched_total', 'Pages of PAM lists fetched', ['list']),
  pamErrors: counter('pam_errors_total', 'PAM errors, by name', ['name']),
}

export type Metrics = { readonly registry: Registry } & {
  readonly [Name in keyof typeof METRICS]: ReturnType<(typeof METRICS)[Name]>
}

export function createMetrics(): Metrics {
  const registry = new Registry()
  const created = Object.entries(METRICS).map(([name, create]) => [name, create([registry])])
  return { registry, ...Object.fromEntries(created) }
}

/**
 * Adds `process_…` and `nodejs_…`, under their standard names. They watch the process until it
 * ends, so this is for the program itself.
 */
export function collectProcessMetrics({ registry }: Pick<Metrics, 'registry'>): void {
  collectDefaultMetrics({ register: registry })
}

const PREFIX = 'gatehouse_'
const SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]

function counter<Label extends string = never>(
  name: string,
  help: string,
  labelNames: readonly Label[] = [],
) {
  return (registers: Registry[]) => new Counter({ name: PREFIX + name, help, labelNames, registers })
}

function gauge<Label extends string = never>(name: string, help: string, labelNames: readonly Label[] = []) {
  return (registers: Registry[]) => new Gauge({ name: PREFIX + name, help, labelNames, registers })
}

function histogram<Label extends string>(
  name: string,
  help: string,
  labelNames: readonly Label[],
  buckets?: number[],
) {
  return (registers: Registry[]) =>
    new Histogram({ name: PREFIX + name, help, labelNames, registers, buckets: buckets ?? SECONDS })
}
