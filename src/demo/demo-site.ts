import type { RequestListener } from 'node:http'
import { fileURLToPath } from 'node:url'
import express from 'express'
import helmet from 'helmet'
import { DOCS } from '../ops.ts'
import type { Sandbox } from '../sandbox/sandbox.ts'
import { createToolsRoutes } from './tools-routes.ts'
import { createWidgetRoutes } from './widget-routes.ts'

export interface DemoSiteOptions {
  readonly broker: RequestListener
  readonly sandbox: Sandbox
  /** The origin of the sandbox's own pages. */
  readonly sandboxUrl: string
  readonly reset: () => Promise<void>
}

/** The source files and the compiled scripts of the page. Both paths work from `src/` and from `build/`. */
const PAGE = fileURLToPath(new URL('../../src/demo/page/', import.meta.url))
/** gatehouse-client, which the page imports from `/demo/client/`. */
const CLIENT = fileURLToPath(new URL('../../client/dist/', import.meta.url))
const SWAGGER_UI = fileURLToPath(new URL('../../node_modules/swagger-ui-dist/', import.meta.url))
const SCRIPTS = fileURLToPath(new URL('../../build/demo/page/', import.meta.url))

/** The portal's origin: the page at `/` and `/demo/`, the broker at every other path, as behind a proxy. */
export function createDemoSite({ broker, ...parts }: DemoSiteOptions): RequestListener {
  const site = createPage(parts)
  return (req, res) => {
    const { url = '' } = req
    const isPage = url === '/' || url.startsWith('/?') || url.startsWith('/demo/')
    if (isPage) site(req, res)
    else broker(req, res)
  }
}

function createPage(parts: Omit<DemoSiteOptions, 'broker'>): RequestListener {
  const { sandboxUrl } = parts
  const site = express()
  site.use(helmet({ contentSecurityPolicy: policy(sandboxUrl), strictTransportSecurity: false }))
  const swaggerIcons = 'data:'
  site.get('/demo/api.html', helmet.contentSecurityPolicy(policy(sandboxUrl, swaggerIcons)))
  site.get('/', (_req, res) => res.sendFile('index.html', { root: PAGE }))
  site.get('/demo/openapi.json', (_req, res) => res.sendFile('openapi.json', { root: DOCS }))
  site.use('/demo', createWidgetRoutes({ page: PAGE }))
  site.use('/demo/swagger-ui', express.static(SWAGGER_UI, { index: false, extensions: [] }))
  site.use('/demo/client', express.static(CLIENT, { index: false, extensions: [] }))
  site.use('/demo', express.static(PAGE, { index: false, extensions: [] }))
  site.use('/demo', express.static(SCRIPTS, { index: false, extensions: [] }))

  site.use('/demo', createToolsRoutes(parts))
  return site
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
