import type { ProbeAnswer } from '../http/doctor-probe.ts'
import { fieldsOf, type HttpApi } from '../upstream/http-api.ts'
import { type Answer, sendOrFail } from './calls.ts'
import { type Finding, fail, ok, warn } from './finding.ts'

/**
 * The ops listener must not be reachable where browsers are: through `PUBLIC_URL`, and on
 * `OPS_PORT` of the same host (`portApi`; undefined if the listener is on the loopback interface).
 * `/forward-auth` is for the proxy alone.
 */
export async function opsChecks(
  { answer }: { readonly answer: ProbeAnswer | undefined },
  api: HttpApi,
  portApi: HttpApi | undefined,
): Promise<Finding> {
  const portIsOpen = portApi !== undefined && (await servesOps(portApi, '', '/livez'))
  const open: string[] = []
  for (const prefix of PREFIXES)
    for (const path of prefix === '' ? Object.keys(SIGNS) : ['/livez', '/metrics'])
      if (await servesOps(api, prefix, path)) open.push(prefix + path)
  if (open.length > 0) return found(`${open.join(', ')} on PUBLIC_URL`, 'Do not route them to OPS_PORT.')
  if (portIsOpen) return found('OPS_PORT on the host of PUBLIC_URL', 'Do not publish the port.')
  // without a proxy, every path leads to the broker
  if (answer?.firstForwarded !== undefined && (await servesForwardAuth(api)))
    return warn(
      '/forward-auth is public',
      'Only the proxy itself may request it: do not pass it from clients to the broker (deploy/proxies).',
    )
  if (answer?.firstForwarded !== undefined && (await servesBackends(api)))
    return warn(
      '/app/v1 is public',
      'It is for the portal’s own backends, which reach the broker without this proxy: do not pass it from clients (deploy/proxies).',
    )
  return ok('the ops listener is not reachable through PUBLIC_URL')
}

function found(where: string, fix: string): Finding {
  return fail(`the ops listener is public: ${where}`, fix)
}

/** Where operators put a listener that shares an origin with others. */
const PREFIXES = [
  '',
  '/ops',
  '/gatehouse',
  '/internal',
  '/admin',
  '/actuator',
  '/management',
  '/monitoring',
  '/status',
  '/health',
]

/** How to tell a response of the ops listener from a page that a proxy serves for every path. */
const SIGNS: Readonly<Record<string, (answer: Answer) => boolean>> = {
  '/livez': ({ json }) => fieldsOf(json).status === 'alive',
  '/readyz': ({ json }) => 'draining' in fieldsOf(json),
  '/metrics': ({ bytes }) => bytes.includes('gatehouse_build_info'),
  '/openapi.json': ({ json }) => 'openapi' in fieldsOf(json),
  '/admin/users/doctor/sessions': ({ status, json }) =>
    status === 401 && typeof fieldsOf(json).errorCode === 'string',
}

export async function servesOps(api: HttpApi, prefix: string, path: string): Promise<boolean> {
  return SIGNS[path]?.(await get(api, prefix + path)) === true
}

/** 401 without a session, and 400 with any query, both without a body. */
async function servesForwardAuth(api: HttpApi): Promise<boolean> {
  const [plain, withQuery] = [await get(api, '/forward-auth'), await get(api, '/forward-auth?doctor')]
  const isEmpty = plain.bytes.length === 0 && withQuery.bytes.length === 0
  return isEmpty && plain.status === 401 && withQuery.status === 400
}

/** Without a token: 401, and how to authenticate. */
async function servesBackends(api: HttpApi): Promise<boolean> {
  const { status, headers, json } = await get(api, '/app/v1/pam/groups')
  const isBearer = /^Bearer/i.test(String(headers['www-authenticate'] ?? ''))
  return status === 401 && isBearer && fieldsOf(json).errorCode === 'E0000011'
}

const get = (api: HttpApi, path: string) => sendOrFail(api, { method: 'GET', path, headers: {} })
