import type { UpstreamAnswer } from '../../upstream/upstream-client.ts'
import type { PamCall, PamRequest } from '../upstream/pam-call.ts'
import type { PamDeps } from '../upstream/pam-deps.ts'
import { PamFailure } from '../upstream/pam-errors.ts'
import type { MintLimit } from './mint-limit.ts'
import type { ServiceToken } from './token.ts'

export type AuthorizedCall = (request: PamRequest, limit: MintLimit) => Promise<UpstreamAnswer>

export interface AuthorizedCallOptions extends Pick<PamDeps, 'log'> {
  readonly call: PamCall
  readonly token: ServiceToken
}

/**
 * Sends a request with the service user's token. A 401 discards the token that was sent; if another token may help, the call is
 * repeated once (DESIGN §6).
 */
export function createAuthorizedCall({ call, token, log }: AuthorizedCallOptions): AuthorizedCall {
  return async function authorizedCall(request, limit) {
    for (let isRepeated = false; ; isRepeated = true) {
      const bearer = await token.get(request, limit)
      try {
        const answer = await call({ ...request, headers: { Authorization: `Bearer ${bearer}` } })
        await limit.accept()
        return answer
      } catch (error) {
        if (!isTokenRefused(error)) throw error
        await Promise.all([token.discard(bearer), limit.refuse(error.outcome)])
        if (!error.rule.renewsToken) throw error
        if (!isRepeated) continue
        const { requestId } = request
        log.error('pam_new_token_refused', { requestId, upstream: 'pam', name: error.outcome })
        throw error
      }
    }
  }
}

function isTokenRefused(error: unknown): error is PamFailure {
  return error instanceof PamFailure && (error.status === 401 || error.rule.renewsToken)
}
