import { z } from 'zod'
import { parseStored } from '../store/stored-json.ts'
import type { Session } from './session.ts'

/**
 * What a stored session looks like. It holds its own id; a record of another version or shape, or one copied from another
 * id, is no session.
 */
const StoredSession = z.object({
  version: z.literal(1),
  ownId: z.string(),
  publicId: z.string(),
  userId: z.string(),
  login: z.string(),
  profile: z.record(z.string(), z.unknown()),
  amr: z.array(z.string()),
  loginHash: z.string(),
  device: z.string(),
  userAgent: z.string(),
  createdAtMs: z.number(),
  lastSeenAtMs: z.number(),
})

/** What a stored text says of the session of this id; undefined when this version cannot read it. */
export function decodeSession(record: string | undefined, id: string): Session | undefined {
  const { success, data } = StoredSession.safeParse(parseStored(record))
  if (!success || data.ownId !== id) return undefined
  const { version: _version, ownId: _ownId, ...session } = data
  return session
}

export function encodeSession(session: Session, id: string): string {
  return JSON.stringify({ version: 1, ownId: id, ...session })
}
