import { once } from 'node:events'
import { connect } from 'node:net'
import { isProxied } from '../upstream/no-proxy.ts'
import type { UpstreamFailure } from '../upstream/upstream-failure.ts'
import type { DoctorContext } from './check.ts'
import { type Finding, fail } from './finding.ts'

/**
 * What the egress proxy did to a call, so that its upstream was not reached. Undefined: nothing.
 */
export async function judgeEgressProxy(
  failure: UpstreamFailure | undefined,
  baseUrl: string,
  { config: { egress }, timeoutMs }: DoctorContext,
): Promise<Finding | undefined> {
  if (failure === undefined) return undefined
  const { httpsProxy, noProxy } = egress
  if (failure.outcome !== 'unreachable' || httpsProxy === undefined || !isProxied(baseUrl, noProxy))
    return refusalOfProxy(failure)
  const { hostname, port, protocol } = new URL(httpsProxy.value)
  const reason = await connectionFailure(
    hostname,
    Number(port || (protocol === 'https:' ? 443 : 80)),
    timeoutMs,
  )
  if (reason === undefined) return undefined
  return fail(
    `the proxy of HTTPS_PROXY does not answer (${reason})`,
    'Correct HTTPS_PROXY, DNS or the firewall, or start the proxy. If this host needs no proxy, add it to NO_PROXY.',
  )
}

/** A status of the egress proxy itself: the upstream was not reached. */
export function refusalOfProxy({ outcome, code = '' }: UpstreamFailure): Finding | undefined {
  if (outcome !== 'proxy_refused') return undefined
  const status = code.replace('PROXY_', '')
  return fail(
    `the proxy of HTTPS_PROXY refuses the connection (HTTP ${status})`,
    FIXES[status] ?? 'Let the proxy allow this host, or add the host to NO_PROXY.',
  )
}

const NO_PROXY_SERVER =
  'Correct HTTPS_PROXY: a web server answers there, which is no proxy (it does not know CONNECT).'
const FIXES: Readonly<Record<string, string>> = {
  '400': NO_PROXY_SERVER,
  '404': NO_PROXY_SERVER,
  '405': NO_PROXY_SERVER,
  '407': 'Correct the user and password in HTTPS_PROXY.',
  '501': NO_PROXY_SERVER,
}

/** Undefined if the port accepts a connection. */
async function connectionFailure(host: string, port: number, timeoutMs: number): Promise<string | undefined> {
  const socket = connect(port, host.replace(/^\[|\]$/g, ''))
  try {
    await once(socket, 'connect', { signal: AbortSignal.timeout(timeoutMs) })
    return undefined
  } catch (error) {
    const { code } = Object(error)
    return code === undefined || code === 'ABORT_ERR' ? 'timeout' : String(code)
  } finally {
    socket.destroy()
  }
}
