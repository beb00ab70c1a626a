import type { UpstreamResponse } from '../../upstream/upstream-client.ts'
import type { CallContext, PamCall } from './pam-call.ts'
import type { PamTunables } from './pam-deps.ts'
import type { PamSubject } from './pam-errors.ts'

/**
 * Sends a GET request whose response the broker can do without. A failure is neither counted nor logged, and a refusal says nothing
 * about the token, which stays in use.
 *
 * @throws PamFailure
 */
export type OptionalCall = (
  path: string,
  bearer: string,
  options: CallContext & { readonly subject: PamSubject },
) => Promise<UpstreamResponse>

export function createOptionalCall(call: PamCall, { lists, rateLimit }: PamTunables): OptionalCall {
  return (path, bearer, options) =>
    call({
      method: 'GET',
      path,
      headers: { Authorization: `Bearer ${bearer}` },
      ...options,
      lowPriority: true,
      isOptional: true,
      budget: { leftMs: rateLimit.maxWaitMs },
      timeoutMs: lists.maxTotalMs,
    })
}
