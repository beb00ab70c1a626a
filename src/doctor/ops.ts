import type { UpstreamClient, UpstreamResponse } from '../upstream/upstream-client.ts'
import { UpstreamFailure } from '../upstream/upstream-failure.ts'
import { type Check, type Finding, fail, ok } from './check.ts'
import { recordOf, sendOrFail } from './http-client.ts'

/**
 * The ops listener must not be reachable where browsers are: through `PUBLIC_URL` (`client`), and on `OPS_PORT` of the same host
 * (`portClient`; undefined if the listener is on the loopback interface).
 */
export function opsChecks(client: UpstreamClient, portClient: UpstreamClient | undefined): Check[] {
  return [
    {
      name: 'ops.closed',
      needs: ['public.reach'],
      async run() {
        const [portIsOpen, ...isOpen] = await Promise.all([
          portClient !== undefined && servesOps(portClient, '/livez'),
          ...Object.keys(SIGNS).map((path) => servesOps(client, path)),
        ])
        const open = Object.keys(SIGNS).filter((_, index) => isOpen[index])
        if (open.length > 0)
          return found(`${open.join(', ')} on PUBLIC_URL`, 'Do not route them to OPS_PORT.')
        if (portIsOpen) return found('OPS_PORT on the host of PUBLIC_URL', 'Do not publish the port.')
        return ok('the ops listener is not reachable through PUBLIC_URL')
      },
    },
  ]
}

function found(where: string, fix: string): Finding {
  return fail(`the ops listener is public: ${where}`, fix)
}

/** How to tell a response of the ops listener from a page that a proxy serves for every path. */
const SIGNS: Readonly<Record<string, (response: UpstreamResponse) => boolean>> = {
  '/livez': ({ json }) => recordOf(json).status === 'alive',
  '/readyz': ({ json }) => 'draining' in recordOf(json),
  '/metrics': ({ bytes }) => bytes.includes('gatehouse_build_info'),
  '/openapi.json': ({ json }) => 'openapi' in recordOf(json),
  '/admin/users/doctor/sessions': ({ status, json }) =>
    status === 401 && typeof recordOf(json).errorCode === 'string',
}

async function servesOps(client: UpstreamClient, path: string): Promise<boolean> {
  const response = await sendOrFail(client, { method: 'GET', path, headers: {} })
  return !(response instanceof UpstreamFailure) && SIGNS[path]?.(response) === true
}
