/**
 * Every variable. `load-config.ts` parses them; `scripts/docs/variables.ts` has their texts, from which `npm run docs` generates
 * `.env.example` and `docs/configuration.md` in this order.
 */
export const VARIABLES = [
  { name: 'PUBLIC_URL', required: true },
  { name: 'AUTHN_BASE_URL', required: true },
  { name: 'AUTHN_API_TOKEN', required: true, secret: true },
  { name: 'REDIS_URL', required: true, secret: true },
  { name: 'SECRET_KEYS', required: true, secret: true },

  { name: 'PORT' },
  { name: 'HOST' },
  { name: 'OPS_PORT' },
  { name: 'OPS_HOST' },
  { name: 'OPS_TOKEN', secret: true },

  { name: 'ALLOWED_ORIGINS' },
  { name: 'SIGN_IN_URL' },
  { name: 'TRUST_PROXY' },

  { name: 'AUTHN_LINK_ORIGINS' },
  { name: 'AUTHN_FORWARD_ORIGIN' },
  { name: 'STEP_UP' },
  { name: 'SSO_REDIRECTS' },
  { name: 'LOGIN_DOMAINS' },
  { name: 'HIDDEN_FACTORS' },

  { name: 'SESSION_IDLE_MINUTES' },
  { name: 'SESSION_ABSOLUTE_HOURS' },
  { name: 'SESSION_SAME_SITE' },

  { name: 'PAM_BASE_URL' },
  { name: 'PAM_TEAM', requiredWith: 'PAM_BASE_URL' },
  { name: 'PAM_KEY_ID', requiredWith: 'PAM_BASE_URL', secret: true },
  { name: 'PAM_KEY_SECRET', requiredWith: 'PAM_BASE_URL', secret: true },
  { name: 'PAM_KEY_EXPIRES_AT' },
  { name: 'PAM_TOKEN_PATH' },
  { name: 'PAM_USER_NAME' },
  { name: 'PAM_USER_DOMAINS' },
  { name: 'PAM_DIRECTORY' },

  { name: 'UPSTREAM_CA_FILE', file: true },
  { name: 'REDIS_CA_FILE', file: true },
  { name: 'HTTPS_PROXY' },
  { name: 'NO_PROXY' },

  { name: 'LOG_LEVEL' },
  { name: 'NODE_ENV' },
  { name: 'GIT_REVISION' },
] as const satisfies readonly Variable[]

interface Variable {
  readonly name: string
  readonly required?: true
  /** Required if this one is set. */
  readonly requiredWith?: 'PAM_BASE_URL'
  /** It can also come from a file, named by `<NAME>_FILE`. */
  readonly secret?: true
  /** It names a file. */
  readonly file?: true
}

export type VariableName = (typeof VARIABLES)[number]['name']
export type SecretName = Extract<(typeof VARIABLES)[number], { secret: true }>['name']

export function definitionOf(name: VariableName): Variable {
  const definition = DEFINITIONS.get(name)
  if (definition === undefined) throw new TypeError('not a variable of this program')
  return definition
}

const DEFINITIONS: ReadonlyMap<string, Variable> = new Map(
  VARIABLES.map((variable) => [variable.name, variable]),
)

export function isSecret(name: VariableName): name is SecretName {
  return definitionOf(name).secret === true
}
