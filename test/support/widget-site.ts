import { existsSync } from 'node:fs'
import { createServer, request, type Server } from 'node:http'
import { fileURLToPath } from 'node:url'
import express, { type RequestHandler } from 'express'

/** Okta's published files. */
const WIDGET = fileURLToPath(
  new URL('../../tools/widget/node_modules/@okta/okta-signin-widget/dist/', import.meta.url),
)
const SCRIPT = 'js/okta-sign-in.classic.min.js'

/** The widget's options. The page always sets `baseUrl` and `useClassicEngine`. */
const PAGE = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8"><title>Portal</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="/portal/widget/css/okta-sign-in.min.css">
<script src="/portal/widget/${SCRIPT}"></script>
</head>
<body>
<div id="widget"></div>
<script src="/portal/page.js"></script>
</body>
</html>`

/** The origin of Duo's frame in the sandbox's responses. A test serves it. */
export const DUO_ORIGIN = 'https://api-sandbox.duosecurity.example'

/** The strictest policy with which the widget works, including a broker on another origin. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data: http://localhost:*",
  "font-src 'self'",
  "connect-src 'self' http://localhost:*",
  "form-action 'self'",
  `frame-src ${DUO_ORIGIN}`,
].join('; ')

/**
 * Tests call `renderWidget` any number of times. The page keeps the latest widget's reports for the
 * test.
 */
const PAGE_SCRIPT = `
let widget
function renderWidget(options) {
  widget?.remove()
  const reports = (window.reports = [])
  widget = new OktaSignIn({ useClassicEngine: true, ...options })
  widget.on('afterError', (_context, error) => reports.push({ kind: 'error', code: error.xhr?.responseJSON?.errorCode ?? error.message }))
  widget.renderEl(
    { el: '#widget' },
    (result) => reports.push({ kind: 'done', ...result, user: result.user?.profile?.login }),
    (error) => reports.push({ kind: 'failed', message: error.message }),
  )
}
`

/** Further options of the widget that a test sets. */
export interface WidgetOptions {
  readonly stateToken?: string
  readonly features?: Readonly<Record<string, boolean>>
}

export interface WidgetSite {
  readonly url: string
  stop(): Promise<void>
}

export interface WidgetSiteOptions {
  readonly port: number
  /**
   * The broker that receives all other paths, as behind a portal's proxy. Without it they are 404.
   */
  readonly broker?: () => string
}

/**
 * A portal's origin: the page with the widget under `/portal/`, the broker under every other path.
 */
export async function startWidgetSite({ port, broker }: WidgetSiteOptions): Promise<WidgetSite> {
  requireWidget()
  const site = express()
  site.disable('x-powered-by') // with it, writeHead would keep one of several Set-Cookie lines
  site.get('/portal/', (_req, res) => {
    res.set('Content-Security-Policy', POLICY).type('html').send(PAGE)
  })
  site.get('/portal/page.js', (_req, res) => void res.type('js').send(PAGE_SCRIPT))
  site.use('/portal/widget', express.static(WIDGET))
  if (broker !== undefined) site.use(passOn(broker))
  const server = createServer({ keepAliveTimeout: 600_000 }, site)
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, '127.0.0.1', resolve)
  })
  return { url: `http://localhost:${port}`, stop: () => close(server) }
}

export function requireWidget(): void {
  if (!existsSync(WIDGET + SCRIPT))
    throw new Error('The sign-in widget is not installed: run "npm run setup"')
}

function passOn(broker: () => string): RequestHandler {
  return (req, res) => {
    const { method, headers } = req
    const onward = request(
      new URL(req.originalUrl, broker()),
      { method: method ?? 'GET', headers },
      (answer) => {
        res.writeHead(answer.statusCode ?? 502, answer.rawHeaders)
        answer.pipe(res)
      },
    )
    onward.on('error', () => res.destroy())
    req.pipe(onward)
  }
}

function close(server: Server): Promise<void> {
  server.closeAllConnections()
  return new Promise((resolve) => {
    server.close(() => resolve())
  })
}
