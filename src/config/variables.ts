import { z } from 'zod'
import { FACTOR_TYPE_NAMES } from '../factor-types.ts'
import { KEY_PREFIX } from '../store/store.ts'
import { listenHost, port, trustedProxies } from './network-values.ts'
import { directory, instant, teamName, tokenPath, userDomains } from './pam-values.ts'
import {
  domain,
  keyPrefix,
  listOf,
  offOr,
  onOrOff,
  parsed,
  ratio,
  visibleAscii,
  wholeNumber,
} from './plain-values.ts'
import { createSecret } from './secret.ts'
import {
  apiToken,
  appTokens,
  certificates,
  headers,
  longSecret,
  longSecrets,
  privateKey,
  redisUrl,
  secret,
  secretKeys,
} from './secret-values.ts'
import { changedTunables } from './tunables.ts'
import * as url from './url-values.ts'

const SAMPLERS = ['always_on', 'always_off', 'traceidratio']

/** Every variable, in the order of `.env.example` and `docs/configuration.md`. A name that ends with `_FILE` has the content of its file. */
export const VARIABLES = z.object({
  PUBLIC_URL: url.publicOrigin,
  AUTHN_BASE_URL: url.upstreamOrigin,
  AUTHN_API_TOKEN: secret(apiToken),
  REDIS_URL: secret(redisUrl),
  SECRET_KEYS: secret(secretKeys),

  PORT: port.default(8080),
  HOST: listenHost.default('0.0.0.0'),
  OPS_PORT: port.default(9090),
  OPS_HOST: listenHost.default('127.0.0.1'),
  OPS_TOKEN: secret(longSecret).optional(),

  ALLOWED_ORIGINS: listOf(url.publicOrigin).default([]),
  SIGN_IN_URL: url.pageUrl.optional(),
  RETURN_TO: listOf(url.redirectPrefix).default([]),
  TRUST_PROXY: trustedProxies.default([]),

  AUTHN_LINK_ORIGINS: listOf(url.upstreamOrigin).default([]),
  AUTHN_FORWARD_ORIGIN: onOrOff.default(false),
  STEP_UP: onOrOff.default(false),
  SSO_REDIRECTS: listOf(url.redirectPrefix).default([]),
  LOGIN_DOMAINS: listOf(domain).default([]),
  HIDDEN_FACTORS: listOf(z.enum(FACTOR_TYPE_NAMES)).default([]),

  SESSION_IDLE_MINUTES: wholeNumber(1, 24 * 60).default(30),
  SESSION_ABSOLUTE_HOURS: wholeNumber(1, 24 * 7).default(12),
  /** With `none`, requests from every site would carry the session cookie. */
  SESSION_SAME_SITE: z.enum(['lax', 'strict']).default('lax'),
  JWT_AUDIENCES: listOf(visibleAscii).default([]),
  EVENT_HOOK_SECRET: secret(longSecrets).optional(),
  SESSION_RECHECK_MINUTES: offOr(1, 24 * 60).optional(),

  PAM_BASE_URL: url.upstreamBaseUrl.optional(),
  PAM_TEAM: teamName.optional(),
  PAM_KEY_ID: secret(visibleAscii).optional(),
  PAM_KEY_SECRET: secret(visibleAscii).optional(),
  PAM_KEY_EXPIRES_AT: instant.optional(),
  PAM_TOKEN_PATH: tokenPath.default('/v1/teams/{team_name}/service_token'),
  PAM_USER_NAME: z.enum(['login', 'login-local-part']).default('login'),
  PAM_USER_DOMAINS: userDomains.optional(),
  PAM_DIRECTORY: directory.default({ kind: 'none' }),
  APP_TOKENS: secret(appTokens).optional(),

  UPSTREAM_CA_FILE: certificates.optional(),
  REDIS_CA_FILE: certificates.optional(),
  REDIS_CERT_FILE: certificates.optional(),
  REDIS_KEY_FILE: privateKey.transform(createSecret).optional(),
  REDIS_KEY_PREFIX: keyPrefix.default(KEY_PREFIX),
  HTTPS_PROXY: url.proxyUrl.transform(createSecret).optional(),
  NO_PROXY: listOf(visibleAscii.toLowerCase()).default([]),

  OTEL_EXPORTER_OTLP_ENDPOINT: url.collectorUrl.optional(),
  OTEL_EXPORTER_OTLP_HEADERS: secret(headers).optional(),
  OTEL_SERVICE_NAME: z.string().default('gatehouse'),
  OTEL_TRACES_SAMPLER: z
    .enum([...SAMPLERS, ...SAMPLERS.map((root) => `parentbased_${root}`)])
    .default('parentbased_always_on'),
  OTEL_TRACES_SAMPLER_ARG: ratio.default(1),

  CONFIG_FILE: parsed(changedTunables).prefault('{}'),
  LOG_LEVEL: z.enum(['error', 'warn', 'info', 'debug']).default('info'),
  NODE_ENV: z.string().optional(),
  GIT_REVISION: visibleAscii.default('unknown'),
})

export type Values = z.output<typeof VARIABLES>
export type VariableName = keyof Values

export const VARIABLE_NAMES = Object.keys(VARIABLES.shape) as VariableName[]

/** A secret can also come from a file, which `<NAME>_FILE` names. */
export const isSecret = (name: VariableName): boolean =>
  /^(AUTHN_API_TOKEN|REDIS_URL|SECRET_KEYS|OPS_TOKEN|EVENT_HOOK_SECRET|PAM_KEY_ID|PAM_KEY_SECRET|APP_TOKENS|OTEL_EXPORTER_OTLP_HEADERS)$/.test(
    name,
  )
