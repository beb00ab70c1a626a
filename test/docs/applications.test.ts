import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { IDENTITY_HEADERS, REQUESTED_HEADERS } from '../../src/forward-auth/forward-auth.ts'
import { FORWARD_AUTH_RULES } from '../../src/forward-auth/forward-auth-rules.ts'
import { AMELIA, type Harness, PASSWORD, startHarness } from '../support/harness.ts'

const page = readFileSync(new URL('../../docs/applications.md', import.meta.url), 'utf8')
const [, example = ''] = /```js\n(import .*?)```/s.exec(page) ?? []

let harness: Harness
let folder: string
let verify: (token: string | null) => Promise<unknown>
beforeAll(async () => {
  harness = await startHarness({ env: { JWT_AUDIENCES: 'reports,billing' } })
  folder = mkdtempSync(join(tmpdir(), 'gatehouse-application-'))
  symlinkSync(fileURLToPath(new URL('../../node_modules', import.meta.url)), join(folder, 'node_modules'))
  const file = join(folder, 'verify.mjs')
  writeFileSync(file, example.replace('https://portal.example.com', harness.gatehouse.url))
  ;({ verify } = await import(pathToFileURL(file).href))
})
afterAll(async () => {
  rmSync(folder, { recursive: true })
  await harness.stop()
})

test('the page has a row for each header', () => {
  const rows = [...page.matchAll(/^\| `(X-Auth-Request-[\w-]+)` \|/gm)].map(([, name]) => name)
  expect(rows).toEqual([...IDENTITY_HEADERS, ...REQUESTED_HEADERS])
})

test('the table of rules has each parameter of /forward-auth', () => {
  const [rules = ''] = page.split('\n## Rules\n')[1]?.split('\nPAM data ') ?? []
  const named = [...rules.matchAll(/^\| (`.*?`) \|/gm)].flatMap(
    ([, names = '']) => names.match(/\w+(?==)/g) ?? [],
  )
  expect(named.toSorted()).toEqual(Object.keys(FORWARD_AUTH_RULES.shape).toSorted())
})

test('the code for Node.js accepts a token for its application and no other', async () => {
  const browser = await harness.visit()
  await browser.post('/api/v1/authn', { username: AMELIA, password: PASSWORD })
  const tokenFor = async (aud: string) => {
    const { headers } = await browser.get(`/forward-auth?headers=jwt,groups&aud=${aud}`)
    return headers.get('x-auth-request-jwt')
  }
  const { json } = await browser.get('/api/v1/sessions/me')
  const token = await tokenFor('reports')
  expect(await verify(token)).toMatchObject({ sub: json.userId, sid: json.id, amr: json.amr })
  await expect(verify(await tokenFor('billing'))).rejects.toThrow(/aud/)
  await expect(verify(token?.replace(/\.[^.]*\./, '.e30.') ?? '')).rejects.toThrow(/signature/)
  await expect(verify(null)).rejects.toThrow()
})
