import type { AppConfig } from '../sandbox-config.ts'
import { validationFailed } from './authn-error.ts'
import { isSupported } from './identity-engine.ts'
import type { Org } from './org.ts'

/**
 * The step-ups that a protocol supports: started by the identity provider (IdP) or by the app, the
 * service provider (SP).
 */
const SUPPORTS: Record<AppConfig['protocol'], { idpInitiated: boolean; spInitiated: boolean }> = {
  'SAML2.0': { idpInitiated: true, spInitiated: true },
  WSFED: { idpInitiated: true, spInitiated: false },
  SWA: { idpInitiated: false, spInitiated: false },
}

/**
 * The app with this id or name (`audience`).
 *
 * @throws E0000001 on Identity Engine, or if the app is unknown or its protocol does not support a
 * step-up
 */
export function findApp(org: Org, audience: string): AppConfig {
  const app = org.config.apps.find(({ id, name }) => id === audience || name === audience)
  if (!isSupported(org, 'apps') || app === undefined || !SUPPORTS[app.protocol].idpInitiated)
    throw notAllowed(app?.id ?? audience)
  return app
}

/** Like `findApp`, for an SP-initiated step-up: the app must have a custom sign-in page. */
export function findSpInitiatedApp(org: Org, audience: string): AppConfig {
  const app = org.config.apps.find(({ id, name }) => id === audience || name === audience)
  const isAllowed = isSupported(org, 'apps') && app !== undefined && SUPPORTS[app.protocol].spInitiated
  if (!isAllowed || app.signInPage === undefined) throw notAllowed(app?.id ?? audience)
  return app
}

function notAllowed(name: string) {
  return validationFailed('authRequest', [`Sign in not allowed for app '${name}'.`])
}
