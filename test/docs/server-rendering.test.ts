import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { get } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import express, { type RequestHandler } from 'express'
import { AMELIA, type Harness, PASSWORD, startHarness } from '../support/harness.ts'

const read = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8')
const page = read('docs/server-rendering.md')
const [, express5 = ''] = /```js\n(.*?)```/s.exec(page) ?? []

let harness: Harness
let folder: string
let requireUser: (options: { gatehouseUrl: string; portalUrl: string }) => RequestHandler
beforeAll(async () => {
  harness = await startHarness()
  folder = mkdtempSync(join(tmpdir(), 'gatehouse-express-'))
  const file = join(folder, 'require-user.mjs')
  writeFileSync(file, express5)
  ;({ requireUser } = await import(pathToFileURL(file).href))
})
afterAll(async () => {
  rmSync(folder, { recursive: true })
  await harness.stop()
})

interface Opened {
  readonly status: number | undefined
  readonly location: string | undefined
  readonly text: string
}

/** Requests a page of an Express application with the middleware. */
async function open(gatehouseUrl: string, headers: Record<string, string>) {
  const app = express()
  app.get(
    '/app/*path',
    requireUser({ gatehouseUrl, portalUrl: 'https://portal.example.com' }),
    (req, res) => {
      res.json((req as { user?: unknown }).user)
    },
  )
  const server = app.listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  const { port } = server.address() as AddressInfo // listening on TCP
  try {
    return await new Promise<Opened>((resolve, reject) => {
      const options = { port, path: '/app/report?a=1&b=2', headers }
      const request = get(options, async (response) => {
        const text = Buffer.concat(await response.toArray()).toString()
        resolve({ status: response.statusCode, location: response.headers.location, text })
      })
      request.on('error', reject)
    })
  } finally {
    server.closeAllConnections()
    server.close()
  }
}

test('the Next.js middleware of the page is that of the example, which npm run nextjs:check builds', () => {
  expect(page).toContain(`\`\`\`ts\n${read('examples/nextjs/proxy.ts')}\`\`\``)
})

test('the Express middleware lets signed-in users in, and sends others to the sign-in page', async () => {
  const { url } = harness.gatehouse
  const browser = await harness.visit()
  await browser.post('/api/v1/authn', { username: AMELIA, password: PASSWORD })
  const cookie = await browser.jar.getCookieString(url)
  const signedIn = await open(url, { cookie })
  expect([signedIn.status, JSON.parse(signedIn.text)]).toMatchObject([200, { login: AMELIA }])
  const returnTo = encodeURIComponent('https://portal.example.com/app/report?a=1&b=2')
  expect(await open(url, { 'x-auth-request-user': 'forged' })).toMatchObject({
    status: 303,
    location: `https://portal.example.com/signin?returnTo=${returnTo}`,
  })
  expect(await open(url, { 'sec-fetch-mode': 'cors' })).toMatchObject({ status: 401, location: undefined })
  expect(await open('http://127.0.0.1:1', { cookie })).toMatchObject({ status: 503, location: undefined })
})
