import type { Request, Response } from 'express'
import { z } from 'zod'
import { invalidField } from '../../errors.ts'
import { deniedAtSignIn, missingMethods, PROOF_RULES, REASON } from '../../forward-auth/forward-auth-rules.ts'
import type { HandOver } from '../../forward-auth/hand-over.ts'
import { STATE_FORM } from '../../forward-auth/state-cookie.ts'
import { checkQuery, parseReturnQuery } from '../../http/query.ts'
import { type RedirectPrefix, returnTarget } from '../../http/redirect-target.ts'
import type { Sessions } from '../../session/sessions.ts'
import type { Client } from '../browser/client.ts'
import type { createReturnLoops } from './return-loops.ts'

export interface ReturnToOptions {
  readonly allowed: readonly RedirectPrefix[]
  readonly publicOrigin: string
  readonly signInUrl: string
  readonly sessions: Pick<Sessions, 'load' | 'find' | 'isKeyProved'>
  readonly handOver: Pick<HandOver, 'begin' | 'isApplication'>
  readonly loops: ReturnType<typeof createReturnLoops>
  readonly now: () => number
}

/**
 * `reason`: the rule that is not met, as far as the proxy tells. `prompt`: the browser returns from
 * the sign-in page, with the page's own query. `handover`: the hash of the state of a browser that
 * comes from `/forward-auth/start`.
 */
export const SIGN_IN_QUERY = z.strictObject({
  returnTo: z.string('must occur once'),
  ...PROOF_RULES.shape,
  reason: REASON,
  prompt: z.literal('login').optional(),
  handover: z.string().regex(STATE_FORM, 'must be the hash of a state').optional(),
})

/**
 * Where a browser goes that a proxy has found without a session, or with one that does not satisfy
 * a rule: to the sign-in page, or back if its session suffices by now.
 */
export function createReturnTo(options: ReturnToOptions) {
  const { allowed, publicOrigin, signInUrl, sessions, handOver, loops, now } = options
  const ofPage = new Set(new URL(signInUrl).searchParams.keys())

  return async function returnTo(req: Request, client: Client, res: Response): Promise<string> {
    const given = Object.entries(parseReturnQuery(req.url)).filter(([name]) => !ofPage.has(name))
    const query = checkQuery(SIGN_IN_QUERY, Object.fromEntries(given))
    const { handover: stateHash, reason: _, ...asked } = query
    const { returnTo } = asked
    const target = returnTarget(returnTo, allowed, publicOrigin)
    if (target === undefined) throw invalidField('returnTo: is not among the allowed targets')
    await sessions.load(req, res)
    const found = sessions.find(req)
    const denied = found && deniedAtSignIn(query, found.session, now())
    if (found !== undefined && denied === undefined) {
      const { origin } = new URL(target)
      const isHandOver = stateHash !== undefined && handOver.isApplication(origin)
      const kind = isHandOver ? 'hand_over' : origin === publicOrigin ? 'portal' : 'other_host'
      // the hash is another one each time if the browser loses the state
      loops.count(req, res, { kind, query: asked, target, deviceId: client.device.id })
      if (!isHandOver) return target
      return handOver.begin(found, { target, stateHash, isKeyProved: sessions.isKeyProved(req) })
    }
    const page = new URL(signInUrl)
    page.searchParams.set('returnTo', target)
    if (stateHash !== undefined) page.searchParams.set('handover', stateHash)
    // OpenID Connect's name for a sign-in despite a session
    if (found !== undefined) page.searchParams.set('prompt', 'login')
    if (denied !== undefined) page.searchParams.set('reason', denied)
    if (found !== undefined && denied === 'amr')
      for (const method of missingMethods(query, found.session)) page.searchParams.append('amr', method)
    return page.href
  }
}
