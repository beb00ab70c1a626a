import { upstreamUnavailable } from '../../errors.ts'
import type { Logger } from '../../observability/logger.ts'
import type { Metrics } from '../../observability/metrics.ts'
import { UpstreamFailure } from '../../upstream/upstream-failure.ts'
import type { Client } from '../browser/client.ts'
import { PICTURE } from '../transaction/link-paths.ts'
import type { OfferedResource, OfferedResources } from '../transaction/offered-resources.ts'
import type { Transaction } from '../transaction/transaction.ts'
import { type AuthnReply, record } from '../upstream/read-answer.ts'
import { type HiddenFactors, removeHiddenFactors } from './hidden-factors.ts'
import { type RewriteOptions, type RewrittenAnswer, rewriteAnswer } from './links.ts'
import { removeTokens, UnusableAnswer } from './token-search.ts'
import { createReportUnknownSteps } from './unknown-steps.ts'

export type Sanitizer = ReturnType<typeof createSanitizer>

export interface StepTokens {
  readonly before: Transaction
  /** Replaces the state token. */
  readonly handle: string
  /** Replaces the session token. undefined: the session token is removed. */
  readonly ssoToken?: string | undefined
}

export interface SanitizerDeps {
  readonly resources: Pick<OfferedResources, 'pictureHandle'>
  readonly upstreamOrigins: RewriteOptions['upstreamOrigins']
  readonly publicOrigin: string
  /** The broker's secrets, which are removed from every answer. */
  readonly ownSecrets: readonly string[]
  readonly hiddenFactors: HiddenFactors
  readonly log: Logger
  readonly metrics: Metrics
}

/**
 * Makes Okta's answers safe for a browser: links.ts puts the handle in the place of the state
 * token, and `filterTokens` is the last filter. Throws 502 if an answer cannot be sanitized.
 */
export function createSanitizer(deps: SanitizerDeps) {
  const { upstreamOrigins, publicOrigin, hiddenFactors, resources } = deps
  const reportUnknownSteps = createReportUnknownSteps(deps)

  return {
    /**
     * The answer of a step as JSON, with the handle instead of the state token, and without hidden
     * factors. A success has the `relayState` of a recovery.
     */
    step: (
      reply: Pick<AuthnReply, 'body' | 'isError'>,
      { before, handle, ssoToken }: StepTokens,
      client: Client,
    ) =>
      orUnusable(() => {
        const complete = completeAnswer(reply)
        const answer = hiddenFactors.size === 0 ? complete : removeHiddenFactors(complete, hiddenFactors)
        const rewritten = rewriteAnswer(answer, {
          upstreamOrigins,
          publicOrigin,
          handle,
          knownTokens: [before.stateToken, ...before.retiredTokens],
          pictureHandle: (path) => resources.pictureHandle(client.device.id, path),
        })
        if (!reply.isError) reportUnknownSteps(reply.body, rewritten.linkNames, client.requestId)
        const { relayState } = reply.isError ? {} : before
        const body = {
          ...rewritten.body,
          sessionToken: ssoToken, // undefined: not in the JSON
          ...(relayState === undefined ? {} : { relayState }),
        }
        return { text: filterTokens(deps, body, rewritten, client), offered: rewritten.offered }
      }),

    /**
     * The content of an offered resource, as JSON. A state token is removed, because no handle is
     * known.
     */
    resource: (content: unknown, { path, stateTokens }: OfferedResource, client: Client) =>
      orUnusable(() => {
        const pictureToken = PICTURE.exec(path.replace(/\?.*/, ''))?.[2] ?? ''
        const rewritten = rewriteAnswer(
          { content },
          {
            upstreamOrigins,
            publicOrigin,
            handle: undefined,
            knownTokens: [...stateTokens, pictureToken],
            pictureHandle: () => '',
          },
        )
        return filterTokens(deps, rewritten.body.content, rewritten, client)
      }),
  }
}

/**
 * The answer as clients know it. Okta may leave out the causes of an error (S7). A lockout ends the
 * transaction, so what needs a handle is left out: from primary authentication, Okta sends a link
 * to cancel without a state token (S1).
 */
function completeAnswer({ body, isError }: Pick<AuthnReply, 'body' | 'isError'>): AuthnReply['body'] {
  if (isError) return { ...body, errorCauses: body.errorCauses ?? [] }
  if (body.status !== 'LOCKED_OUT') return body
  const { stateToken: _token, _links: links, ...rest } = body
  const { cancel: _cancel, ...others } = record(links)
  return { ...rest, _links: others }
}

/**
 * The token filter: serializes the answer, and removes tokens and the broker's own secrets. Throws
 * a SyntaxError if the rest is not JSON.
 */
function filterTokens(
  { ownSecrets, log, metrics }: SanitizerDeps,
  body: unknown,
  { tokens, tokensInLinks }: RewrittenAnswer,
  { requestId }: Client,
): string {
  if (tokensInLinks > 0) metrics.tokenLeaksBlocked.inc({ found_in: 'link' }, tokensInLinks)
  const { text, removed } = removeTokens(JSON.stringify(body), [...tokens, ...ownSecrets])
  if (removed === 0) return text
  metrics.tokenLeaksBlocked.inc({ found_in: 'body' }, removed)
  log.error('token_leak_blocked', { requestId, count: removed })
  JSON.parse(text)
  return text
}

/** Turns what an answer of Okta cannot have into 502. */
function orUnusable<Result>(sanitize: () => Result): Result {
  try {
    return sanitize()
  } catch (error) {
    const code = whyUnusable(error)
    if (code === undefined) throw error
    throw upstreamUnavailable(new UpstreamFailure('invalid_response', { code }))
  }
}

function whyUnusable(error: unknown): string | undefined {
  if (error instanceof UnusableAnswer) return error.message
  if (error instanceof RangeError) return 'too deep' // nesting exhausts the stack
  // a removed token was a JSON number, so the rest is not JSON
  return error instanceof SyntaxError ? 'token outside a string' : undefined
}
