import { z } from 'zod'
import { parseStored } from '../../store/stored-json.ts'
import type { UpstreamAnswer } from '../../upstream/upstream-client.ts'
import { PamFailure } from '../upstream/pam-errors.ts'
import { isSameTeam } from '../upstream/team-name.ts'

/** A token as it was issued. Times are the API's. */
export interface IssuedToken {
  readonly token: string
  readonly expiresAtMs: number
  readonly lifetimeMs: number
}

/** When the end is missing, unreadable or past: used for a short while, and the 401 rule does the rest. */
const DEFAULT_LIFETIME_MS = 60_000
/** What may stand in an Authorization header (RFC 9110, field-content), without spaces. */
const BEARER = /^[\x21-\x7e]{1,8192}$/

/** Reads the answer of the issuing operation; `nowMs` is the API's time of that answer. */
export function parseIssuedToken({ json }: UpstreamAnswer, team: string, nowMs: number): IssuedToken {
  const fields = fieldsOf(json)
  if (typeof fields.bearer_token !== 'string' || !BEARER.test(fields.bearer_token))
    throw new PamFailure('unreadable', { reason: 'bearer_token' })
  if (typeof fields.team_name !== 'string' || !isSameTeam(fields.team_name, team))
    throw new PamFailure('other_team')
  const end = typeof fields.expires_at === 'string' ? Date.parse(fields.expires_at) : Number.NaN
  const lifetimeMs = end > nowMs ? end - nowMs : DEFAULT_LIFETIME_MS
  return { token: fields.bearer_token, expiresAtMs: nowMs + lifetimeMs, lifetimeMs }
}

/** undefined: nothing that this version wrote. */
export function parseStoredToken(text: string): IssuedToken | undefined {
  return StoredToken.safeParse(parseStored(text)).data
}

const StoredToken = z.object({ token: z.string(), expiresAtMs: z.number(), lifetimeMs: z.number() })

function fieldsOf(json: unknown): Record<string, unknown> {
  return typeof json === 'object' && json !== null ? (json as Record<string, unknown>) : {}
}
