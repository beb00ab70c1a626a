import type { IncomingMessage } from 'node:http'
import { isSameSecret } from '../crypto/same-secret.ts'

export interface BearerToken {
  readonly token: string
}

export interface NamedToken extends BearerToken {
  readonly name: string
}

/**
 * The entry of `tokens` whose token is in `Authorization: Bearer <token>`, if any. All of them are
 * compared, so that the time depends on none.
 */
export function findBearer<Entry extends BearerToken>(
  { headers }: IncomingMessage,
  tokens: readonly Entry[],
): Entry | undefined {
  const given = /^Bearer +([\x21-\x7e]+)$/i.exec(headers.authorization ?? '')?.[1]
  return given === undefined ? undefined : tokens.filter(({ token }) => isSameSecret(given, token))[0]
}
