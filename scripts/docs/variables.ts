import type { VariableName } from '../../src/config/variables.ts'

interface VariableText {
  /** The table of docs/configuration.md, and the section of .env.example, that the variable is in. */
  readonly group: string
  /** One or two sentences, for both. */
  readonly summary: string
  /** More for docs/configuration.md. */
  readonly details?: string
  readonly default?: string
  /** For .env.example, where a test loads it, and for docs/configuration.md. */
  readonly example: string
  readonly refused: string
}

const AS_AUTHN_API_TOKEN = 'more than two values; spaces; characters that are not visible ASCII'
const PORT_REFUSED = 'anything but a port from 0 to 65535'
const HOST_REFUSED = 'anything but an IP address or a host name'

export const VARIABLE_TEXTS: Readonly<Record<VariableName, VariableText>> = {
  PUBLIC_URL: {
    group: 'Required',
    summary: 'The origin at which browsers reach the broker.',
    details: 'Cookies are `Secure` if its scheme is `https`.',
    example: 'https://portal.example.com',
    refused:
      'a path, query, fragment or user name; plain `http`, except for `localhost`, `127.0.0.1` and `[::1]`',
  },
  AUTHN_BASE_URL: {
    group: 'Required',
    summary: 'The origin of the Okta org.',
    example: 'https://your-org.example.net',
    refused: 'anything but an origin; plain `http`, except on loopback; `PUBLIC_URL` itself',
  },
  AUTHN_API_TOKEN: {
    group: 'Required',
    summary: "The org's API token (SSWS), or `current,standby`.",
    details:
      'The standby is tried when Okta refuses the current one. See [how to replace it](#api-token-and-pam-key).',
    example: 'replace-with-your-api-token',
    refused: `the scheme \`SSWS\` before the token; ${AS_AUTHN_API_TOKEN}`,
  },
  REDIS_URL: {
    group: 'Required',
    summary: 'The address of Redis. `memory:` is an embedded store for one process.',
    details: 'See [the forms of the URL](#redis).',
    example: 'redis://:replace-with-your-password@redis.example.internal:6379/0',
    refused:
      'other schemes; a missing host; a password with `@`, `/`, `?` or `#` that is not percent-encoded; a database other than 0 in a cluster; `memory:` with `NODE_ENV=production`',
  },
  SECRET_KEYS: {
    group: 'Required',
    summary:
      'Keys of 32 bytes in base64, comma-separated. The first key seals and signs; all keys open and verify.',
    details: '`node dist/main.js --new-key` prints a new key. Standard and URL-safe base64 are accepted.',
    example: 'replace-with-the-output-of---new-key',
    refused: 'a key of another length; the same key twice; a key that is one byte repeated',
  },

  PORT: {
    group: 'Listeners',
    summary: 'The port of the public listener.',
    details: 'With 0, the system chooses a free port.',
    default: '8080',
    example: '8080',
    refused: PORT_REFUSED,
  },
  HOST: {
    group: 'Listeners',
    summary: 'The address that the public listener binds to.',
    default: '0.0.0.0',
    example: '0.0.0.0',
    refused: HOST_REFUSED,
  },
  OPS_PORT: {
    group: 'Listeners',
    summary: 'The port of the ops listener (health, metrics, admin). Never publish it.',
    default: '9090',
    example: '9090',
    refused: `${PORT_REFUSED}; the value of \`PORT\``,
  },
  OPS_HOST: {
    group: 'Listeners',
    summary: 'The address that the ops listener binds to.',
    default: '127.0.0.1',
    example: '127.0.0.1',
    refused: HOST_REFUSED,
  },
  OPS_TOKEN: {
    group: 'Listeners',
    summary: 'The bearer token for the admin routes. Without it, they return 404.',
    example: 'replace-with-a-long-random-token',
    refused: 'fewer than 16 characters; spaces; characters that are not visible ASCII',
  },

  ALLOWED_ORIGINS: {
    group: 'Browsers and proxies',
    summary: 'Additional origins whose pages may call the broker. Each must be same-site with PUBLIC_URL.',
    details: 'The comparison is exact.',
    example: 'https://app.example.com,https://admin.example.com',
    refused:
      'anything but origins; wildcards; an origin that is not same-site with `PUBLIC_URL`, because browsers would not send the cookies: it must have the same scheme and the same registrable domain (public suffix list, private part included, so `a.github.io` and `b.github.io` are two sites)',
  },
  SIGN_IN_URL: {
    group: 'Browsers and proxies',
    summary: 'The URL of the sign-in page.',
    details: 'It may have a path, query and fragment.',
    default: '`PUBLIC_URL`',
    example: 'https://portal.example.com/login',
    refused:
      'a page that is neither on `PUBLIC_URL` nor on one of `ALLOWED_ORIGINS`; `stateToken` in the query',
  },
  TRUST_PROXY: {
    group: 'Browsers and proxies',
    summary: 'The reverse proxies in front of the broker, as addresses or CIDRs.',
    details:
      'Only their entries in `X-Forwarded-For` are used. A request from one of them without this header is refused (400).',
    example: '10.0.0.0/8',
    refused:
      '`*`, `true`, a number of hops, and CIDRs that cover every address, alone or together (`0.0.0.0/1,128.0.0.0/1`; `2000::/3`), because any client could then forge its address; IPv4-mapped IPv6 addresses (use the IPv4 form)',
  },

  AUTHN_LINK_ORIGINS: {
    group: 'Sign-in',
    summary: 'Additional origins of the same org that may appear in the links of its responses.',
    example: 'https://id.example.com',
    refused: 'the same as for `AUTHN_BASE_URL`',
  },
  AUTHN_FORWARD_ORIGIN: {
    group: 'Sign-in',
    summary: "Sends the page's `Origin` to Okta, if it is PUBLIC_URL or one of ALLOWED_ORIGINS: on or off.",
    details: 'Set it if [WebAuthn](connect-your-okta-org.md#5-webauthn) needs it.',
    default: 'off',
    example: 'off',
    refused: 'anything but `on` and `off`',
  },
  STEP_UP: {
    group: 'Sign-in',
    summary: 'Enables step-up started by a service provider: on or off.',
    details: 'Off by default because of [a remaining risk](security.md#remaining-risks).',
    default: 'off',
    example: 'off',
    refused: 'anything but `on` and `off`',
  },
  SSO_REDIRECTS: {
    group: 'Sign-in',
    summary: 'Allowed redirect targets after SSO: origin and path. If not set, there are no SSO tokens.',
    details: 'A path allows itself and every path below it.',
    example: 'https://your-org.example.net/app/,https://app.example.com/home',
    refused:
      'plain `http`, except on loopback; a query, fragment or user name; `.` and `..` segments and slashes in encoded form; wildcards',
  },
  LOGIN_DOMAINS: {
    group: 'Sign-in',
    summary:
      'Domains under which a short name and a full name are one user. If the org accepts both forms, set this; otherwise each form has its own limit.',
    details:
      'Without it, twice as many wrong passwords reach the org for one account, and the two forms have different values of `loginHash`. With several domains, users with the same local part in two of them share the limits with windows of up to a day; their known devices and failures in a row stay separate.',
    example: 'example.com',
    refused: 'an `@`; anything but a domain',
  },
  HIDDEN_FACTORS: {
    group: 'Sign-in',
    summary: 'Factor types that users are never offered, whatever the policies of the org say.',
    details:
      'This applies to verification and to enrollment. A user who has only such factors cannot sign in through the broker. See [decision 0009](decisions/0009-hidden-factors.md).',
    example: 'question',
    refused: 'anything but factor types as Okta spells them',
  },

  SESSION_IDLE_MINUTES: {
    group: 'Sessions',
    summary: 'A session ends after this time without use.',
    default: '30',
    example: '30',
    refused: 'anything but 1 to 1440; more than `SESSION_ABSOLUTE_HOURS`',
  },
  SESSION_ABSOLUTE_HOURS: {
    group: 'Sessions',
    summary: 'A session ends after this time, even if it is used.',
    default: '12',
    example: '12',
    refused: 'anything but 1 to 168',
  },
  SESSION_SAME_SITE: {
    group: 'Sessions',
    summary: 'The SameSite attribute of the session cookie: lax or strict.',
    default: 'lax',
    example: 'lax',
    refused: '`none`, because every site could then send the cookie',
  },

  PAM_BASE_URL: {
    group: 'Privileged access (PAM)',
    summary: 'The PAM API: its origin, and a path if it is served under one.',
    details: 'Pagination links must stay under this path. Without this variable, PAM is off.',
    example: 'https://your-team.pam.example.net',
    refused:
      'a query or fragment; a user name; dot segments, empty segments, encoded slashes and broken percent-encoding; plain `http`, except on loopback',
  },
  PAM_TEAM: {
    group: 'Privileged access (PAM)',
    summary: 'The PAM team. Required with PAM_BASE_URL.',
    details: 'Letter case is ignored.',
    example: 'your-team',
    refused:
      'anything but letters, digits and `.` `_` `~` `-`; a first character that is not a letter or digit',
  },
  PAM_KEY_ID: {
    group: 'Privileged access (PAM)',
    summary: "The id of the service user's key, or `current,standby`. Required with PAM_BASE_URL.",
    example: 'replace-with-your-key-id',
    refused: AS_AUTHN_API_TOKEN,
  },
  PAM_KEY_SECRET: {
    group: 'Privileged access (PAM)',
    summary: 'The secrets of these keys, in the same order. Required with PAM_BASE_URL.',
    example: 'replace-with-your-key-secret',
    refused: `a different number of values than \`PAM_KEY_ID\`; ${AS_AUTHN_API_TOKEN}`,
  },
  PAM_KEY_EXPIRES_AT: {
    group: 'Privileged access (PAM)',
    summary:
      'When the current key expires, for warnings. Only needed if PAM does not show it to the service user.',
    details:
      'PAM is asked after the first look-up, then once an hour. In the last two weeks before, a warning is logged once a day (`pam_key_expires_soon`). Afterwards, an error is logged at start and once a day (`pam_key_expired`).',
    example: '2030-01-31T00:00:00Z',
    refused: 'anything but an RFC 3339 date and time with an offset',
  },
  PAM_TOKEN_PATH: {
    group: 'Privileged access (PAM)',
    summary: 'The path that issues tokens, below PAM_BASE_URL.',
    default: '/v1/teams/{team_name}/service_token',
    example: '/v1/teams/{team_name}/service_token',
    refused:
      'a relative path; placeholders other than `{team_name}`; a query or fragment; dot segments, empty segments, encoded slashes',
  },
  PAM_USER_NAME: {
    group: 'Privileged access (PAM)',
    summary: 'How a login maps to a PAM user name: the whole login, or login-local-part (before the @).',
    default: 'login',
    example: 'login-local-part',
    refused: 'anything but `login` and `login-local-part`',
  },
  PAM_USER_DOMAINS: {
    group: 'Privileged access (PAM)',
    summary:
      'The domains whose users have a PAM user. Required with login-local-part: one domain, or several as domain=prefix.',
    details:
      'With `corp.example=,partner.example=partner-`, `ada@corp.example` is the PAM user `ada`, and `ada@partner.example` is `partner-ada`. A PAM user name belongs to the domain with the longest matching prefix, so `partner-ada@corp.example` has no PAM user. Users of other domains have none either.',
    example: 'example.com',
    refused:
      'any value without `login-local-part`; an `@`; anything but domains; several domains of which one has no prefix; a domain or a prefix twice, ignoring letter case; a prefix with characters other than letters, digits and `.` `_` `~` `@` `+` `-`',
  },
  PAM_DIRECTORY: {
    group: 'Privileged access (PAM)',
    summary:
      'Which users may list all groups: none, all (every signed-in user), or a list of roles and groups.',
    default: 'none',
    example: 'role:security_admin,group:00000000-0000-4000-8000-000000000000',
    refused: 'anything but `none`, `all` or a list of `role:ROLE` and `group:UUID`',
  },

  UPSTREAM_CA_FILE: {
    group: 'Network',
    summary: 'A PEM file with private certificate authorities for Okta and PAM.',
    example: '/etc/gatehouse/upstream-ca.pem',
    refused: 'a file that cannot be read, has no certificate, has a broken certificate or has a private key',
  },
  REDIS_CA_FILE: {
    group: 'Network',
    summary: 'A PEM file with private certificate authorities for Redis.',
    example: '/etc/gatehouse/redis-ca.pem',
    refused: 'the same as for `UPSTREAM_CA_FILE`; a `REDIS_URL` without TLS',
  },
  HTTPS_PROXY: {
    group: 'Network',
    summary: 'The egress proxy for calls to Okta and PAM. Only the upper-case name is read.',
    details: 'It may contain a user name and a password, which are never logged.',
    example: 'http://proxy.example.internal:3128',
    refused: 'anything but an `http` or `https` URL; a path or query',
  },
  NO_PROXY: {
    group: 'Network',
    summary: 'Hosts, domains and addresses that are reached without the proxy.',
    example: 'localhost,.example.internal',
    refused: 'entries with spaces',
  },

  LOG_LEVEL: {
    group: 'Process',
    summary: 'The lowest level that is logged: error, warn, info or debug.',
    default: 'info',
    example: 'info',
    refused: 'anything else',
  },
  NODE_ENV: {
    group: 'Process',
    summary: 'With production, REDIS_URL=memory: is refused. Other values have no effect.',
    example: 'production',
    refused: '–',
  },
  GIT_REVISION: {
    group: 'Process',
    summary: 'The commit of the build, for the start line and gatehouse_build_info.',
    details: 'The image sets it from the build argument of the same name.',
    default: 'unknown',
    example: 'unknown',
    refused: 'spaces, control characters and non-ASCII characters',
  },
}
