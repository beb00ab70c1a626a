import {
  createHttpApi,
  type HttpApi,
  type UpstreamRequest,
  type UpstreamResponse,
} from '../upstream/http-api.ts'
import { UpstreamFailure } from '../upstream/upstream-failure.ts'
import type { DoctorContext } from './check.ts'

/**
 * The same code as the broker's own calls, so that certificates and the egress proxy are those of
 * its calls.
 */
export function createDoctorApi(
  baseUrl: string,
  { config, secureContext, timeoutMs, slowMs }: DoctorContext,
): HttpApi {
  const { egress } = config
  const api = createHttpApi({
    baseUrl,
    connectTimeoutMs: timeoutMs,
    totalTimeoutMs: timeoutMs + slowMs,
    maxConnections: 8,
    breaker: { consecutiveFailures: 100, halfOpenAfterMs: 1 }, // never opens: there are fewer calls
    secureContext,
    httpsProxy: egress.httpsProxy?.value,
    noProxy: egress.noProxy,
    name: 'doctor',
  })
  return { send: (request) => api.send({ timeoutMs, ...request }), close: () => api.close() }
}

/** A response, or the failure of the call, with status 0: each check judges it. */
export interface Answer extends UpstreamResponse {
  readonly failure?: UpstreamFailure
}

/**
 * A connection that is lost is tried once more: the other side may just have closed it when it was
 * idle.
 */
export async function sendOrFail(api: HttpApi, request: UpstreamRequest): Promise<Answer> {
  const answer = await sendOnce(api, request)
  return answer.failure?.outcome === 'connection_lost' ? sendOnce(api, request) : answer
}

/** For a call that counts, such as a sign-in. */
export async function sendOnce(api: HttpApi, request: UpstreamRequest): Promise<Answer> {
  try {
    return await api.send(request)
  } catch (failure) {
    if (!(failure instanceof UpstreamFailure)) throw failure
    return { status: 0, headers: {}, json: undefined, bytes: Buffer.of(), failure }
  }
}

/** `unreachable ECONNREFUSED` */
export function reasonOf({ outcome, code }: UpstreamFailure): string {
  return [outcome, code].filter((part) => part !== undefined).join(' ')
}
