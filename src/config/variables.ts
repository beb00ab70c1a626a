/**
 * Every variable that the loader reads, in the order of `.env.example` and `docs/configuration.md`; a test holds
 * the three to each other. A secret can also come from a file, named by `<NAME>_FILE`.
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
  { name: 'STEP_UP' },
  { name: 'SSO_REDIRECTS' },
  { name: 'LOGIN_DOMAINS' },
  { name: 'HIDDEN_FACTORS' },

  { name: 'SESSION_IDLE_MINUTES' },
  { name: 'SESSION_ABSOLUTE_HOURS' },
  { name: 'SESSION_SAME_SITE' },

  { name: 'PAM_BASE_URL' },
  { name: 'PAM_TEAM' },
  { name: 'PAM_KEY_ID', secret: true },
  { name: 'PAM_KEY_SECRET', secret: true },
  { name: 'PAM_KEY_EXPIRES_AT' },
  { name: 'PAM_TOKEN_PATH' },
  { name: 'PAM_USER_NAME' },
  { name: 'PAM_USER_DOMAINS' },
  { name: 'PAM_DIRECTORY' },

  { name: 'UPSTREAM_CA_FILE' },
  { name: 'REDIS_CA_FILE' },
  { name: 'HTTPS_PROXY' },
  { name: 'NO_PROXY' },

  { name: 'LOG_LEVEL' },
  { name: 'NODE_ENV' },
] as const satisfies readonly Variable[]

export interface Variable {
  readonly name: string
  readonly required?: true
  readonly secret?: true
}

export type VariableName = (typeof VARIABLES)[number]['name']
export type SecretName = Extract<(typeof VARIABLES)[number], { secret: true }>['name']

export function isSecret(name: VariableName): name is SecretName {
  return SECRETS.has(name)
}

const SECRETS: ReadonlySet<VariableName> = new Set(
  VARIABLES.filter((variable) => 'secret' in variable).map(({ name }) => name),
)
