import type { Request, Response } from 'express'
import { z } from 'zod'
import { invalidField } from '../../errors.ts'
import { deniedByProof, PROOF_RULES } from '../../forward-auth/forward-auth-rules.ts'
import { checkQuery, parseQuery } from '../../http/query.ts'
import { type RedirectPrefix, returnTarget } from '../../http/redirect-target.ts'
import type { Sessions } from '../../session/sessions.ts'

export interface ReturnToOptions {
  readonly allowed: readonly RedirectPrefix[]
  readonly publicOrigin: string
  readonly signInUrl: string
  readonly sessions: Pick<Sessions, 'load' | 'find'>
  readonly now: () => number
}

/** `prompt` has no effect: the sign-in page returns with its own query. */
export const SIGN_IN_QUERY = z.strictObject({
  returnTo: z.string('must occur once'),
  ...PROOF_RULES.shape,
  prompt: z.literal('login').optional(),
})

/**
 * Where a browser goes that a proxy has found without a session, or with one that does not satisfy
 * a rule: to the sign-in page, or back if its session suffices by now.
 */
export function createReturnTo({ allowed, publicOrigin, signInUrl, sessions, now }: ReturnToOptions) {
  const ofPage = new Set(new URL(signInUrl).searchParams.keys())

  return async function returnTo(req: Request, res: Response): Promise<string> {
    const given = Object.entries(queryOf(req)).filter(([name]) => !ofPage.has(name))
    const { returnTo, ...rules } = checkQuery(SIGN_IN_QUERY, Object.fromEntries(given))
    const target = returnTarget(returnTo, allowed, publicOrigin)
    if (target === undefined) throw invalidField('returnTo: is not among the allowed targets')
    await sessions.load(req, res)
    const session = sessions.find(req)?.session
    if (session !== undefined && deniedByProof(rules, session, now()) === undefined) return target
    const page = new URL(signInUrl)
    page.searchParams.set('returnTo', target)
    // OpenID Connect's name for a sign-in despite a session
    if (session !== undefined) page.searchParams.set('prompt', 'login')
    return page.href
  }
}

/**
 * nginx and Caddy cannot encode the URL: one that is written as it is, or its path, continues to
 * the end of the query.
 */
function queryOf({ url }: Request) {
  const query = url.replace(/^[^?]*\??/, '')
  const encode = (_: string, target: string) => `returnTo=${encodeURIComponent(target)}`
  return parseQuery(query.replace(/(?<=^|&)returnTo=((?:https?:\/)?\/.*)/, encode))
}
