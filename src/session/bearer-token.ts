import type { IncomingMessage } from 'node:http'
import { isSameSecret } from '../crypto/same-secret.ts'

export interface NamedToken {
  readonly name: string
  readonly token: string
}

/**
 * The name of the token in `Authorization: Bearer <token>`. undefined: none of `tokens`. All of them are compared, so that the time
 * depends on none.
 */
export function findBearer({ headers }: IncomingMessage, tokens: readonly NamedToken[]): string | undefined {
  const given = /^Bearer +([\x21-\x7e]+)$/i.exec(headers.authorization ?? '')?.[1]
  return given === undefined ? undefined : tokens.filter(({ token }) => isSameSecret(given, token))[0]?.name
}
