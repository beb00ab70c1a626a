import { VERSION } from '../observability/version.ts'
import type { Config } from './load-config.ts'

/**
 * What all replicas and the doctor must agree on, as texts, by variable. `SECRET_KEYS`, Redis and
 * `PUBLIC_URL` are checked on their own.
 */
export function sharedConfiguration(config: Config): Readonly<Record<string, string>> {
  const { authn, pam, session } = config
  const values: Readonly<Record<string, unknown>> = {
    version: VERSION,
    ALLOWED_ORIGINS: config.allowedOrigins,
    ALLOWED_HEADERS: config.allowedHeaders,
    SIGN_IN_URL: config.signInUrl,
    TRUST_PROXY: config.trustProxy,
    RETURN_TO: config.returnTargets.slice(1 + config.allowedOrigins.length),
    JWT_AUDIENCES: config.jwtAudiences,
    AUTHN_BASE_URL: authn.baseUrl,
    AUTHN_API_TOKEN: authn.apiToken.value,
    AUTHN_LINK_ORIGINS: authn.linkOrigins,
    AUTHN_FORWARD_ORIGIN: authn.forwardOrigin,
    AUTHN_LOCKOUT_ATTEMPTS: authn.lockoutAttempts,
    STEP_UP: authn.stepUp,
    SSO_REDIRECTS: authn.ssoRedirects,
    OKTA_SIGN_OUT: authn.oktaSignOut,
    RECOVERY: authn.recoveryFrom,
    LOGIN_DOMAINS: authn.loginDomains,
    HIDDEN_FACTORS: authn.hiddenFactors,
    PAM_BASE_URL: pam?.baseUrl,
    PAM_TEAM: pam?.team,
    'PAM_KEY_ID or PAM_KEY_SECRET': pam && [pam.key.value.id, pam.key.value.secret],
    PAM_TOKEN_PATH: pam?.tokenPath,
    'PAM_USER_NAME or PAM_USER_DOMAINS': pam?.userName,
    PAM_DIRECTORY: pam?.directory,
    APP_TOKENS: pam?.appTokens?.value,
    SESSION_IDLE_MINUTES: session.idleMinutes,
    SESSION_ABSOLUTE_HOURS: session.absoluteHours,
    SESSION_SAME_SITE: session.sameSite,
    SESSION_RECHECK_MINUTES: session.recheckMinutes,
    SIGN_OUT_CLEARS: session.signOutClears,
    DEVICE_BOUND_SESSIONS: session.deviceBound,
    EVENT_HOOK_SECRET: session.eventHookSecrets?.value,
  }
  return Object.fromEntries(
    Object.entries(values).map(([name, value]) => [name, JSON.stringify(value) ?? '']),
  )
}
