import type { RequestListener } from 'node:http'
import { fileURLToPath } from 'node:url'
import express from 'express'
import helmet from 'helmet'
import { openApiDocument } from '../openapi.ts'
import type { Sandbox } from '../sandbox/sandbox.ts'
import { createCornerRoutes } from './corner-routes.ts'
import { createWidgetRoutes } from './widget-routes.ts'

export interface DemoSiteParts {
  /** The broker of this moment: a reset replaces it. */
  readonly broker: () => RequestListener
  readonly sandbox: Sandbox
  /** Where the sandbox's own pages are. */
  readonly sandboxUrl: string
  readonly reset: () => Promise<void>
}

/** As they are written, and as they were compiled: the two folders lie the same way from `src/` and `build/`. */
const PAGE = fileURLToPath(new URL('../../src/demo/page/', import.meta.url))
const SCRIPTS = fileURLToPath(new URL('../../build/demo/page/', import.meta.url))

/** The portal's origin: its page under `/` and `/demo/`, the broker everywhere else, as a proxy would do it. */
export function createDemoSite({ broker, ...parts }: DemoSiteParts): RequestListener {
  const site = createPage(parts)
  return (req, res) => {
    const { url = '' } = req
    const isPage = url === '/' || url.startsWith('/?') || url.startsWith('/demo/')
    if (isPage) site(req, res)
    else broker()(req, res)
  }
}

function createPage(parts: Omit<DemoSiteParts, 'broker'>): RequestListener {
  const { sandboxUrl } = parts
  const site = express()
  site.use(
    helmet({
      contentSecurityPolicy: {
        useDefaults: false,
        directives: {
          defaultSrc: ["'none'"],
          scriptSrc: ["'self'"],
          styleSrc: ["'self'"],
          imgSrc: ["'self'"],
          connectSrc: ["'self'"],
          frameSrc: [sandboxUrl],
          formAction: ["'self'"],
          baseUri: ["'none'"],
          frameAncestors: ["'none'"],
        },
      },
      strictTransportSecurity: false,
    }),
  )
  const openApi = openApiDocument()
  site.get('/', (_req, res) => res.sendFile('index.html', { root: PAGE }))
  site.get('/demo/openapi.json', (_req, res) => res.json(openApi))
  site.use('/demo', createWidgetRoutes({ page: PAGE }))
  site.use('/demo', express.static(PAGE, { index: false, extensions: [] }))
  site.use('/demo', express.static(SCRIPTS, { index: false, extensions: [] }))

  site.use('/demo', createCornerRoutes(parts))
  return site
}
