/**
 * Every variable. `load-config.ts` parses them; `scripts/docs/variables.ts` has their texts, from which `npm run docs` generates
 * `.env.example` and `docs/configuration.md` in this order.
 */
const VARIABLES = {
  PUBLIC_URL: { required: true },
  AUTHN_BASE_URL: { required: true },
  AUTHN_API_TOKEN: { required: true, secret: true },
  REDIS_URL: { required: true, secret: true },
  SECRET_KEYS: { required: true, secret: true },

  PORT: {},
  HOST: {},
  OPS_PORT: {},
  OPS_HOST: {},
  OPS_TOKEN: { secret: true },

  ALLOWED_ORIGINS: {},
  SIGN_IN_URL: {},
  TRUST_PROXY: {},

  AUTHN_LINK_ORIGINS: {},
  AUTHN_FORWARD_ORIGIN: {},
  STEP_UP: {},
  SSO_REDIRECTS: {},
  LOGIN_DOMAINS: {},
  HIDDEN_FACTORS: {},

  SESSION_IDLE_MINUTES: {},
  SESSION_ABSOLUTE_HOURS: {},
  SESSION_SAME_SITE: {},

  PAM_BASE_URL: {},
  PAM_TEAM: { requiredWith: 'PAM_BASE_URL' },
  PAM_KEY_ID: { requiredWith: 'PAM_BASE_URL', secret: true },
  PAM_KEY_SECRET: { requiredWith: 'PAM_BASE_URL', secret: true },
  PAM_KEY_EXPIRES_AT: {},
  PAM_TOKEN_PATH: {},
  PAM_USER_NAME: {},
  PAM_USER_DOMAINS: {},
  PAM_DIRECTORY: {},

  UPSTREAM_CA_FILE: { file: true },
  REDIS_CA_FILE: { file: true },
  HTTPS_PROXY: {},
  NO_PROXY: {},

  LOG_LEVEL: {},
  NODE_ENV: {},
  GIT_REVISION: {},
} as const satisfies Readonly<Record<string, Variable>>

interface Variable {
  readonly required?: true
  /** Required if this one is set. */
  readonly requiredWith?: 'PAM_BASE_URL'
  /** It can also come from a file, named by `<NAME>_FILE`. */
  readonly secret?: true
  /** It names a file. */
  readonly file?: true
}

export type VariableName = keyof typeof VARIABLES
export type SecretName = {
  [Name in VariableName]: (typeof VARIABLES)[Name] extends { secret: true } ? Name : never
}[VariableName]

export const VARIABLE_NAMES = Object.keys(VARIABLES) as VariableName[]

export const definitionOf = (name: VariableName): Variable => VARIABLES[name]

export function isSecret(name: VariableName): name is SecretName {
  return definitionOf(name).secret === true
}
