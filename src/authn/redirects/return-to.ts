import type { Request, Response } from 'express'
import { invalidField } from '../../errors.ts'
import type { Sessions } from '../../session/sessions.ts'
import { allowedTarget, type RedirectPrefix } from './redirect-target.ts'

export interface ReturnToOptions {
  readonly allowed: readonly RedirectPrefix[]
  readonly signInUrl: string
  readonly sessions: Pick<Sessions, 'load' | 'find'>
}

/** Where a browser goes that a proxy has found without a session: to the sign-in page, or back if it has one by now. */
export function createReturnTo({ allowed, signInUrl, sessions }: ReturnToOptions) {
  return async function returnTo(req: Request, res: Response): Promise<string> {
    const target = allowedTarget(returnToOf(req), allowed)
    if (target === undefined) throw invalidField('returnTo: is not among the allowed targets')
    await sessions.load(req, res)
    if (sessions.find(req) !== undefined) return target
    const page = new URL(signInUrl)
    page.searchParams.set('returnTo', target)
    return page.href
  }
}

/** nginx and Caddy cannot encode the URL: one that is written as it is continues to the end of the query. */
function returnToOf({ url, query }: Request): unknown {
  return /[?&]returnTo=(https?:\/\/.*)/i.exec(url)?.[1] ?? query.returnTo
}
