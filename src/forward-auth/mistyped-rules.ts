import type { Request } from 'express'
import { BrokerError } from '../errors.ts'
import { getRequestContext } from '../http/request-context.ts'
import { createLogThrottle } from '../observability/log-throttle.ts'
import type { Logger } from '../observability/logger.ts'
import type { DeniedBy, ForwardAuthRules } from './forward-auth-rules.ts'

export interface MistypedRulesOptions {
  readonly log: Logger
  /** Every value of a rule `amr`, and of `role` those that the broker knows. */
  readonly knownValues: Readonly<Record<'amr' | 'role', readonly string[]>>
}

export type MistypedRules = ReturnType<typeof createMistypedRules>

const MAX_CHARS = 300

/**
 * Warns of a rule of `/forward-auth` that is mistyped, and therefore refuses everyone. A line has
 * the names of parameters, and no value.
 */
export function createMistypedRules({ log, knownValues }: MistypedRulesOptions) {
  const mayLog = createLogThrottle()
  const warn = (req: Request, causes: readonly string[]) => {
    const reason = causes.join('; ').slice(0, MAX_CHARS)
    const { requestId } = getRequestContext(req)
    if (mayLog(reason) > 0) log.warn('forward_auth_rule_mistyped', { requestId, reason })
  }

  return {
    /** Of a query that is refused. */
    ofQuery(req: Request, error: unknown): void {
      if (error instanceof BrokerError) warn(req, error.causes)
    },

    /** Of a rule that has refused the user. */
    ofValue(req: Request, { amr, role }: ForwardAuthRules, denied: DeniedBy): void {
      if (denied === 'amr' && hasOther(amr, knownValues.amr)) warn(req, ['amr: no sign-in has this method'])
      if (denied === 'role' && hasOther(role, knownValues.role))
        warn(req, ['role: is no role that Gatehouse knows'])
    },
  }
}

const hasOther = (given: readonly string[] = [], known: readonly string[]) =>
  given.some((value) => !known.includes(value))
