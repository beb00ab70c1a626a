import { createMetrics, type Metrics } from '../../src/observability/metrics.ts'
import { inCell, markdownTable } from './markdown.ts'

type MetricName = Exclude<keyof Metrics, 'registry'>

/** The values that an operator should watch for. */
const WATCH: Readonly<Record<MetricName, string>> = {
  buildInfo: 'replicas with different versions, except during an update',
  ready:
    '0 for more than two minutes: the replica has not reached Redis since its start. Later failures of Redis do not change it',
  httpRequestDuration:
    'the share of 5xx; the 99th percentile. 499: the client went away, or its browser could not renew the [bound cookie](device-bound-sessions.md)',
  httpRequestsInFlight: 'near `http.maxRequestsInFlight`',
  requestsShed:
    'any. `in_flight`: something is slow, or add replicas. `address`: one address exceeds its half. `connections`: `http.maxConnections` is reached. `upstream`: a call waited too long because `upstream.authn.maxConnections` were in flight',
  upstreamRequestDuration: 'the outcomes `timeout`, `connection_lost`, `unreachable` and 5xx',
  upstreamResponses: 'the share of 429: [Okta’s rate limit](operations.md#oktas-rate-limit-is-used-up)',
  upstreamBreakerOpen: '1 for more than a minute',
  upstreamTokenRefused: '**1: page someone**',
  storeFailures:
    'an increase that lasts for minutes. Every operation that ended in 503 is counted, including those of the check every 5 s. The loss of an idle connection is only logged (`store_disconnected`)',
  storeFailing: '1 for a minute: [Redis is unavailable](operations.md#redis-is-unavailable)',
  storeCommandDuration:
    'the 99th percentile of `read` and `write` above 50 ms: Redis is busy, swapping or far away, or the replica’s CPU is busy, as the wait for the event loop is included',
  clockOffset:
    'more than 30 s, in either direction: [the clock of a replica is wrong](operations.md#a-clock-is-wrong)',
  signInSteps:
    'a sharp rise of E0000004, E0000207 or E0000068: attackers guess passwords or codes; of `address_blocked`: [the org refuses an address](operations.md#okta-refuses-an-address); of E0000240 or E0000241: the agent of a directory does not answer',
  sessionChecks:
    'a sudden rise of the share of `no_session` while `session` falls: [everyone is signed out](operations.md#everyone-is-signed-out). Some are normal: browsers keep the cookie of an expired session. Requests without a session cookie are not counted',
  sessionsOpened: 'a drop to zero during working hours',
  sessionsEnded:
    '`evicted`: a script signs in repeatedly, or `session.maxPerUser` is too low; `rolled_back`: steps that finished too late or could not be committed',
  sessionsBound:
    'far fewer than sessions are opened by browsers that can bind them: a proxy drops the headers',
  sessionsExtended: '`60 * sum by (bound) (rate(…[5m]))`: how many sessions are in use, bound and not',
  boundSessionRefusals:
    '**`key_mismatch`: [cookies were stolen](device-bound-sessions.md#cookies-were-stolen)**; a rise of `cookie_…`: copied cookies, a proxy that drops the cookie, or `/bound-session` is not passed on; `proof_refused`; `too_many_refreshes`',
  orgEvents:
    '`applied` stays 0 although users are suspended in the org: the event hook is not active. `repeated`: Okta delivered an event twice; `ignored`: of another type, failed, or a user’s own recovery; **`unreadable`: [a user may keep a session](operations.md#an-event-of-the-org-cannot-be-read)**',
  sessionRechecks: '`failed`: run the doctor (`authn.users`)',
  handOvers:
    '`state_wrong`, `other_host`: [a code was used where it is not for](applications.md#applications-on-other-hosts); many `state_missing`: a proxy drops the cookies of `/forward-auth/start` (a few are normal: sign-ins of more than five minutes); `code_unknown`: a callback that is opened again',
  forwardAuthRequests: '`error`: the applications behind the proxy are unavailable too',
  appLookups: '`status` 429: a backend calls in a loop, or needs a second name',
  requestsRefused:
    '`cross_site` after a deployment: `ALLOWED_ORIGINS`; `step_up_user_mismatch`, `token_user_mismatch`: a planted sign-in, or a user who did not sign out; `session_device_mismatch`: copied cookies, or a proxy that drops cookies; `app_token`: a token that is not one of `APP_TOKENS`; `too_many_steps`: more than 2,000 steps in one transaction; `invalid_forwarded_for`: a proxy does not name the client; `event_hook_secret`: a wrong `EVENT_HOOK_SECRET`; `redirect_loop`: [the proxy of an application lacks a setting](applications.md#a-loop); a few `unknown_handle`, `not_offered` and `hidden_factor` are normal',
  tokenLeaksBlocked: 'any `body` or `recovery`. `link` is normal',
  recoveriesRefused:
    'a sharp rise: of E0000034, Okta’s policy no longer allows recovery ([Identity Engine](connect-your-okta-org.md#1-classic-engine-or-identity-engine)); of E0000006 or E0000017, somebody recovers social or federated users (R11), or the org refuses an address; of E0000146, E0000147 or E0000186, the org has used up its messages (R12)',
  unknownSteps: 'any: the sign-in page may not know the step',
  coalescedRequests: '`process`: within one replica; `replicas`: over several',
  logEvents: 'any: rates of one event, such as `error` by `event`',
  logLinesLost: 'any: [log lines are lost](operations.md#log-lines-are-lost)',
  unreadableRecords: 'a rise after a key was removed: it was removed too early',
  limitHits:
    'a sharp rise. `password_…`, `code_…`: an attacker guesses; `push_…`: an attacker has the password; `message_…`, `recovery_…`: an attacker sends messages; `token_address`: guessed tokens; `calls_…`: one user or address uses up the rate limit; any `…_known_device` or `…_known_user`: an attacker uses a known device. `app`: a backend makes too many calls; `app_address`, `ops_address`, `event_hook_address`: one address sends wrong tokens of `APP_TOKENS` or `OPS_TOKENS`, or a wrong `EVENT_HOOK_SECRET`. Further values: `step_up`, `recovery_sent`',
  rateLimitHolds: '`refused`: the caller got an error or older data; `waited`: the call was sent later',
  pamTokens: '`refused`, `failed`, `refresh_failed`',
  pamKeyExpiry: 'less than two weeks away; 0: unknown, or never',
  pamCacheRequests: '`stale_on_error` or `stale_on_timeout` for some minutes',
  pamPagesFetched: '',
  pamErrors: '`disabled_team`, `resource_deprecated`, `authorization_error`: an operator must act',
}

export function metricsTable(): string {
  const { registry, ...metrics } = createMetrics()
  const rows = Object.entries(WATCH).map(([name, watch]) => {
    const metric = Reflect.get(metrics, name)
    const labels = metric.labelNames.map((label: string) => `\`${label}\``).join(', ')
    const type = metric.constructor.name.toLowerCase()
    return [`\`${metric.name}\``, type, labels, inCell(metric.help), inCell(watch)]
  })
  return markdownTable(['metric', 'type', 'labels', 'meaning', 'watch for'], rows)
}
