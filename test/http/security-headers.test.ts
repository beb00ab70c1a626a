import { expect, test } from '@jest/globals'
import { setSecurityHeaders } from '../../src/http/begin-request.ts'
import type { Route } from '../../src/http/route.ts'
import { useKeeper } from '../support/keeper.ts'
import { serve } from './serve.ts'

const keep = useKeeper()

const routes: Route[] = [
  { method: 'GET', path: '/', handle: (_req, res) => void res.json({}) },
  {
    method: 'GET',
    path: '/written',
    handle: (_req, res) => void res.writeHead(200, { 'X-Own': 'yes' }).end(),
  },
  {
    method: 'GET',
    path: '/shared',
    handle: (_req, res) => void res.set('Cross-Origin-Resource-Policy', 'same-site').end(),
  },
]
const site = async (secure: boolean) =>
  keep(await serve({ before: [setSecurityHeaders({ secure })], routes }))

test('no HSTS over plain http, whatever a proxy says about the connection', async () => {
  const { ask } = await site(false)
  const { headers } = await ask({ headers: { 'X-Forwarded-Proto': 'https' } })
  expect(headers['strict-transport-security']).toBeUndefined()
  const secure = await site(true)
  const answer = await secure.ask({ headers: { 'X-Forwarded-Proto': 'http' } })
  expect(answer.headers['strict-transport-security']).toBe('max-age=31536000')
})

test('a header that a route has set is not replaced', async () => {
  const { ask } = await site(true)
  const { headers } = await ask({ path: '/shared' })
  expect(headers['cross-origin-resource-policy']).toBe('same-site')
  expect(headers['x-content-type-options']).toBe('nosniff')
})
