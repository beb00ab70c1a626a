import type { Proof } from './credentials.ts'

/** The user's choice to get a push without asking for it, on this device (`autoPush`). */
export interface AutoPush {
  /** From an earlier sign-in. */
  readonly stored?: boolean | undefined
  /** As last sent for a push. */
  readonly requested?: boolean | undefined
  /** The requested choice, once a push was approved. It is stored with the session. */
  readonly approved?: boolean | undefined
}

export interface AutoPushStep {
  readonly factorType?: string | undefined
  /** From the query of this step. */
  readonly requested?: boolean | undefined
  readonly stored?: boolean | undefined
}

export function nextAutoPush(
  before: AutoPush | undefined,
  { factorType, requested: sent, stored = before?.stored }: AutoPushStep,
  accepted: Proof | undefined,
): AutoPush | undefined {
  const isPush = factorType === 'push'
  const requested = isPush ? (sent ?? before?.requested) : before?.requested
  const approved = isPush && accepted?.kind === 'factor' ? requested : before?.approved
  if (stored === undefined && requested === undefined) return undefined
  return { stored, requested, approved }
}
