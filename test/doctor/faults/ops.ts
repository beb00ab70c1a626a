import type { Faults } from './fault.ts'
import type { Portal, PortalCause } from './portal.ts'

const opsPort = ({ gatehouse }: Portal) => new URL(gatehouse.opsUrl).port
const OPS_PATHS = ['/livez', '/readyz', '/metrics', '/openapi.json', '/admin/users/doctor/sessions']
const open =
  (...paths: readonly string[]): PortalCause =>
  (portal) => ({
    proxy: { portOf: (path) => (paths.includes(path) ? opsPort(portal) : undefined) },
  })
const told = (where: string) => ({ 'ops.closed': `fail: the ops listener is public: ${where} on PUBLIC_URL` })
const below =
  (prefix: string): PortalCause =>
  (portal) => ({
    proxy: {
      portOf: (path) => (path.startsWith(`${prefix}/`) ? opsPort(portal) : undefined),
      path: (path) => (path.startsWith(`${prefix}/`) ? path.slice(prefix.length) : path),
    },
  })

/** What must not be public. */
export const OPS: Faults<PortalCause> = {
  'everything-public': { cause: open(...OPS_PATHS), told: told(OPS_PATHS.join(', ')), fix: 'OPS_PORT' },
  'metrics-public': { cause: open('/metrics'), told: told('/metrics'), fix: 'OPS_PORT' },
  'admin-public': {
    cause: open('/admin/users/doctor/sessions'),
    told: told('/admin/users/doctor/sessions'),
    fix: 'OPS_PORT',
  },
  'public-below-a-path': { cause: below('/ops'), told: told('/ops/livez, /ops/metrics'), fix: 'OPS_PORT' },
  'public-below-the-actuator': {
    cause: below('/actuator'),
    told: told('/actuator/livez, /actuator/metrics'),
    fix: 'OPS_PORT',
  },
  'port-published': {
    cause: (portal) => ({ env: { OPS_HOST: '0.0.0.0', OPS_PORT: opsPort(portal) } }),
    told: { 'ops.closed': 'fail: the ops listener is public: OPS_PORT on the host of PUBLIC_URL' },
    fix: 'Do not publish the port',
  },
  'forward-auth-public': {
    cause: { proxy: { isClosed: (path) => path.startsWith('/app/') } },
    told: { 'ops.closed': 'warn: /forward-auth is public' },
    fix: 'do not pass it from clients',
  },
  'app-api-public': {
    cause: { proxy: { isClosed: (path) => path.startsWith('/forward-auth') } },
    told: { 'ops.closed': 'warn: /app/v1 is public' },
    fix: 'do not pass it from clients',
  },
}
