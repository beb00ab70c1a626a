import { createHash, randomBytes } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { stringifySetCookie } from 'cookie'
import { readCookie } from '../http/cookies.ts'

const LIFETIME_S = 300
const STATE_BYTES = 32
/** Of a state and of its hash. */
export const STATE_FORM = /^[\w-]{43}$/

/** What the portal learns of a state: only the browser that has it can use the code. */
export const hashState = (state: string) => createHash('sha256').update(state).digest('base64url')

/**
 * The cookie of an application's host that makes a code of no use in another browser. It stays
 * after the hand-over, because tabs that open at the same time share it.
 */
export function createStateCookie({ secure }: { readonly secure: boolean }) {
  const name = secure ? '__Host-gatehouse-app-state' : 'gatehouse-app-state'
  const valueIn = readCookie(name)
  const stateIn = (req: IncomingMessage) => {
    const state = valueIn(req)
    return state !== undefined && STATE_FORM.test(state) ? state : undefined
  }

  return {
    name,
    stateIn,

    /** The state of this browser, and the `Set-Cookie` header that keeps it. */
    ensure(req: IncomingMessage) {
      const state = stateIn(req) ?? randomBytes(STATE_BYTES).toString('base64url')
      const attributes = { path: '/', httpOnly: true, secure, sameSite: 'lax', maxAge: LIFETIME_S } as const
      return { state, setCookie: stringifySetCookie(name, state, attributes) }
    },
  }
}
