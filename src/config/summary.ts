import type { LogFields } from '../observability/log-fields.ts'
import type { Config } from './load-config.ts'

/** The fields of the log event `configured`: no secret, and no address of a host, user or page. */
export function configSummary(config: Config): LogFields {
  const { authn, session } = config
  const features = [
    authn.forwardOrigin && 'forward_origin',
    authn.stepUp && 'step_up',
    authn.ssoRedirects.length > 0 && 'sso_redirects',
    config.pam !== undefined && 'pam',
    config.ops.token !== undefined && 'admin_api',
    config.egress.httpsProxy !== undefined && 'https_proxy',
  ]
  return {
    revision: config.revision,
    features: features.filter((name) => name !== false).join(','),
    store: /^[a-z+]+/.exec(config.redis.url.current())?.[0],
    trustedProxies: config.trustProxy.length,
    allowedOrigins: config.allowedOrigins.length,
    loginDomains: authn.loginDomains.length,
    hiddenFactors: authn.hiddenFactors.length,
    apiTokens: authn.apiTokens.current().length,
    secretKeys: config.secretKeys.current().length,
    sessionIdleMinutes: session.idleMinutes,
    sessionAbsoluteHours: session.absoluteHours,
    logLevel: config.logLevel,
  }
}
