import {
  createUpstreamClient,
  type UpstreamClient,
  type UpstreamResponse,
} from '../upstream/upstream-client.ts'
import { UpstreamFailure } from '../upstream/upstream-failure.ts'
import type { DoctorContext } from './check.ts'

/** The broker's own client, so that certificates and the egress proxy are those of its calls. */
export function createHttpClient(baseUrl: string, { config, timeoutMs }: DoctorContext): UpstreamClient {
  const { egress } = config
  return createUpstreamClient({
    baseUrl,
    connectTimeoutMs: timeoutMs,
    totalTimeoutMs: timeoutMs,
    maxResponseBytes: 4_194_304,
    maxConnections: 8,
    breaker: { consecutiveFailures: 100, halfOpenAfterMs: 1 }, // never opens: there are fewer calls
    ca: egress.ca === undefined ? undefined : [egress.ca],
    httpsProxy: egress.httpsProxy?.current(),
    noProxy: egress.noProxy.join(','),
    name: 'doctor',
    metrics: { upstreamRequestDuration: { observe() {} } },
  })
}

/** The response, or the failure as data: each check judges it. */
export function sendOrFail(
  client: UpstreamClient,
  request: Parameters<UpstreamClient['send']>[0],
): Promise<UpstreamResponse | UpstreamFailure> {
  return client.send(request).catch((error: unknown) => {
    if (error instanceof UpstreamFailure) return error
    throw error
  })
}

/** Codes of Node and undici for a certificate that is not accepted, or a port that does not speak TLS. */
export function isTlsFailure({ code = '' }: UpstreamFailure): boolean {
  return /CERT|SIGNATURE|ISSUER|TLS|SSL|EPROTO/.test(code)
}

/** `unreachable ECONNREFUSED` */
export function reasonOf({ outcome, code }: UpstreamFailure): string {
  return [outcome, code].filter((part) => part !== undefined).join(' ')
}

export function recordOf(json: unknown): Readonly<Record<string, unknown>> {
  return typeof json === 'object' && json !== null ? { ...json } : {}
}
