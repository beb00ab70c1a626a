import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import express, { Router } from 'express'

/** Okta's published files. `npm run demo:widget` and `npm run setup` install them. */
const WIDGET = fileURLToPath(
  new URL('../../tools/widget/node_modules/@okta/okta-signin-widget/dist/', import.meta.url),
)

/**
 * The demo's Content-Security-Policy, plus the widget's font and the `data:` images of its styles.
 */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "font-src 'self'",
  "connect-src 'self'",
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join('; ')

export function widgetIsInstalled(): boolean {
  return existsSync(WIDGET)
}

/**
 * A page with Okta's sign-in widget. If the widget is not installed, 404 with the command that
 * installs it.
 */
export function createWidgetRoutes({ folder }: { readonly folder: string }): Router {
  const router = Router()
  router.get('/widget.html', (_req, res) => {
    if (widgetIsInstalled())
      res.set('Content-Security-Policy', POLICY).sendFile('widget.html', { root: folder })
    else res.status(404).type('text').send('The widget is not installed. Run: npm run demo:widget\n')
  })
  router.use('/widget', express.static(WIDGET, { index: false }))
  return router
}
