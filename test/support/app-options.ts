import { type AppRoutesOptions, createAppRoutes } from '../../src/pam/app-routes.ts'
import { createPamRoutes, type PamRoutesOptions } from '../../src/pam/routes.ts'

/**
 * Replaces every dependency of the application: its routes and guards are only listed, so none is
 * called.
 */
export function anyAppOptions(): unknown {
  const pamRoutes = createPamRoutes(placeholder as PamRoutesOptions)
  const appRoutes = createAppRoutes(ofApps as AppRoutesOptions)
  const known = { pamRoutes, appRoutes, allowedOrigins: [] }
  return new Proxy(known, { get: (_, name) => Reflect.get(known, name) ?? placeholder })
}

const placeholder: unknown = new Proxy(() => placeholder, {
  get: (_, name) => (name === Symbol.toPrimitive ? () => 'anything' : placeholder),
})

const ofApps: unknown = {
  groups: placeholder,
  appTokens: [{ name: 'app', token: 'plainly-fake' }],
  masterKeys: [Buffer.alloc(32)],
}
