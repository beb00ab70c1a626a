import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'

/** Everything that is counted. Labels come from closed lists or are bounded: no person, token or path among them. */
export type Metrics = ReturnType<typeof createMetrics>

export function createMetrics({ processMetrics = true }: { processMetrics?: boolean } = {}) {
  const registry = new Registry()
  if (processMetrics) collectDefaultMetrics({ register: registry, prefix: 'gatehouse_' })
  const registers = [registry]
  const counter = <Label extends string = never>(
    name: string,
    help: string,
    labelNames: readonly Label[] = [],
  ) => new Counter({ name: `gatehouse_${name}`, help, labelNames, registers })
  const gauge = <Label extends string = never>(
    name: string,
    help: string,
    labelNames: readonly Label[] = [],
  ) => new Gauge({ name: `gatehouse_${name}`, help, labelNames, registers })
  const histogram = <Label extends string>(name: string, help: string, labelNames: readonly Label[]) =>
    new Histogram({ name: `gatehouse_${name}`, help, labelNames, registers, buckets: SECONDS })

  return {
    registry,
    ready: gauge('ready', '1 while this replica should be sent requests, as /readyz says'),
    httpRequests: histogram('http_request_seconds', 'Requests by route template and status', [
      'method',
      'route',
      'status',
    ]),
    requestsUnderWay: gauge('requests_under_way', 'Requests under way, by kind', ['kind']),
    shedRequests: counter('shed_requests_total', 'Requests turned away because of too much load', [
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
    upstreamTokenRefused: gauge('upstream_token_refused', '1 while the upstream refuses our SSWS token'),
    upstreamTokenStandby: gauge(
      'upstream_token_standby',
      '1 while the upstream takes another SSWS token than the first one',
    ),
    storeFailures: counter(
      'store_failures_total',
      'Store operations that ended in 503: refused, out of reach, or too slow',
    ),
    signInSteps: counter('sign_in_steps_total', 'Steps by operation and the status they led to', [
      'operation',
      'status',
    ]),
    sessionsOpened: counter('sessions_opened_total', 'Sessions opened'),
    sessionsEnded: counter('sessions_ended_total', 'Sessions ended, by reason', ['reason']),
    forwardAuth: counter('forward_auth_total', 'Answers to proxies that ask who is signed in', ['result']),
    refusals: counter('refusals_total', 'Requests refused before anything was sent upstream', ['reason']),
    tokensCut: counter('tokens_cut_total', 'Upstream tokens cut out of answers; any `guard` is an alarm', [
      'by',
    ]),
    unknownSteps: counter('unknown_steps_total', 'Statuses, factor types and links we had not heard of', [
      'kind',
      'name',
    ]),
    sharedAnswers: counter('shared_answers_total', 'Equal steps in flight that shared one upstream call', [
      'scope',
    ]),
    unreadableRecords: counter('unreadable_records_total', 'Stored values that did not open', ['kind']),
    limitHits: counter('limit_hits_total', 'Attempts refused by a limit', ['limit']),
    authnGateWaits: counter('authn_gate_waits_total', "Calls held back by the sign-in API's rate limit", [
      'outcome',
    ]),
    authnLimitRemaining: gauge(
      'authn_limit_remaining',
      "What the sign-in API's last answer said is left of the rate limit",
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
}

const SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]
