import { readFileSync } from 'node:fs'
import { createServer } from 'node:https'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { type Certificates, makeCertificates } from '../support/redis-certificates.ts'
import { listenAnywhere } from '../support/stub-upstream.ts'
import { diagnose } from './diagnose.ts'

const PAM_TOKEN = {
  bearer_token: 'plainly-fake-token',
  team_name: 'ops',
  expires_at: '2099-01-01T00:00:00Z',
}
const PAM = { PAM_TEAM: 'ops', PAM_KEY_ID: 'plainly-fake-id', PAM_KEY_SECRET: 'plainly-fake-secret' }

/** Valid for two days. */
let certificates: Certificates
let origin: string
let close: () => void
beforeAll(async () => {
  certificates = makeCertificates()
  const files = { cert: readFileSync(certificates.certFile), key: readFileSync(certificates.keyFile) }
  const server = createServer(files, (req, res) => {
    const isOrg = req.url?.startsWith('/.well-known/')
    const isWrongMethod = req.url === '/api/v1/authn' && req.method === 'GET'
    // a proxy has removed Secure
    const cookie = '__Host-gatehouse-device=a; Path=/; HttpOnly; SameSite=Lax'
    res.writeHead(isOrg ? 200 : isWrongMethod ? 405 : 404, {
      'Content-Type': 'application/json',
      ...(req.headers.cookie === undefined && { 'Set-Cookie': cookie }),
    })
    const answer = isOrg ? { id: '00o1', pipeline: 'v1' } : { errorCode: 'E0000007' }
    res.end(JSON.stringify(req.url?.endsWith('/service_token') ? PAM_TOKEN : answer))
  })
  origin = `https://localhost:${await listenAnywhere(server)}`
  close = () => {
    server.closeAllConnections()
    server.close()
  }
})
afterAll(() => {
  close()
  certificates.remove()
})

const HOUR_MS = 3_600_000

async function certificateChecks(env: Record<string, string>, laterMs = 0) {
  const results = await diagnose(
    {
      AUTHN_BASE_URL: origin,
      PAM_BASE_URL: origin,
      ...PAM,
      PUBLIC_URL: origin.replace('localhost', '127.0.0.1'),
      ...env,
    },
    { now: () => Date.now() + laterMs },
  )
  return [results['authn.tls'], results['pam.reach'], results['public.reach']]
}

test('a certificate that is accepted, and one that expires soon', async () => {
  const env = { UPSTREAM_CA_FILE: certificates.caFile }
  expect(await certificateChecks(env)).toEqual([
    'ok: the certificate is accepted',
    'ok: PAM answers',
    'ok: the broker answers',
  ])
  expect(await certificateChecks(env, 30 * HOUR_MS)).toEqual([
    'ok: the certificate is accepted', // it has a quarter of its lifetime left
    'ok: PAM answers',
    'ok: the broker answers',
  ])
  const warning = 'warn: the certificate expires in 0 days'
  expect(await certificateChecks(env, 40 * HOUR_MS)).toEqual([warning, warning, warning])
})
