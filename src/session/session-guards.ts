import { sessionChanged } from '../errors.ts'
import type { Guard } from '../http/compose-guards.ts'
import type { Sessions } from './sessions.ts'

/** What routes need before they use the session of a request. */
export function createSessionGuards(sessions: Pick<Sessions, 'load' | 'findUnproved'>) {
  /** Before `find`, `require` and `refresh`. */
  const loadSession: Guard = (req, res, next) => sessions.load(req, res).then(() => next())

  /**
   * A request may name the session that its page belongs to. If the browser has another one by now,
   * it is refused with 409; also a sign-out, which needs no bound cookie.
   */
  const refuseOtherSession: Guard = (req, res, next) => {
    const expected = req.headers['x-gatehouse-session']
    if (expected === undefined) return next()
    return sessions.load(req, res).then(() => {
      const found = sessions.findUnproved(req)
      if (found !== undefined && found.session.publicId !== expected) throw sessionChanged()
      return next()
    })
  }

  return { loadSession, refuseOtherSession }
}
