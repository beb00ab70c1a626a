import { ConfigError } from './config-error.ts'
import { conflictsIn } from './conflicts.ts'
import { type Environment, type ReadFile, readEnvironment } from './environment.ts'
import { misspelledVariables } from './misspelled-variables.ts'
import { createSecret } from './secret.ts'
import { siteOf } from './site.ts'
import type { Values, VariableName } from './variables.ts'

/**
 * The whole configuration, checked and frozen. Only `main`, `wiring`, `doctor` and
 * `embed` see it; a module gets the part that it needs.
 */
export type Config = ReturnType<typeof loadConfig>

/** @throws ConfigError with every problem, by name and without a value */
export function loadConfig(env: Environment, readFile?: ReadFile, nowMs: number = Date.now()) {
  const { sources, values, problems: ofVariables } = readEnvironment(env, readFile)
  const sourceOf = (name: VariableName) => sources.find((source) => source.name === name)
  const isSet = (name: VariableName) => (sourceOf(name)?.text ?? sourceOf(name)?.path) !== undefined
  const conflicts = [...conflictsIn(values, isSet, nowMs)].map(
    ([name, reason]) => `${sourceOf(name)?.label}: ${reason}`,
  )
  const problems = [...ofVariables, ...conflicts, ...misspelledVariables(env)]
  if (problems.length > 0) throw new ConfigError(...problems)

  return deepFreeze({
    ...configOf(values as Values), // each is valid
    /** The names of the variables that are set. */
    variables: sources.filter(({ name }) => isSet(name)).map(({ label }) => label),
  })
}

/** Freezes objects and arrays at every depth. */
function deepFreeze<T>(value: T): T {
  if (typeof value === 'object' && value !== null)
    for (const member of Object.values(Object.freeze(value))) deepFreeze(member)
  return value
}

function configOf(values: Values) {
  const origin = values.PUBLIC_URL
  return {
    /** https: the cookies are Secure and have the `__Host-` prefix. */
    publicUrl: { origin, secure: origin.startsWith('https:') },
    /** As browsers write them (lower case, no default port), without that of `PUBLIC_URL`. */
    allowedOrigins: values.ALLOWED_ORIGINS.filter((allowed) => allowed !== origin),
    /** What pages of these origins may send beside the headers of sign-in pages, in lower case. */
    allowedHeaders: values.ALLOWED_HEADERS,
    listen: { port: values.PORT, host: values.HOST },
    ops: { port: values.OPS_PORT, host: values.OPS_HOST, tokens: createSecret(opsTokensOf(values)) },
    trustProxy: values.TRUST_PROXY,
    signInUrl: values.SIGN_IN_URL ?? `${origin}/`,
    returnTargets: [
      ...[origin, ...values.ALLOWED_ORIGINS].map((each) => ({ origin: each, pathPrefix: '/' })),
      ...values.RETURN_TO,
    ],
    /** Of the return targets, those on other hosts of the same site. */
    applicationTargets: values.RETURN_TO.filter(
      (target) => target.origin !== origin && siteOf(target.origin) === siteOf(origin),
    ),
    authn: {
      baseUrl: values.AUTHN_BASE_URL,
      apiToken: values.AUTHN_API_TOKEN,
      linkOrigins: values.AUTHN_LINK_ORIGINS,
      forwardOrigin: values.AUTHN_FORWARD_ORIGIN,
      stepUp: values.STEP_UP,
      ssoRedirects: values.SSO_REDIRECTS,
      oktaSignOut: values.OKTA_SIGN_OUT,
      recoveryFrom: values.RECOVERY,
      loginDomains: values.LOGIN_DOMAINS,
      lockoutAttempts: values.AUTHN_LOCKOUT_ATTEMPTS,
      hiddenFactors: values.HIDDEN_FACTORS,
    },
    redis: redisOf(values),
    /** The first key seals and signs, all open and verify. Each has 32 bytes. */
    secretKeys: values.SECRET_KEYS,
    pam: pamOf(values),
    egress: egressOf(values),
    certificates: certificatesOf(values),
    session: sessionOf(values),
    tunables: values.CONFIG_FILE,
    tracing: tracingOf(values),
    jwtAudiences: values.JWT_AUDIENCES,
    logLevel: values.LOG_LEVEL,
    revision: values.GIT_REVISION,
  }
}

/** Empty: the admin routes do not exist. */
function opsTokensOf({ OPS_TOKENS, OPS_TOKEN }: Values) {
  const unnamed = OPS_TOKEN === undefined ? [] : [{ name: undefined, token: OPS_TOKEN.value }]
  return [...(OPS_TOKENS?.value ?? []), ...unnamed]
}

function egressOf(values: Values) {
  const { UPSTREAM_CA_FILE: own, NODE_EXTRA_CA_CERTS: extra } = values
  return {
    /** undefined: the authorities that Node trusts by itself, NODE_EXTRA_CA_CERTS included. */
    ca: own === undefined ? undefined : [own, ...(extra === undefined ? [] : [extra])],
    httpsProxy: values.HTTPS_PROXY,
    noProxy: values.NO_PROXY,
  }
}

/** By variable, for the notes on those that have expired. */
function certificatesOf(values: Values) {
  const { UPSTREAM_CA_FILE, NODE_EXTRA_CA_CERTS, REDIS_CA_FILE, REDIS_CERT_FILE } = values
  return { UPSTREAM_CA_FILE, NODE_EXTRA_CA_CERTS, REDIS_CA_FILE, REDIS_CERT_FILE }
}

function redisOf(values: Values) {
  return {
    url: values.REDIS_URL,
    keyPrefix: values.REDIS_KEY_PREFIX,
    ca: values.REDIS_CA_FILE,
    cert: values.REDIS_CERT_FILE,
    privateKey: values.REDIS_KEY_FILE,
  }
}

function sessionOf(values: Values) {
  return {
    idleMinutes: values.SESSION_IDLE_MINUTES,
    absoluteHours: values.SESSION_ABSOLUTE_HOURS,
    sameSite: values.SESSION_SAME_SITE,
    /** What the browser deletes of the whole origin at a sign-out. */
    signOutClears: values.SIGN_OUT_CLEARS,
    /** Whether new sessions are bound to a key of the browser. */
    deviceBound: values.DEVICE_BOUND_SESSIONS,
    /** undefined: there are no event hooks. */
    eventHookSecrets: values.EVENT_HOOK_SECRET,
    /** undefined: Okta is not asked about the users of open sessions. */
    recheckMinutes: values.SESSION_RECHECK_MINUTES,
  }
}

function pamOf(values: Values) {
  const { PAM_BASE_URL: baseUrl, PAM_TEAM: team, PAM_KEY_ID: id, PAM_KEY_SECRET: secret } = values
  // not set: the others are required with PAM_BASE_URL
  if (!(baseUrl && team && id && secret)) return undefined
  return {
    baseUrl,
    team,
    key: createSecret({ id: id.value, secret: secret.value }),
    keyExpiresAtMs: values.PAM_KEY_EXPIRES_AT,
    tokenPath: values.PAM_TOKEN_PATH,
    userName:
      values.PAM_USER_DOMAINS === undefined
        ? ({ kind: 'login' } as const)
        : ({ kind: 'login-local-part', domains: values.PAM_USER_DOMAINS } as const),
    directory: values.PAM_DIRECTORY,
    appTokens: values.APP_TOKENS,
  }
}

function tracingOf(values: Values) {
  const { OTEL_EXPORTER_OTLP_ENDPOINT: endpoint } = values
  if (endpoint === undefined) return undefined
  return {
    endpoint,
    headers: values.OTEL_EXPORTER_OTLP_HEADERS,
    serviceName: values.OTEL_SERVICE_NAME,
    sampler: values.OTEL_TRACES_SAMPLER,
    ratio: values.OTEL_TRACES_SAMPLER_ARG,
    scheme: values.PUBLIC_URL.replace(/:.*/, ''),
  }
}
