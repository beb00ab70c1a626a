import type { RedirectPrefix } from '../http/redirect-target.ts'

/** A host of applications that is not the portal's own. */
export interface ApplicationHost {
  readonly origin: string
  /** Without a port, because cookies do not depend on it. */
  readonly hostname: string
  /** The entries of RETURN_TO on this host. */
  readonly targets: readonly RedirectPrefix[]
}

/** By the values of `X-Forwarded-Host` that name them. */
export type ApplicationHosts = ReadonlyMap<string, ApplicationHost>

const DEFAULT_PORTS: Readonly<Record<string, number>> = { 'https:': 443, 'http:': 80 }

/** @param entries of RETURN_TO, on other hosts of the portal's site */
export function applicationHosts(entries: readonly RedirectPrefix[]): ApplicationHosts {
  const origins = [...new Set(entries.map(({ origin }) => origin))]
  const named = origins.flatMap((origin) => {
    const { host, hostname, port, protocol } = new URL(origin)
    const found = { origin, hostname, targets: entries.filter((entry) => entry.origin === origin) }
    const names = port === '' ? [host, `${host}:${DEFAULT_PORTS[protocol]}`] : [host]
    return names.map((name) => [name, found] as const)
  })
  return new Map(named)
}

export type HostProblem = 'untrusted' | 'missing' | 'several' | 'unknown'

/** What a request says about the host at which it arrived. */
export interface ArrivedAt {
  /** `X-Forwarded-Host`. Node joins several lines with commas. */
  readonly forwardedHost: string | undefined
  /** The header is used only from a proxy in TRUST_PROXY. */
  readonly isFromProxy: boolean
}

export function findHost(
  { forwardedHost = '', isFromProxy }: ArrivedAt,
  hosts: ApplicationHosts,
): ApplicationHost | HostProblem {
  if (!isFromProxy) return 'untrusted'
  if (forwardedHost === '') return 'missing'
  if (forwardedHost.includes(',')) return 'several'
  return hosts.get(forwardedHost.toLowerCase()) ?? 'unknown'
}
