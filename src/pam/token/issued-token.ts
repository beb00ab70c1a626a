import { z } from 'zod'
import type { UpstreamAnswer } from '../../upstream/upstream-client.ts'
import { isSameTeam } from '../upstream/group.ts'
import { PamFailure } from '../upstream/pam-errors.ts'

/** A token as PAM issued it, and as it is stored. Times are the API's. */
export const IssuedToken = z.object({ token: z.string(), expiresAtMs: z.number(), lifetimeMs: z.number() })
export type IssuedToken = Readonly<z.output<typeof IssuedToken>>

/** If the end is missing, unreadable or past. A token that is refused earlier is minted anew. */
const DEFAULT_LIFETIME_MS = 60_000
/** What an Authorization header may contain (RFC 9110, field-content), without spaces. */
const BEARER = /^[\x21-\x7e]{1,8192}$/

/** Reads the answer of the token-issuing operation; `nowMs` is the API's time of that answer. */
export function parseIssuedToken({ json }: UpstreamAnswer, team: string, nowMs: number): IssuedToken {
  const fields = typeof json === 'object' && json !== null ? (json as Record<string, unknown>) : {}
  const { bearer_token: token, team_name, expires_at } = fields
  if (typeof token !== 'string' || !BEARER.test(token))
    throw new PamFailure('unreadable', { reason: 'bearer_token' })
  if (typeof team_name !== 'string' || !isSameTeam(team_name, team)) throw new PamFailure('other_team')
  const endMs = typeof expires_at === 'string' ? Date.parse(expires_at) : Number.NaN
  const lifetimeMs = endMs > nowMs ? endMs - nowMs : DEFAULT_LIFETIME_MS
  return { token, expiresAtMs: nowMs + lifetimeMs, lifetimeMs }
}
