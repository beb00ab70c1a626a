import type { RequestListener } from 'node:http'
import { fileURLToPath } from 'node:url'
import express from 'express'
import helmet from 'helmet'
import { z } from 'zod'
import { openApiDocument } from '../openapi.ts'
import type { Sandbox } from '../sandbox/sandbox.ts'

export interface DemoSiteParts {
  readonly broker: RequestListener
  readonly sandbox: Sandbox
}

/** As they are written, and as they were compiled: the two folders lie the same way from `src/` and `build/`. */
const PAGE = fileURLToPath(new URL('../../src/demo/page/', import.meta.url))
const SCRIPTS = fileURLToPath(new URL('../../build/demo/page/', import.meta.url))

const PUSH = z.object({ login: z.string(), answer: z.enum(['approve', 'reject']) })

/** The portal's origin: its page under `/` and `/demo/`, the broker everywhere else, as a proxy would do it. */
export function createDemoSite({ broker, sandbox }: DemoSiteParts): RequestListener {
  const site = createPage(sandbox)
  return (req, res) => {
    const isPage = req.url === '/' || req.url?.startsWith('/demo/') === true
    if (isPage) site(req, res)
    else broker(req, res)
  }
}

function createPage(sandbox: Sandbox): RequestListener {
  const site = express()
  site.use(
    helmet({
      contentSecurityPolicy: { directives: { upgradeInsecureRequests: null } },
      strictTransportSecurity: false,
    }),
  )
  const openApi = openApiDocument()
  site.get('/', (_req, res) => res.sendFile('index.html', { root: PAGE }))
  site.get('/demo/openapi.json', (_req, res) => res.json(openApi))
  site.use('/demo', express.static(PAGE, { index: false, extensions: [] }))
  site.use('/demo', express.static(SCRIPTS, { index: false, extensions: [] }))

  site.get('/demo/people', (_req, res) => {
    res.json(
      sandbox.people().map(({ login, password, config }) => ({
        login,
        password: password ?? '',
        says: config.says,
        code: codeOf(sandbox, login),
        pushWaiting: sandbox.pushIsWaiting(login),
      })),
    )
  })
  site.post('/demo/push', express.json(), (req, res) => {
    const asked = PUSH.safeParse(req.body)
    if (!asked.success || !sandbox.pushIsWaiting(asked.data.login)) {
      res.status(400).json({ errorSummary: 'No push waits for this person.' })
      return
    }
    sandbox.answerPush(asked.data.login, asked.data.answer)
    res.status(204).end()
  })
  return site
}

function codeOf(sandbox: Sandbox, login: string): string | null {
  try {
    return sandbox.totpCode(login)
  } catch {
    return null // this person has no factor that shows codes
  }
}
