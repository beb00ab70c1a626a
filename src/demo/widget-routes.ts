import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import express, { Router } from 'express'

/** The vendor's files as they were published; they are there once somebody has asked for them. */
const WIDGET = fileURLToPath(
  new URL('../../tools/widget/node_modules/@okta/okta-signin-widget/dist/', import.meta.url),
)

/** What the widget needs of a page's policy beyond this demo's own: its font, and pictures that stand in its styles. */
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

/** A page with the vendor's sign-in widget, for `/demo`; without the widget it says how to get it. */
export function createWidgetRoutes({ page }: { readonly page: string }): Router {
  const router = Router()
  router.get('/widget.html', (_req, res) => {
    if (widgetIsInstalled())
      res.set('Content-Security-Policy', POLICY).sendFile('widget.html', { root: page })
    else res.status(404).type('text').send('The widget is installed only when asked: npm run demo:widget\n')
  })
  router.use('/widget', express.static(WIDGET, { index: false }))
  return router
}
