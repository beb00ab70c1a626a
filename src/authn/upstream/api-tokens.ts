import { isDeepStrictEqual } from 'node:util'
import { upstreamTemporarilyUnavailable } from '../../errors.ts'
import { DependencyFailure } from '../../observability/dependency-failure.ts'
import type { Logger } from '../../observability/logger.ts'
import type { Metrics } from '../../observability/metrics.ts'
import type { UpstreamResponse } from '../../upstream/upstream-client.ts'
import type { Client } from '../browser/client.ts'
import type { AuthnReply } from './read-answer.ts'

/** Tracks which of the SSWS tokens Okta accepts. */
export interface ApiTokens {
  /**
   * The tokens in the order in which one call tries them. If Okta refuses the first token and accepts the standby, the
   * standby is tried first, to save a refused call per step. The first token is tried first again every
   * `RETRY_FIRST_TOKEN_MS`, and after the list changes.
   */
  candidates(): TokenCandidates
  /** Reports that Okta refuses all tokens: an operator must act. */
  reportRefused(): void
  state(): TokenState
  acceptedWithin(ms: number): boolean
}

export interface TokenCandidates {
  readonly tokens: readonly string[]
  /** Reports that Okta accepted this token. Ignored if the list has changed since. */
  readonly accepted: (token: string) => void
}

/** `unknown` until Okta accepts or refuses a token of the list; `failing` while it refuses all. */
export type TokenState = 'ok' | 'failing' | 'unknown'

export interface ApiTokensOptions {
  /** The SSWS token in use first, then the standby, if any. */
  readonly apiTokens: () => readonly string[]
  readonly log: Logger
  readonly metrics: Metrics
  readonly monotonic: () => number
}

const RETRY_FIRST_TOKEN_MS = 600_000

/** One configured list of tokens. A changed list starts with no history. */
interface TokenList {
  readonly tokens: readonly string[]
  /** It replaced another list. */
  readonly isChange: boolean
  accepted?: { readonly token: string; readonly at: number }
  firstTriedAt: number
}

export function createApiTokens(options: ApiTokensOptions): ApiTokens {
  const { apiTokens, monotonic, log, metrics } = options
  let list: TokenList = { tokens: apiTokens(), isChange: false, firstTriedAt: monotonic() }
  let isRefused = false

  const setRefused = (refused: boolean) => {
    if (refused && !isRefused) log.error('upstream_token_refused', { upstream: 'authn' })
    if (!refused && isRefused) log.warn('upstream_token_accepted_again', { upstream: 'authn' })
    isRefused = refused
    metrics.upstreamTokenRefused.set(refused ? 1 : 0)
  }

  const current = (): TokenList => {
    const tokens = apiTokens()
    if (tokens !== list.tokens && !isDeepStrictEqual(tokens, list.tokens))
      list = { tokens, isChange: true, firstTriedAt: monotonic() }
    return list
  }

  const accept = (inUse: TokenList, token: string) => {
    if (current() !== inUse) return
    reportAccepted(inUse, token, options)
    inUse.accepted = { token, at: monotonic() }
    setRefused(false)
  }

  return {
    state: () => (isRefused ? 'failing' : current().accepted === undefined ? 'unknown' : 'ok'),
    acceptedWithin: (ms) => !isRefused && monotonic() - (current().accepted?.at ?? -Infinity) <= ms,
    candidates() {
      const inUse = current()
      return { tokens: inOrder(inUse, monotonic()), accepted: (token) => accept(inUse, token) }
    },
    reportRefused() {
      delete list.accepted
      metrics.upstreamTokenStandby.set(0)
      setRefused(true)
    },
  }
}

function inOrder(list: TokenList, nowMs: number): readonly string[] {
  const { tokens, accepted } = list
  const isStandby = accepted !== undefined && accepted.token !== tokens[0]
  if (isStandby && nowMs - list.firstTriedAt < RETRY_FIRST_TOKEN_MS)
    return [accepted.token, ...tokens.filter((token) => token !== accepted.token)]
  list.firstTriedAt = nowMs
  return tokens
}

function reportAccepted(list: TokenList, token: string, { log, metrics }: ApiTokensOptions): void {
  const [first] = list.tokens
  const name = token === first ? 'first' : 'standby'
  if (token !== (list.accepted?.token ?? first))
    log.warn('upstream_token_switched', { upstream: 'authn', name })
  else if (list.isChange && list.accepted === undefined)
    log.info('upstream_token_verified', { upstream: 'authn', name })
  metrics.upstreamTokenStandby.set(token === first ? 0 : 1)
}

/** Tries one token after the other. Returns the first answer other than E0000011, or E0000011 if all are refused. */
export async function tryTokens(
  { tokens, accepted }: TokenCandidates,
  send: (token: string) => Promise<UpstreamResponse>,
  read: (answer: UpstreamResponse) => AuthnReply,
): Promise<AuthnReply> {
  let reply: AuthnReply | undefined
  for (const token of tokens) {
    const answer = await send(token)
    reply = read(answer)
    if (provesToken(answer.status, reply)) accepted(token)
    if (!isInvalidToken(reply)) return reply
  }
  if (reply === undefined) throw new Error('no API token is configured')
  return reply
}

/** Whether the answer shows that the token is valid. Rate limits and failures do not. */
function provesToken(status: number, { errorCode }: AuthnReply): boolean {
  return (status >= 200 && status < 300) || status === 403 || (status === 401 && errorCode === 'E0000004')
}

/** Okta's code for an invalid API token, and for an unknown state or recovery token. */
const INVALID_TOKEN_CODE = 'E0000011'

export function isInvalidToken({ status, errorCode }: AuthnReply): boolean {
  return status === 401 && errorCode === INVALID_TOKEN_CODE
}

/** How long an accepted call proves that our token is valid. */
const TRUST_MS = 5000

/**
 * E0000011 on a call with a state or recovery token may be about that token or about our API token. If it is about
 * ours, the client must keep its transaction. An empty sign-in shows which: with a valid API token, Okta rejects it as
 * malformed.
 */
export function createTokenCheck(
  tokens: ApiTokens,
  sendEmptySignIn: (client: Client, deadline: number) => Promise<AuthnReply>,
) {
  let pending: Promise<boolean> | undefined

  const check = async (client: Client, deadline: number): Promise<boolean> => {
    const reply = await sendEmptySignIn(client, deadline)
    const { status } = reply
    if (status === 429 || status >= 500)
      throw upstreamTemporarilyUnavailable(
        1,
        new DependencyFailure('invalid_response', { upstreamStatus: status }),
      )
    return !isInvalidToken(reply)
  }

  return async (client: Client, deadline: number, isDecoy: boolean): Promise<boolean> => {
    if (tokens.acceptedWithin(TRUST_MS)) return true
    pending ??= check(client, deadline).finally(() => {
      pending = undefined
    })
    try {
      return await pending
    } catch (error) {
      if (isDecoy) return true // a real step would not be checked, and the two must look the same
      throw error
    }
  }
}
