import ipaddr from 'ipaddr.js'
import { z } from 'zod'
import { FACTOR_TYPE_NAMES } from '../factor-types.ts'
import { KEY_PREFIX } from '../store/keys.ts'
import { directory, userDomains } from './pam-values.ts'
import { domain, listOf, matching, onOrOff, visibleAscii, wholeNumber } from './plain-values.ts'
import { createSecret } from './secret.ts'
import * as secrets from './secret-values.ts'
import { changedTunables } from './tunables.ts'
import * as url from './url-values.ts'

/** Every placeholder for a secret in `.env.example` and `deploy/` begins with `replace-with-`. */
const notPlaceholder = matching(/^(?!.*replace-with-)/s, 'is still the placeholder of the example')
const secret = <T>(schema: z.ZodType<T, string>) => notPlaceholder.pipe(schema).transform(createSecret)
const listenHost = z.union([z.hostname(), z.ipv6()], 'must be an IP address or a host name')
/** Kubernetes names such a variable after a Service: `OPS_PORT` for one called `ops`. */
const port = matching(
  /^(?!(tcp|udp|sctp):\/\/)/i,
  'must be a port. Kubernetes sets it to a URL for a Service of this name: set enableServiceLinks: false in the pod, or rename the Service',
).pipe(wholeNumber(0, 65_535))

/**
 * An address or a CIDR. With a few ranges larger than these, every address would be a proxy's.
 * `fc00::/7` has the private addresses.
 */
const proxyAddress = z
  .union(
    [z.ipv4(), z.ipv6(), z.cidrv4(), z.cidrv6()],
    'must be the address or CIDR of a proxy, such as 10.0.0.10',
  )
  .refine((text) => !/\/[0-6]$|^[^:]+\/7$/.test(text), {
    error: 'must not be larger than /8 (IPv6: /7), or callers could choose their own addresses',
    abort: true,
  })
  .refine((text) => !/^::ffff:/i.test(text), {
    error: 'must be written as IPv4, not as an IPv4-mapped address',
    abort: true,
  })
  // 10.0.0.10/8 is sixteen million addresses, and may have been meant as one
  .refine(
    isNetworkAddress,
    'has bits of its address beyond the prefix: write one address, or the first address of the network',
  )
  .transform((text) => (text.includes('/') ? text : `${text}/${text.includes(':') ? 128 : 32}`))

function isNetworkAddress(text: string): boolean {
  if (!text.includes('/')) return true
  const [address] = ipaddr.parseCIDR(text)
  const { [address.kind() === 'ipv4' ? 'IPv4' : 'IPv6']: family } = ipaddr
  return family.networkAddressFromCIDR(text).toString() === address.toString()
}

/** No wildcard: with credentials, browsers take it as a name. Tokens of backends stay there. */
const headerOfPages = matching(
  /^(?!authorization$)[a-z0-9_-]+$/i,
  'must be the name of a header, such as traceparent, and not Authorization',
).toLowerCase()

const SAMPLERS = ['always_on', 'always_off', 'traceidratio']

/**
 * Every variable, in the order of `.env.example` and `docs/configuration.md`. A name that ends with
 * `_FILE`, and NODE_EXTRA_CA_CERTS, has the content of its file.
 */
export const VARIABLES = z.object({
  PUBLIC_URL: url.publicOrigin,
  AUTHN_BASE_URL: url.upstreamOrigin,
  AUTHN_API_TOKEN: secret(visibleAscii),
  REDIS_URL: secret(secrets.redisUrl),
  SECRET_KEYS: secret(secrets.secretKeys),

  PORT: port.default(8080),
  HOST: listenHost.default('0.0.0.0'),
  OPS_PORT: port.default(9090),
  OPS_HOST: listenHost.default('127.0.0.1'),
  OPS_TOKENS: secret(secrets.namedTokens).optional(),
  /** One without a name. */
  OPS_TOKEN: secret(secrets.longSecret).optional(),

  ALLOWED_ORIGINS: listOf(url.publicOrigin).default([]),
  ALLOWED_HEADERS: listOf(headerOfPages).default([]),
  SIGN_IN_URL: url.pageUrl.optional(),
  RETURN_TO: listOf(url.redirectPrefix).default([]),
  /** No number of hops: a client on a shorter path could forge its address. */
  TRUST_PROXY: listOf(proxyAddress).default([]),

  AUTHN_LINK_ORIGINS: listOf(url.upstreamOrigin).default([]),
  AUTHN_FORWARD_ORIGIN: onOrOff.default(false),
  STEP_UP: onOrOff.default(false),
  SSO_REDIRECTS: listOf(url.redirectPrefix).default([]),
  OKTA_SIGN_OUT: onOrOff.default(false),
  RECOVERY: z.enum(['on', 'known-devices', 'off']).default('on'),
  LOGIN_DOMAINS: listOf(domain).default([]),
  AUTHN_LOCKOUT_ATTEMPTS: wholeNumber(2, 100).optional(),
  HIDDEN_FACTORS: listOf(z.enum(FACTOR_TYPE_NAMES)).default([]),

  SESSION_IDLE_MINUTES: wholeNumber(1, 24 * 60).default(30),
  SESSION_ABSOLUTE_HOURS: wholeNumber(1, 24 * 7).default(12),
  /** With `none`, requests from every site would carry the session cookie. */
  SESSION_SAME_SITE: z.enum(['lax', 'strict']).default('lax'),
  SIGN_OUT_CLEARS: listOf(z.enum(['cache', 'storage'])).default([]),
  DEVICE_BOUND_SESSIONS: onOrOff.default(false),
  JWT_AUDIENCES: listOf(visibleAscii).default([]),
  EVENT_HOOK_SECRET: secret(listOf(secrets.longSecret)).optional(),
  SESSION_RECHECK_MINUTES: z
    .union(
      [z.literal('off').transform(() => undefined), wholeNumber(1, 24 * 60)],
      'must be off or a whole number',
    )
    .optional(),

  PAM_BASE_URL: url.upstreamBaseUrl.optional(),
  PAM_TEAM: matching(
    /^[A-Za-z0-9][A-Za-z0-9._~-]{0,254}$/,
    'must be a team name: letters, digits, and . _ ~ - after the first one',
  ).optional(),
  PAM_KEY_ID: secret(visibleAscii).optional(),
  PAM_KEY_SECRET: secret(visibleAscii).optional(),
  PAM_KEY_EXPIRES_AT: z.iso
    .datetime({ offset: true, error: 'must be an RFC 3339 time, such as 2027-01-31T00:00:00Z' })
    .transform(Date.parse)
    .optional(),
  PAM_TOKEN_PATH: matching(
    /^(\/([A-Za-z0-9._~!$&'()*+,;=:@-]|%[0-9A-Fa-f]{2}|\{team_name\})+)+\/?$/,
    'must be an absolute path, such as /v1/teams/{team_name}/service_token',
  ).default('/v1/teams/{team_name}/service_token'),
  PAM_USER_NAME: z.enum(['login', 'login-local-part']).default('login'),
  PAM_USER_DOMAINS: userDomains.optional(),
  PAM_DIRECTORY: directory.default({ kind: 'none' }),
  APP_TOKENS: secret(secrets.namedTokens).optional(),

  UPSTREAM_CA_FILE: secrets.certificates.optional(),
  /**
   * Node's own. Node drops it for a connection that has further authorities, so the broker reads it
   * too.
   */
  NODE_EXTRA_CA_CERTS: secrets.certificates.optional(),
  REDIS_CA_FILE: secrets.certificates.optional(),
  REDIS_CERT_FILE: secrets.certificates.optional(),
  REDIS_KEY_FILE: secrets.privateKey.transform(createSecret).optional(),
  /**
   * Without the wildcards of the ACL rules and of SCAN. The colon keeps `a:` from being the start
   * of the keys of `ab:`.
   */
  REDIS_KEY_PREFIX: matching(
    /^[\w.:-]{0,63}:$/,
    'must be up to 64 letters, digits and _ . : -, with a colon at the end',
  ).default(KEY_PREFIX),
  HTTPS_PROXY: url.proxyUrl.transform(createSecret).optional(),
  NO_PROXY: listOf(visibleAscii.toLowerCase()).default([]),

  OTEL_EXPORTER_OTLP_ENDPOINT: url.collectorUrl.optional(),
  OTEL_EXPORTER_OTLP_HEADERS: secret(secrets.headers).optional(),
  OTEL_SERVICE_NAME: z.string().default('gatehouse'),
  OTEL_TRACES_SAMPLER: z
    .enum([...SAMPLERS, ...SAMPLERS.map((root) => `parentbased_${root}`)])
    .default('parentbased_always_on'),
  OTEL_TRACES_SAMPLER_ARG: z.coerce.number().min(0).max(1).default(1),

  CONFIG_FILE: changedTunables.prefault('{}'),
  LOG_LEVEL: z.enum(['error', 'warn', 'info', 'debug']).default('info'),
  NODE_ENV: z.string().optional(),
  GIT_REVISION: visibleAscii.default('unknown'),
})

export type Values = z.output<typeof VARIABLES>
export type VariableName = keyof Values

export const VARIABLE_NAMES = Object.keys(VARIABLES.shape) as VariableName[]

/** A secret can also come from a file, which `<NAME>_FILE` names. */
export const isSecret = (name: VariableName): boolean =>
  /^(AUTHN_API_TOKEN|REDIS_URL|SECRET_KEYS|OPS_TOKENS?|EVENT_HOOK_SECRET|PAM_KEY_ID|PAM_KEY_SECRET|APP_TOKENS|OTEL_EXPORTER_OTLP_HEADERS)$/.test(
    name,
  )
