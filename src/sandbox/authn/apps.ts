import type { AppConfig } from '../sandbox-config.ts'
import { validationFailed } from './authn-error.ts'
import type { Org } from './org.ts'

/** Which step-ups an app's protocol supports. Started by the app itself, it also needs a custom sign-in page. */
const SUPPORTS: Record<AppConfig['protocol'], { identityProvider: boolean; serviceProvider: boolean }> = {
  'SAML2.0': { identityProvider: true, serviceProvider: true },
  WSFED: { identityProvider: true, serviceProvider: false },
  SWA: { identityProvider: false, serviceProvider: false },
}

/** The app of an `audience`, by its id or name. E0000001, naming it, for one that can't be signed in to this way. */
export function findApp(org: Org, audience: string): AppConfig {
  const app = org.config.apps.find((one) => one.id === audience || one.name === audience)
  if (app === undefined || !SUPPORTS[app.protocol].identityProvider) throw notAllowed(app?.id ?? audience)
  return app
}

/** The app that a browser asks to be signed in to, with its custom sign-in page. */
export function findSpInitiatedApp(org: Org, name: string): AppConfig {
  const app = org.config.apps.find((one) => one.id === name || one.name === name)
  if (app === undefined || !SUPPORTS[app.protocol].serviceProvider || app.signInPage === undefined)
    throw notAllowed(app?.id ?? name)
  return app
}

function notAllowed(name: string) {
  return validationFailed('authRequest', [`Sign in not allowed for app '${name}'.`])
}
