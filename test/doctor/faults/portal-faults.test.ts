import type { IncomingHttpHeaders } from 'node:http'
import { expect, test } from '@jest/globals'
import type { CheckResult } from '../../../src/doctor/check.ts'
import { freePort } from '../../support/gatehouse.ts'
import { PORTAL_FAULTS } from './all-faults.ts'
import { said } from './fault.ts'
import { add, CLIENT, type PortalCause, write } from './portal.ts'
import { testPortalFaults, usePortal } from './use-portal.ts'

const around = usePortal()

const notOk = (results: readonly CheckResult[]) =>
  results
    .filter(({ name, status }) => status !== 'ok' && name !== 'redis.latency')
    .map((result) => `${result.name} ${said(result)}`)
const NOT_CHECKED = [
  'authn.tls skipped: AUTHN_BASE_URL is http://, on this machine',
  'authn.forwarded_for skipped: only a sign-in shows it: use --login and --password-stdin',
  'authn.device_token skipped: only a sign-in shows it: use --login and --password-stdin',
  'pam.user skipped: needs --login',
  'pam.key_expiry skipped: PAM_KEY_EXPIRES_AT is not set',
]

test('without a fault, all is well; nothing fails in the broker, and nothing is left in Redis', async () => {
  const { portal, healthy, log } = around()
  expect(notOk(healthy)).toEqual(NOT_CHECKED)
  expect(log).not.toContain('dependency_failed')
  expect(await portal.redis.client().keys('gatehouse:doctor:*')).toEqual([])
})

const append = ({ 'x-forwarded-for': given }: IncomingHttpHeaders) => ({
  'x-forwarded-for': given === undefined ? CLIENT : `${given}, ${CLIENT}`,
})
let lost = 0

test.each<[string, PortalCause]>([
  ['a proxy that appends to X-Forwarded-For', { proxy: { request: append } }],
  [
    'a proxy that writes the doctor’s address, which is in TRUST_PROXY',
    { proxy: { request: write({ 'x-forwarded-for': '127.0.0.1' }) } },
  ],
  [
    'a proxy with headers and a cookie of its own',
    {
      proxy: {
        request: write({ via: '1.1 edge', 'x-request-id': 'of-the-proxy-1', 'x-forwarded-proto': 'https' }),
        response: (headers) =>
          add({
            server: 'edge',
            'set-cookie': [...(headers['set-cookie'] ?? []), 'lb=node-1; Path=/; Secure; HttpOnly'],
          })(headers),
      },
    },
  ],
  [
    'two replicas, one of them with a key more',
    async ({ startReplica, gatehouse, env, redis, cleanUp }) => {
      const more = Buffer.alloc(32, 'plainly-fake-new-key').toString('base64')
      const client = redis.client()
      const registered = await client.hgetall('gatehouse:keys')
      cleanUp(async () => {
        await client.del('gatehouse:keys')
        await client.hset('gatehouse:keys', registered)
      })
      const ports = [
        new URL(gatehouse.url).port,
        await startReplica({ SECRET_KEYS: `${env.SECRET_KEYS},${more}` }),
      ]
      let next = 0
      return {
        proxy: { portOf: () => ports[next++ % 2] },
        env: { SECRET_KEYS: `${env.SECRET_KEYS},${more}` },
      }
    },
  ],
  [
    'a connection that is lost once',
    {
      proxy: {
        intercept(req) {
          if (lost > 0) return false
          lost++
          req.socket.destroy()
          return true
        },
      },
    },
  ],
  [
    'an ops listener on a closed port',
    async () => ({ env: { OPS_HOST: '0.0.0.0', OPS_PORT: String(await freePort()) } }),
  ],
  [
    'an egress proxy that is not for PUBLIC_URL',
    { env: { HTTPS_PROXY: 'http://127.0.0.1:9', NO_PROXY: 'localhost' } },
  ],
])('no false alarm: %s', async (_, cause) => {
  expect(notOk(await around().portal.diagnose(cause))).toEqual(NOT_CHECKED)
})

testPortalFaults(PORTAL_FAULTS, around)
