import { z } from 'zod'
import { invalidField } from '../errors.ts'
import { assertNavigation } from '../http/navigation.ts'
import { checkQuery, parseReturnQuery } from '../http/query.ts'
import { returnTarget } from '../http/redirect-target.ts'
import { getRequestContext } from '../http/request-context.ts'
import { type Operation, type Operations, type Route, routesOf } from '../http/route.ts'
import { PROOF_RULES, REASON } from './forward-auth-rules.ts'
import { CALLBACK_PATH, type HandOver } from './hand-over.ts'
import { hashState } from './state-cookie.ts'

const PAGE = {
  method: 'GET',
  withoutHead: true, // HEAD must not use up a code
  kind: 'open', // the routes accept only navigations
} as const satisfies Partial<Operation>

/** Pages of the applications' hosts, whose proxies pass them to the broker. */
export const HAND_OVER_OPERATIONS = {
  startHandOver: { ...PAGE, path: '/forward-auth/start' },
  completeHandOver: { ...PAGE, path: CALLBACK_PATH },
} as const satisfies Operations

/** The rules are those that a user can satisfy by signing in again: `/signin` applies them. */
export const START_QUERY = z.strictObject({
  returnTo: z.string('must occur once'),
  ...PROOF_RULES.shape,
  reason: REASON,
})

export interface HandOverRoutesOptions {
  readonly publicOrigin: string
  readonly handOver: Pick<HandOver, 'hostOf' | 'stateCookie' | 'complete'>
}

export function createHandOverRoutes({ publicOrigin, handOver }: HandOverRoutesOptions): Route[] {
  return routesOf(HAND_OVER_OPERATIONS, {
    startHandOver(req, res) {
      getRequestContext(req).errorFormat = 'page'
      assertNavigation(req.headers, 'own-origin')
      const { origin, targets } = handOver.hostOf(req)
      const { returnTo, amr = [], maxAuthAge, reason } = checkQuery(START_QUERY, parseReturnQuery(req.url))
      const target = returnTarget(returnTo, targets, origin)
      if (target === undefined) throw invalidField('returnTo: is not among the targets of this host')
      const { state, setCookie } = handOver.stateCookie.ensure(req)
      const signIn = new URL('/signin', publicOrigin)
      for (const method of amr) signIn.searchParams.append('amr', method)
      if (maxAuthAge !== undefined) signIn.searchParams.set('maxAuthAge', String(maxAuthAge))
      if (reason !== undefined) signIn.searchParams.set('reason', reason)
      signIn.searchParams.set('handover', hashState(state))
      signIn.searchParams.set('returnTo', target)
      res.append('Set-Cookie', setCookie).status(303).set('Location', signIn.href).end()
    },

    async completeHandOver(req, res) {
      getRequestContext(req).errorFormat = 'page'
      assertNavigation(req.headers, 'passed-on')
      const { target, setCookie } = await handOver.complete(req)
      if (setCookie !== undefined) res.append('Set-Cookie', setCookie)
      res.status(303).set('Location', target).end()
    },
  })
}
