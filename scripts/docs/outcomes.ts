/** Outcomes of `dependency_failed`: examples of `code`, and what to check. */
export const OUTCOME_TEXTS: readonly (readonly [outcome: string, codes: string, check: string])[] = [
  [
    '`unreachable`',
    '`ECONNREFUSED`, `ENOTFOUND`, `UND_ERR_CONNECT_TIMEOUT`, `not connected`',
    'the address, DNS, the firewall, the egress proxy; whether Redis runs',
  ],
  [
    '`unreachable` (Redis)',
    '`rediss URL but port without TLS`, `redis URL but port with TLS`',
    'the scheme or the port in `REDIS_URL`',
  ],
  [
    '`unreachable`',
    '`DEPTH_ZERO_SELF_SIGNED_CERT`, `CERT_HAS_EXPIRED`, `ERR_TLS_CERT_ALTNAME_INVALID`',
    'the certificate of the server; `UPSTREAM_CA_FILE`, `REDIS_CA_FILE`',
  ],
  [
    '`refused` (Redis)',
    '`OOM`, `READONLY`, `WRONGPASS`, `NOPERM`, `LOADING`, `no such database`',
    'whether memory is full; whether `REDIS_URL` names a read-only replica; the password; [the rights](#redis); whether Redis is still starting; the database in `REDIS_URL`',
  ],
  ['`timeout`', '`TimeoutError`, `timeout`', 'a slow server, or packets dropped on the way'],
  [
    '`connection_lost`, `response_too_large`, `invalid_response`',
    '`ECONNRESET`, `UND_ERR_SOCKET`',
    'whether a proxy or load balancer responds instead of the API; `upstreamStatus`',
  ],
  ['`breaker_open`, `fail_fast`', '', 'nothing was sent; earlier log lines give the cause'],
  [
    '`pool_exhausted`',
    '',
    'a slow server; or too many calls at once: [`upstream.authn.maxConnections`](scale.md#the-limits-of-the-org). The call had no effect',
  ],
  ['`token_refused`', '', '[the API token](#okta-refuses-the-api-token)'],
  ['a name such as `disabled_team`, `too_many_requests` (PAM)', '', '[PAM fails](#pam-fails)'],
]
