import type { SecureContext } from 'node:tls'
import type { Config } from '../config/load-config.ts'
import { type Finding, skipped } from './finding.ts'

/** The configuration and the limits of all groups of checks. */
export interface DoctorContext {
  readonly config: Config
  /** Trusts the authorities of the configuration. */
  readonly secureContext: SecureContext | undefined
  /** For a call, connecting included. */
  readonly timeoutMs: number
  readonly now: () => number
  /** A user of the org, for the checks that need one. */
  readonly login?: string | undefined
  /** For a test sign-in. */
  readonly password?: string | undefined
  /** How long the broker waits before a slow response. */
  readonly slowMs: number
  /** How long to wait for Okta's System Log, whose events arrive with a delay. */
  readonly logMs: number
}

/** One check of the doctor. */
export interface Check {
  /** Such as `redis.reach`. */
  readonly name: string
  /**
   * This check is skipped unless each of these is `ok` or `warn`. They run earlier in the same
   * group.
   */
  readonly needs?: readonly string[]
  /** Not limited to the time of a check, only to that of all checks. */
  readonly mayTakeLong?: boolean
  run(): Finding | Promise<Finding>
}

/** Checks of one dependency, in order. Groups run at the same time. */
export interface CheckGroup {
  readonly checks: readonly Check[]
  /** Closes the connections. */
  close(): Promise<unknown>
}

export interface CheckResult extends Finding {
  readonly name: string
}

/** The checks of a group that are skipped for the same reason, such as `redis.reach`. */
export function skipAll(group: string, names: readonly string[], reason: string): CheckGroup {
  const checks = names.map((name) => ({ name: `${group}.${name}`, run: () => skipped(reason) }))
  return { checks, close: async () => {} }
}
