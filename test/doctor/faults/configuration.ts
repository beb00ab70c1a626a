import { PAM } from '../../config/valid-environment.ts'
import type { Faults } from './fault.ts'

/** Variables of an otherwise valid configuration; undefined: not set. */
export type ConfigurationCause = Readonly<Record<string, string | undefined>>

const told = (problem: string) => ({ configuration: `fail: ${problem}` })

/** What the doctor, as the broker, refuses before it asks anybody. Other values: `test/config`. */
export const CONFIGURATION: Faults<ConfigurationCause> = {
  'public-url-with-a-path': {
    cause: { PUBLIC_URL: 'https://portal.example.com/portal' },
    told: told('PUBLIC_URL: must be an origin only: scheme, host and port, such as https://host.example.com'),
    fix: 'PUBLIC_URL',
  },
  'public-url-over-http': {
    cause: { PUBLIC_URL: 'http://portal.example.com' },
    told: told('PUBLIC_URL: must be https; plain http only on loopback'),
    fix: 'https',
  },
  'public-url-is-the-org': {
    cause: { PUBLIC_URL: 'https://org.example.net' },
    told: told('PUBLIC_URL: must not be AUTHN_BASE_URL: it is the address of the broker, not of the org'),
    fix: 'the address of the broker',
  },
  'public-url-from-a-file': {
    cause: { PUBLIC_URL: undefined, PUBLIC_URL_FILE: '/run/secrets/url' },
    told: told(
      'PUBLIC_URL: is required; PUBLIC_URL_FILE: is not read: only a secret can come from a file. Set PUBLIC_URL',
    ),
    fix: 'Set PUBLIC_URL',
  },
  'org-with-a-path': {
    cause: { AUTHN_BASE_URL: 'https://org.example.net/login' },
    told: told(
      'AUTHN_BASE_URL: must be an origin only: scheme, host and port, such as https://host.example.com',
    ),
    fix: 'an origin only',
  },
  'token-under-another-name': {
    cause: { AUTHN_API_TOKEN: undefined, API_TOKEN: 'plainly-fake' },
    told: told(
      'AUTHN_API_TOKEN: is required (or AUTHN_API_TOKEN_FILE); API_TOKEN: is unknown; did you mean AUTHN_API_TOKEN?',
    ),
    fix: 'did you mean AUTHN_API_TOKEN',
  },
  'token-in-quotes': {
    cause: { AUTHN_API_TOKEN: '"plainly-fake"' },
    told: told(
      'AUTHN_API_TOKEN: is in quotes: in env files of Docker and in secret files, they would be part of the value',
    ),
    fix: 'quotes',
  },
  'keys-in-hexadecimal': {
    cause: { SECRET_KEYS: 'ab'.repeat(32) },
    told: told('SECRET_KEYS: entry 1 must be a key of exactly 32 bytes in base64'),
    fix: 'base64',
  },
  'secret-file-missing': {
    cause: { SECRET_KEYS: undefined, SECRET_KEYS_FILE: '/nowhere/keys' },
    told: told('SECRET_KEYS_FILE: the file cannot be read (ENOENT)'),
    fix: 'SECRET_KEYS_FILE',
  },
  'authority-file-missing': {
    cause: { UPSTREAM_CA_FILE: '/nowhere/ca.pem' },
    told: told('UPSTREAM_CA_FILE: the file cannot be read (ENOENT)'),
    fix: 'UPSTREAM_CA_FILE',
  },
  'origin-of-another-site': {
    cause: { ALLOWED_ORIGINS: 'https://app.example.org' },
    told: told(
      'ALLOWED_ORIGINS: entry 1 is not on the same site as PUBLIC_URL (scheme and public suffix list): browsers would not send the cookies',
    ),
    fix: 'same site',
  },
  'everybody-trusted': {
    cause: { TRUST_PROXY: '*' },
    told: told('TRUST_PROXY: entry 1 must be the address or CIDR of a proxy, such as 10.0.0.10'),
    fix: 'address or CIDR of a proxy',
  },
  'internet-trusted': {
    cause: { TRUST_PROXY: '0.0.0.0/0' },
    told: told(
      'TRUST_PROXY: entry 1 must not be larger than /8 (IPv6: /7), or callers could choose their own addresses',
    ),
    fix: 'must not be larger',
  },
  'network-with-host-bits': {
    cause: { TRUST_PROXY: '10.0.3.7/24' },
    told: told(
      'TRUST_PROXY: entry 1 has bits of its address beyond the prefix: write one address, or the first address of the network',
    ),
    fix: 'write one address',
  },
  'embedded-store-in-production': {
    cause: { REDIS_URL: 'memory:', NODE_ENV: 'production' },
    told: told('REDIS_URL: must not be memory: in production: it works for one process only'),
    fix: 'one process only',
  },
  'redis-without-a-scheme': {
    cause: { REDIS_URL: 'redis.internal:6379' },
    told: told(
      'REDIS_URL: scheme: must be one of redis, rediss, redis+sentinel, rediss+sentinel, redis+cluster, rediss+cluster, each with ://, or memory:',
    ),
    fix: 'scheme',
  },
  'sentinels-without-a-name': {
    cause: { REDIS_URL: 'redis+sentinel://sentinel:26379' },
    told: told('REDIS_URL: query: name is missing (the name of the primary, as the sentinels have it)'),
    fix: 'name is missing',
  },
  'pam-without-a-key': {
    cause: { ...PAM, PAM_KEY_SECRET: undefined },
    told: told('PAM_KEY_SECRET: is required (or PAM_KEY_SECRET_FILE)'),
    fix: 'PAM_KEY_SECRET',
  },
  'tokens-of-backends-without-pam': {
    cause: { APP_TOKENS: 'portal:plainly-fake-token-of-32-characters' },
    told: told('APP_TOKENS: is set, but PAM_BASE_URL is not'),
    fix: 'PAM_BASE_URL',
  },
  'short-hook-secret': {
    cause: { EVENT_HOOK_SECRET: 'short' },
    told: told('EVENT_HOOK_SECRET: entry 1 must have 16 characters or more'),
    fix: '16 characters',
  },
  'short-ops-token': {
    cause: { OPS_TOKENS: 'helpdesk:short' },
    told: told(
      'OPS_TOKENS: entry 1 must be a name of at most 32 lower-case letters, digits, _ and -, a letter first, then a colon and a token of 32 visible ASCII characters or more',
    ),
    fix: '32 visible ASCII characters',
  },
  'port-set-by-kubernetes': {
    cause: { OPS_PORT: 'tcp://10.0.0.1:9090' },
    told: told(
      'OPS_PORT: must be a port. Kubernetes sets it to a URL for a Service of this name: set enableServiceLinks: false in the pod, or rename the Service',
    ),
    fix: 'enableServiceLinks',
  },
  'one-port-for-two-listeners': {
    cause: { PORT: '9090' },
    told: told('OPS_PORT: must be a different port from PORT'),
    fix: 'a different port',
  },
  'yaml-boolean': {
    cause: { DEVICE_BOUND_SESSIONS: 'true' },
    told: told('DEVICE_BOUND_SESSIONS: must be on or off; in YAML, write it in quotes'),
    fix: 'in quotes',
  },
  'device-bound-over-http': {
    cause: { DEVICE_BOUND_SESSIONS: 'on', PUBLIC_URL: 'http://localhost:8080' },
    told: told('DEVICE_BOUND_SESSIONS: requires an https PUBLIC_URL: browsers bind no session over http'),
    fix: 'https',
  },
  'session-idle-longer-than-its-life': {
    cause: { SESSION_IDLE_MINUTES: '720', SESSION_ABSOLUTE_HOURS: '1' },
    told: told('SESSION_IDLE_MINUTES: must not be more than SESSION_ABSOLUTE_HOURS'),
    fix: 'SESSION_ABSOLUTE_HOURS',
  },
  'egress-proxy-without-a-scheme': {
    cause: { HTTPS_PROXY: 'proxy:3128' },
    told: told('HTTPS_PROXY: must be an http or https URL without path, such as https://host.example.com'),
    fix: 'http or https URL',
  },
}
