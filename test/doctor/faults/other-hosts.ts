import { readFileSync } from 'node:fs'
import { createServer } from 'node:https'
import { makeCertificates } from '../../support/redis-certificates.ts'
import { deadPort, listenAnywhere } from '../../support/stub-upstream.ts'
import type { Faults } from './fault.ts'
import { always, drop, type Portal, type PortalCause, WRITTEN, when, without, write } from './portal.ts'

const told = (detail: string) => ({
  'public.applications': new RegExp(`^${detail.replaceAll('{host}', 'localhost:\\d+')}$`),
})
const PASS = 'must pass Cookie, Set-Cookie, Location and the Sec-Fetch headers'
const elsewhere = (port: number) => ({ env: { RETURN_TO: `https://localhost:${port}/wiki` } })
const CONFIGURATION = {
  'public.configuration':
    'warn: the running broker, or one of its replicas, has another RETURN_TO than the doctor',
}

/** What the proxy of an application on a host of its own does wrong. */
export const OTHER_HOSTS: Faults<PortalCause> = {
  'start-not-passed': {
    cause: { application: { intercept: when(({ url }) => url?.startsWith('/forward-auth') === true, 404) } },
    told: told('warn: {host} does not pass /forward-auth/start to the broker \\(HTTP 404\\)'),
    fix: 'docs/applications.md',
  },
  'callback-not-passed': {
    cause: {
      application: { intercept: when(({ url }) => url?.startsWith('/forward-auth/callback') === true, 404) },
    },
    told: told(
      'fail: {host} passes /forward-auth/start to the broker, but not /forward-auth/callback \\(HTTP 404\\)',
    ),
    fix: 'docs/applications.md',
  },
  'asks-who-is-signed-in-before-the-start': {
    cause: { application: { intercept: always(302, { location: '/forward-auth/start?returnTo=/' }) } },
    told: told('fail: {host} sends /forward-auth/start to /forward-auth/start again, in a loop'),
    fix: 'without asking who is signed in',
  },
  'host-not-named': {
    cause: { application: { request: drop('x-forwarded-host') } },
    told: told('fail: X-Forwarded-Host does not arrive from {host}'),
    fix: 'as a literal',
  },
  'other-host-named': {
    cause: { application: { request: write({ 'x-forwarded-host': 'localhost' }) } },
    told: told('fail: X-Forwarded-Host arrives from {host} as another host'),
    fix: 'as a literal',
  },
  'host-of-clients-passed-on': {
    cause: ({ applicationHost }) => ({
      application: {
        request: ({ 'x-forwarded-host': given }) => write({ 'x-forwarded-host': given ?? applicationHost })(),
      },
    }),
    told: told('fail: the proxy of {host} passes on the X-Forwarded-Host of clients: it can be forged'),
    fix: 'as a literal',
  },
  'cookies-removed': {
    cause: { application: { response: without('set-cookie') } },
    told: told(
      'fail: the cookie of {host}/forward-auth/start does not come back at /forward-auth/callback \\(HTTP 401 E0000011\\)',
    ),
    fix: PASS,
  },
  'cookies-of-gatehouse-removed-from-requests': {
    // the rule that keeps them from the application, on the paths of Gatehouse too
    cause: ({ applicationHost }) => ({
      application: { request: () => ({ ...drop('cookie')(), 'x-forwarded-host': applicationHost }) },
    }),
    told: told(
      'fail: the cookie of {host}/forward-auth/start does not come back at /forward-auth/callback \\(HTTP 401 E0000011\\)',
    ),
    fix: PASS,
  },
  'sec-fetch-removed': {
    cause: ({ applicationHost }) => ({
      application: { request: () => ({ ...drop('sec-fetch-mode')(), 'x-forwarded-host': applicationHost }) },
    }),
    told: told('fail: {host}/forward-auth/start does not lead to /signin \\(HTTP 403 E0000006\\)'),
    fix: PASS,
  },
  'location-rewritten': {
    cause: ({ applicationHost }) => ({
      application: {
        response: ({ location, ...headers }) => ({
          ...headers,
          ...(location && { location: location.replace(/^https?:\/\/[^/]+/, `https://${applicationHost}`) }),
        }),
      },
    }),
    told: told('fail: {host}/forward-auth/start does not lead to /signin \\(HTTP 303\\)'),
    fix: PASS,
  },
  'not-in-trust-proxy': {
    cause: async ({ startReplica, applicationHost }) => {
      const port = await startReplica({ TRUST_PROXY: '10.0.0.0/8' })
      return {
        application: {
          portOf: () => port,
          request: () => ({ ...WRITTEN, 'x-forwarded-host': applicationHost }),
        },
      }
    },
    told: told('fail: the proxy of {host} is not in TRUST_PROXY, so its X-Forwarded-Host does not count'),
    fix: 'to TRUST_PROXY',
  },
  'does-not-answer': {
    cause: async () => elsewhere(await deadPort()),
    told: {
      ...told('warn: {host} does not answer \\(unreachable ECONNREFUSED\\)'),
      ...CONFIGURATION,
    },
    fix: 'its proxy',
  },
  'certificate-not-accepted': {
    cause: async ({ cleanUp }) => {
      const foreign = makeCertificates()
      const server = createServer({
        cert: readFileSync(foreign.certFile),
        key: readFileSync(foreign.keyFile),
      })
      const port = await listenAnywhere(server)
      cleanUp(() => {
        server.close()
        foreign.remove()
      })
      return elsewhere(port)
    },
    told: {
      ...told('fail: the certificate of {host} is not accepted \\(UNABLE_TO_VERIFY_LEAF_SIGNATURE\\)'),
      ...CONFIGURATION,
    },
    fix: 'intermediate certificates',
  },
  'not-in-return-to-of-the-broker': {
    cause: async ({ startReplica }: Portal) => {
      const port = await startReplica({ RETURN_TO: '' })
      return { proxy: { portOf: () => port }, application: { portOf: () => port } }
    },
    told: {
      'public.configuration':
        'warn: the running broker, or one of its replicas, has another RETURN_TO than the doctor',
      ...told('fail: {host}/forward-auth/start does not lead to /signin \\(HTTP 40\\d E\\d+\\)'),
    },
    fix: 'Restart each replica',
  },
}
