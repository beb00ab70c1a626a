/**
 * The texts contain no secret, no login and no part of a response except its status, type and
 * codes, addresses, the host of a redirect, and the names of network zones and networks.
 */
export interface Finding {
  readonly status: 'ok' | 'warn' | 'fail' | 'skipped'
  readonly detail: string
  /** How to solve the problem; null if there is none. */
  readonly fix: string | null
}

export const ok = (detail: string): Finding => ({ status: 'ok', detail, fix: null })
export const warn = (detail: string, fix: string): Finding => ({ status: 'warn', detail, fix })
export const fail = (detail: string, fix: string): Finding => ({ status: 'fail', detail, fix })
export const skipped = (reason: string, fix: string | null = null): Finding => ({
  status: 'skipped',
  detail: reason,
  fix,
})
