import { readFileSync } from 'node:fs'
import type { RequestListener } from 'node:http'
import { fileURLToPath } from 'node:url'
import express from 'express'
import type { Sandbox } from 'gatehouse-sandbox/sandbox'
import helmet from 'helmet'
import { createToolsRoutes } from './tools-routes.ts'
import { createWidgetRoutes } from './widget-routes.ts'

export interface DemoSiteOptions {
  readonly broker: RequestListener
  readonly sandbox: Sandbox
  /** The origin of the sandbox's own pages. */
  readonly sandboxUrl: string
  readonly reset: () => Promise<void>
}

/** These paths work from `src/` and from `dist/`. */
const pathOf = (path: string) => fileURLToPath(new URL(`../${path}`, import.meta.url))
/** The build of `examples/react`. */
const PAGE = pathOf('dist/page/')
/** The source files and the compiled scripts of the tools. */
const TOOLS = pathOf('tools/')
const SCRIPTS = pathOf('dist/tools/')
const DOCS = pathOf('../docs/')
const SWAGGER_UI = pathOf('../node_modules/swagger-ui-dist/')

/** The page's paths, and those of the tools. */
const OWN = /^\/($|\?|assets\/|icon\.svg|demo($|[/?]))/

/**
 * The portal's origin: the page at `/`, the tools at `/demo/`, the broker at every other path, as
 * behind a proxy.
 */
export function createDemoSite({ broker, ...parts }: DemoSiteOptions): RequestListener {
  const site = createPage(parts)
  return (req, res) => {
    if (OWN.test(req.url ?? '')) site(req, res)
    else broker(req, res)
  }
}

function createPage(parts: Omit<DemoSiteOptions, 'broker'>): RequestListener {
  const { sandboxUrl } = parts
  const site = express()
  site.use(helmet({ contentSecurityPolicy: policy(sandboxUrl), strictTransportSecurity: false }))
  const swaggerIcons = 'data:'
  site.get('/demo/api.html', helmet.contentSecurityPolicy(policy(sandboxUrl, swaggerIcons)))
  const page = pageWithTools()
  site.get('/', (_req, res) => res.type('html').send(page))
  site.get('/demo', (_req, res) => res.redirect('/'))
  site.use(express.static(PAGE, { index: false, extensions: [] }))
  site.get('/demo/openapi.json', (_req, res) => res.sendFile('openapi.json', { root: DOCS }))
  site.use('/demo', createWidgetRoutes({ folder: TOOLS }))
  site.use('/demo/swagger-ui', express.static(SWAGGER_UI, { index: false, extensions: [] }))
  site.use('/demo', express.static(TOOLS, { index: false, extensions: [] }))
  site.use('/demo', express.static(SCRIPTS, { index: false, extensions: [] }))

  site.use('/demo', createToolsRoutes(parts))
  return site
}

/** The page itself does not know the tools. */
function pageWithTools(): string {
  const tools =
    '<link rel="stylesheet" href="/demo/tools.css"><script type="module" src="/demo/beside-page.js"></script>'
  return readFileSync(`${PAGE}index.html`, 'utf8').replace('</head>', `${tools}</head>`)
}

const policy = (sandboxUrl: string, ...images: string[]) => ({
  useDefaults: false,
  directives: {
    defaultSrc: ["'none'"],
    scriptSrc: ["'self'"],
    styleSrc: ["'self'"],
    imgSrc: ["'self'", ...images],
    connectSrc: ["'self'"],
    frameSrc: [sandboxUrl],
    formAction: ["'self'"],
    baseUri: ["'none'"],
    frameAncestors: ["'none'"],
  },
})
