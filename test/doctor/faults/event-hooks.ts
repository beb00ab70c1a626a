import type { Faults } from './fault.ts'
import { drop, type PortalCause, when } from './portal.ts'

const LOST = { 'public.event_hook': 'fail: the event hook does not answer as Okta expects (HTTP 401)' }

/** How Okta's event hooks get lost. */
export const EVENT_HOOKS: Faults<PortalCause> = {
  'authorization-removed': {
    cause: { proxy: { request: drop('authorization') } },
    told: LOST,
    fix: 'with Authorization',
  },
  'other-secret': {
    cause: { env: { EVENT_HOOK_SECRET: 'plainly-fake-other-hook-secret' } },
    told: {
      ...LOST,
      'public.configuration':
        'warn: the running broker, or one of its replicas, has another EVENT_HOOK_SECRET than the doctor',
    },
    fix: 'the broker must have this EVENT_HOOK_SECRET',
  },
  'not-configured-in-the-broker': {
    cause: async ({ startReplica }) => {
      const port = await startReplica({ EVENT_HOOK_SECRET: '' })
      return { proxy: { portOf: () => port } }
    },
    told: {
      'public.event_hook': 'fail: the event hook does not answer as Okta expects (HTTP 404)',
      'public.configuration':
        'warn: the running broker, or one of its replicas, has another EVENT_HOOK_SECRET than the doctor',
    },
    fix: 'the broker must have this EVENT_HOOK_SECRET',
  },
  'challenge-removed': {
    cause: { proxy: { request: drop('x-okta-verification-challenge') } },
    told: { 'public.event_hook': /^fail: the event hook does not answer as Okta expects \(HTTP 4\d\d\)$/ },
    fix: 'X-Okta-Verification-Challenge',
  },
  'asks-who-is-signed-in': {
    cause: {
      proxy: {
        intercept: when(({ url }) => url?.startsWith('/hooks/') === true, 302, { location: '/signin' }),
      },
    },
    told: {
      'public.event_hook': 'fail: the event hook does not answer as Okta expects (HTTP 302)',
      'public.paths': 'fail: not passed to the broker: /hooks/org-events (EVENT_HOOK_SECRET; HTTP 302)',
    },
    fix: 'pass /hooks/org-events',
  },
  'large-events-refused': {
    // the limit for all other bodies
    cause: { proxy: { intercept: when(({ headers }) => Number(headers['content-length']) > 65_536, 413) } },
    told: {
      'public.event_hook': 'fail: the proxy does not pass events of 900 kB to the event hook (HTTP 413)',
    },
    fix: 'client_max_body_size 1m',
  },
}
