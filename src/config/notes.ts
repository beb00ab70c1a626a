import { ROLES } from '../pam/roles.ts'
import { isAddressRange, noProxyFor } from '../upstream/no-proxy.ts'
import type { Environment } from './environment.ts'
import type { Config } from './load-config.ts'
import { areExpired } from './secret-values.ts'

/**
 * Notes on valid but unusual settings. Each begins with the variable's name and contains no value.
 */
export function configNotes(config: Config, env: Environment, nowMs: number = Date.now()): string[] {
  const { authn, egress, pam, publicUrl, session, trustProxy } = config
  const knownRoles: ReadonlySet<string> = new Set(ROLES)
  const roles = pam?.directory.kind === 'rules' ? pam.directory.roles : []
  const unusual = {
    'LOGIN_DOMAINS: is not set. If the org accepts short and full names, set it; otherwise each form has its own limit for wrong passwords':
      authn.loginDomains.length === 0,
    'LOGIN_DOMAINS: has several domains. Users with the same local part in two of them share the limits of a day and shorter. Limits of known devices and of failures in a row are per user':
      authn.loginDomains.length > 1,
    'AUTHN_LOCKOUT_ATTEMPTS: is not set. If the org locks a user after ten wrong passwords or fewer, strangers can lock users out in ten minutes, also on known devices':
      authn.lockoutAttempts === undefined,
    "AUTHN_BASE_URL: names the org's admin console. Sign-in is at the same host without -admin":
      /^[^.]*-admin\./.test(new URL(authn.baseUrl).hostname),
    "TRUST_PROXY: is not set, but PUBLIC_URL is https, so a proxy is in front. All users then share the proxy's address, in limits, in logs and at the org":
      publicUrl.secure && trustProxy.length === 0,
    'OKTA_SIGN_OUT: is off, but SSO_REDIRECTS is set. In a browser that users share, applications may open as the user who signed in at Okta before':
      authn.ssoRedirects.length > 0 && !authn.oktaSignOut,
    'HTTPS_PROXY: is not set. HTTP_PROXY and names in lower case are not read':
      egress.httpsProxy === undefined && Boolean(env.https_proxy || env.HTTP_PROXY),
    'NO_PROXY: has a range of addresses without the address of an upstream. A range applies only if the URL of the org or of PAM has an address; names are not resolved':
      egress.noProxy.some((entry) => isAddressRange(entry) && !appliesTo(entry, config)),
    'NO_PROXY: has an entry without effect. Entries are host names, domains, addresses, ranges, or * alone':
      !(egress.noProxy.length === 1 && egress.noProxy[0] === '*') &&
      !egress.noProxy.every((entry) => NO_PROXY_ENTRY.test(entry) || isAddressRange(entry)),
    [`SESSION_IDLE_MINUTES: is more than 60, ${AAL2}`]: session.idleMinutes > 60,
    [`SESSION_ABSOLUTE_HOURS: is more than 24, ${AAL2}`]: session.absoluteHours > 24,
    // or a role that is new in PAM
    [`PAM_DIRECTORY: has an unknown role. Known roles: ${ROLES.join(', ')}`]: !roles.every((role) =>
      knownRoles.has(role),
    ),
  }
  const notes = Object.entries(unusual).flatMap(([note, isUnusual]) => (isUnusual ? note : []))
  return [...notes, ...expiredIn(config, nowMs)]
}

function expiredIn({ certificates }: Config, nowMs: number): string[] {
  return Object.entries(certificates).flatMap(([name, pem]) =>
    pem !== undefined && areExpired(pem, nowMs).some(Boolean)
      ? `${name}: has certificates that have expired. Replace them`
      : [],
  )
}

/** A host name or a domain, with a port or without, or an address. */
const NO_PROXY_ENTRY = /^(\*?\.)?[a-z0-9_-]+(\.[a-z0-9_-]+)*(:\d{1,5})?$|^\[?[\da-f:.]+\]?$/

function appliesTo(range: string, { authn, pam }: Config): boolean {
  const origins = [authn.baseUrl, ...(pam === undefined ? [] : [pam.baseUrl])]
  return origins.some((origin) => noProxyFor([range], origin) !== range)
}

const AAL2 = 'the limit of NIST SP 800-63B-4, section 2.2.3, for two factors (AAL2)'
