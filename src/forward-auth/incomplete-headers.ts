import type { Request } from 'express'
import { getRequestContext } from '../http/request-context.ts'
import { createLogThrottle } from '../observability/log-throttle.ts'
import type { Logger } from '../observability/logger.ts'
import type { ForwardAuthRules } from './forward-auth-rules.ts'
import { namesNone } from './named-access.ts'

export type IncompleteHeaders = ReturnType<typeof createIncompleteHeaders>

const MAX_RULE_CHARS = 300

/** Warns that an application does not get the names of groups or roles that it may expect. */
export function createIncompleteHeaders({ log }: { readonly log: Logger }) {
  const mayLog = createLogThrottle()
  return {
    /** @param leftOut the number of names for which there was no space */
    warn(req: Request, rules: ForwardAuthRules, leftOut: number): void {
      const reason = namesNone(rules) ? 'none_named' : leftOut > 0 ? 'too_large' : undefined
      if (reason === undefined) return
      const rule = req.url.replace(/^[^?]*\?/, '')
      const { requestId } = getRequestContext(req)
      if (mayLog(`${reason} ${rule}`) > 0)
        log.warn('forward_auth_names_left_out', { requestId, reason, rule: rule.slice(0, MAX_RULE_CHARS) })
    },
  }
}
