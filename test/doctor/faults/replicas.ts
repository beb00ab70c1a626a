import { startRedis } from '../../support/redis-server.ts'
import type { Faults } from './fault.ts'
import type { Portal, PortalCause } from './portal.ts'

/** Requests go to the broker and to a replica with this environment in turn. */
const oneReplica =
  (env: (portal: Portal) => Promise<Readonly<Record<string, string>>>, now?: () => number): PortalCause =>
  async (portal) => {
    const ports = [new URL(portal.gatehouse.url).port, await portal.startReplica(await env(portal), now)]
    let next = 0
    return { proxy: { portOf: () => ports[next++ % 2] } }
  }
const OTHER_KEYS = { SECRET_KEYS: Buffer.alloc(32, 'plainly-fake-other-key').toString('base64') }
const KEYS_DIFFER =
  'fail: some answers prove that they come from this broker, others do not: a replica has other SECRET_KEYS, or its clock is wrong'
const OTHER_REDIS =
  'fail: the running broker, or one of its replicas, uses another Redis, database or key prefix than the doctor'
const differs = (variables: string) => ({
  'public.configuration': `warn: the running broker, or one of its replicas, has another ${variables} than the doctor`,
})
const HOUR_MS = 3_600_000

/** Replicas that are not alike, and a broker that runs with another configuration. */
export const REPLICAS: Faults<PortalCause> = {
  'one-with-other-keys': {
    cause: oneReplica(async () => ({ ...OTHER_KEYS, REDIS_URL: 'memory:' })),
    told: { 'public.reach': KEYS_DIFFER },
    fix: 'Give all replicas the same SECRET_KEYS',
  },
  'all-with-other-keys': {
    cause: { env: OTHER_KEYS },
    told: {
      'redis.keys': /^fail: SECRET_KEYS opens none/,
      // the secret is not sent to a broker that may be another one
      'public.event_hook': 'skipped: the broker does not answer the doctor’s probes',
      'public.headers': 'warn: the broker does not say which address it takes for the client’s',
    },
    fix: 'Put the lost key back',
  },
  'one-with-a-wrong-clock': {
    cause: oneReplica(
      async () => ({ REDIS_URL: 'memory:' }),
      () => Date.now() + HOUR_MS,
    ),
    told: { 'public.reach': KEYS_DIFFER },
    fix: 'clock',
  },
  'one-on-another-redis': {
    cause: oneReplica(async ({ cleanUp }) => {
      const other = await startRedis()
      cleanUp(other.stop)
      return { REDIS_URL: other.url }
    }),
    told: { 'public.redis': OTHER_REDIS },
    fix: 'the same REDIS_URL and REDIS_KEY_PREFIX',
  },
  'one-without-redis': {
    cause: oneReplica(async () => ({ REDIS_URL: 'memory:' })),
    told: { 'public.redis': OTHER_REDIS },
    fix: 'the same REDIS_URL and REDIS_KEY_PREFIX',
  },
  'another-database': {
    cause: ({ redis }) => ({ env: { REDIS_URL: `${redis.url}/1` } }),
    told: { 'public.redis': OTHER_REDIS },
    fix: 'the same REDIS_URL and REDIS_KEY_PREFIX',
  },
  'another-key-prefix': {
    cause: { env: { REDIS_KEY_PREFIX: 'other:' } },
    told: { 'public.redis': OTHER_REDIS },
    fix: 'the same REDIS_URL and REDIS_KEY_PREFIX',
  },
  'broker-without-its-redis': {
    cause: async ({ startReplica, cleanUp }) => {
      const lost = await startRedis()
      cleanUp(lost.stop)
      const port = await startReplica({ REDIS_URL: lost.url })
      await lost.kill()
      return { proxy: { portOf: () => port } }
    },
    told: { 'public.redis': 'fail: the running broker cannot read its Redis' },
    fix: '/readyz',
  },
  // as after a change of the environment without a restart
  'one-with-another-return-to': {
    cause: oneReplica(async () => ({ RETURN_TO: '' })),
    told: differs('RETURN_TO'),
    fix: 'Restart',
  },
  'one-with-another-token': {
    cause: oneReplica(async () => ({ AUTHN_API_TOKEN: 'plainly-fake-old-token' })),
    told: differs('AUTHN_API_TOKEN'),
    fix: 'Restart',
  },
  'one-with-another-org': {
    cause: oneReplica(async () => ({ AUTHN_BASE_URL: 'https://preview.example.com' })),
    told: differs('AUTHN_BASE_URL'),
    fix: 'Restart',
  },
  'one-with-another-session-life': {
    cause: oneReplica(async () => ({ SESSION_IDLE_MINUTES: '5', SESSION_ABSOLUTE_HOURS: '1' })),
    told: differs('SESSION_IDLE_MINUTES, SESSION_ABSOLUTE_HOURS'),
    fix: 'Restart',
  },
  'one-with-another-pam-key': {
    cause: oneReplica(async () => ({ PAM_KEY_SECRET: 'plainly-fake-old-secret' })),
    told: differs('PAM_KEY_ID or PAM_KEY_SECRET'),
    fix: 'Restart',
  },
}
