import type { Person } from './person.ts'

export interface PamTarget {
  readonly url: string
  readonly team: string
  readonly keyId: string
  readonly keySecret: string
  /** A user of the team whose groups are read. */
  readonly user?: string | undefined
}

export interface EventHookTarget {
  /** The origin that the org calls; undefined: the receiver's own. */
  readonly url: string | undefined
  /** Of this machine, to which it leads. 0: any free one. */
  readonly port: number
  /** How long a delivery may take. */
  readonly waitMs: number
}

/** The org that a run checks, and what the run may use of it. */
export interface Target {
  readonly orgUrl: string
  /** An administrator's, for users, groups and policies. */
  readonly apiToken: string
  /** The one that Gatehouse is to have. */
  readonly brokerToken?: string | undefined
  readonly pam?: PamTarget | undefined
  readonly phone?: string | undefined
  readonly mailDomain?: string | undefined
  /** The origin of the portal's page: a Trusted Origin of the org. */
  readonly portalOrigin?: string | undefined
  /** Where the org's event hook reaches this machine. */
  readonly eventHook?: EventHookTarget | undefined
  readonly person?: Person | undefined
  /** How long an answer to a recovery takes at least. Undefined: Gatehouse's default. */
  readonly recoveryAnswerMs?: number | undefined
  /** Undefined: no bound. */
  readonly callsPerMinute: number | undefined
  /** Between two messages to the phone: the org refuses a second one within 30 seconds. */
  readonly phoneGapMs: number
  /** Between two polls of a push. */
  readonly pollMs: number
  /** How long the System Log may lag behind. */
  readonly settleMs: number
}
