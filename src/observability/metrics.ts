import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'

/** Everything that is counted. Labels come from closed lists or are bounded: no user, token, address or path is one. */
const METRICS = {
  ready: gauge('ready', '1 while this replica should be sent requests, as /readyz says'),
  httpRequests: histogram('http_request_seconds', 'Requests by route template and status', [
    'method',
    'route',
    'status',
  ]),
  requestsUnderWay: gauge('requests_under_way', 'Requests under way, by kind', ['kind']),
  shedRequests: counter('shed_requests_total', 'Requests refused because of too much load', [
    'kind',
    'reason',
  ]),
  upstreamCalls: histogram('upstream_call_seconds', 'Calls to an upstream by status or kind of failure', [
    'upstream',
    'outcome',
  ]),
  upstreamBreakerOpen: gauge('upstream_breaker_open', '1 while calls to the upstream are held back', [
    'upstream',
  ]),
  upstreamTokenRefused: gauge('upstream_token_refused', '1 while the upstream refuses the SSWS token'),
  upstreamTokenStandby: gauge(
    'upstream_token_standby',
    '1 while the upstream accepts another SSWS token than the first one',
  ),
  storeFailures: counter(
    'store_failures_total',
    'Store operations that ended in 503: refused, unreachable or too slow',
  ),
  signInSteps: counter('sign_in_steps_total', 'Steps by operation and the status they led to', [
    'operation',
    'status',
  ]),
  sessionsOpened: counter('sessions_opened_total', 'Sessions opened'),
  sessionsEnded: counter('sessions_ended_total', 'Sessions ended, by reason', ['reason']),
  forwardAuth: counter('forward_auth_total', 'Responses to the sub-requests of proxies', ['result']),
  refusals: counter('refusals_total', 'Requests refused before anything was sent upstream', ['reason']),
  tokensCut: counter('tokens_cut_total', 'Upstream tokens removed from responses; any `guard` is an alarm', [
    'by',
  ]),
  unknownSteps: counter(
    'unknown_steps_total',
    'Statuses, factor types and links that the broker does not know',
    ['kind', 'name'],
  ),
  sharedAnswers: counter('shared_answers_total', 'Identical steps in flight that shared one upstream call', [
    'scope',
  ]),
  unreadableRecords: counter('unreadable_records_total', 'Stored records that could not be read', ['kind']),
  limitHits: counter('limit_hits_total', 'Attempts refused by a limit', ['limit']),
  authnGateWaits: counter('authn_gate_waits_total', "Calls held back by the sign-in API's rate limit", [
    'outcome',
  ]),
  authnLimitRemaining: gauge(
    'authn_limit_remaining',
    "Requests left in the rate limit, as the sign-in API's last response said",
  ),
  pamTokens: counter('pam_tokens_total', 'PAM tokens by where they came from or how the mint ended', [
    'outcome',
  ]),
  pamKeyExpiresAt: gauge('pam_key_expires_at_seconds', 'When the PAM API key itself expires (unix time)'),
  pamCache: counter(
    'pam_cache_total',
    'PAM lists served: fresh, stale, slow and error (stale, the refresh took too long or failed), miss',
    ['list', 'outcome'],
  ),
  pamPages: counter('pam_pages_total', 'Pages fetched', ['list']),
  pamGateWaits: counter('pam_gate_waits_total', 'Calls held back by the PAM rate limit', ['outcome']),
  pamErrors: counter('pam_errors_total', 'PAM errors by name', ['name']),
}

export type Metrics = { readonly registry: Registry } & {
  readonly [Name in keyof typeof METRICS]: ReturnType<(typeof METRICS)[Name]>
}

export function createMetrics({ processMetrics = true }: { processMetrics?: boolean } = {}): Metrics {
  const registry = new Registry()
  if (processMetrics) collectDefaultMetrics({ register: registry, prefix: PREFIX })
  // one metric for each row, as the type says
  const metrics = Object.entries(METRICS).map(([name, create]) => [name, create([registry])])
  return { registry, ...Object.fromEntries(metrics) }
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

function histogram<Label extends string>(name: string, help: string, labelNames: readonly Label[]) {
  return (registers: Registry[]) =>
    new Histogram({ name: PREFIX + name, help, labelNames, registers, buckets: SECONDS })
}
