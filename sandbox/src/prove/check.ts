import type { Context } from './context.ts'

/**
 * One belief about Okta, and how a run sees whether it holds. `id` begins with an id of
 * docs/unproven.md, if the belief has one there: `R1.token-sms` is about R1.
 */
export interface Check {
  readonly id: string
  /** What the design of the broker assumes, in one sentence. The sandbox behaves so by default. */
  readonly belief: string
  /** The page and section of docs/ that depends on it. */
  readonly where: string
  /** What to change in the configuration or in the org if it does not hold. */
  readonly change: string
  readonly needs: readonly Need[]
  run(context: Context): Promise<Seen>
}

/** What a run may lack. `NEEDS` says why a check is then not testable. */
export const NEEDS = {
  mail: 'needs addresses that may get mail: --mail-domain',
  phone: 'needs a phone that may get messages: --phone',
  inbox: 'needs the messages that arrive: --with-person',
  person: 'needs a person with a phone, or an agent: --with-person',
  portal: 'needs an origin that is a Trusted Origin of the org: --portal-origin',
  pam: 'needs a team of the PAM API: PROVE_PAM_BASE_URL and what belongs to it',
  pamUser: 'needs the name of a user of the PAM team: PROVE_PAM_USER',
  eventHook: 'needs an address at which the org reaches this machine: --event-hook-url',
  brokerToken: 'needs the API token that Gatehouse is to have: PROVE_BROKER_TOKEN',
  classicEngine: 'is about Classic Engine, and this org is on Identity Engine',
  identityEngine: 'is about Identity Engine, and this org is on Classic Engine',
} as const
export type Need = keyof typeof NEEDS

/** What one run of a check has seen. */
export type Seen =
  | { readonly kind: 'decided'; readonly holds: boolean; readonly seen: string }
  | { readonly kind: 'not testable here' | 'unclear'; readonly seen: string }

export type Result = 'proved' | 'disproved' | 'not testable here' | 'unclear'

export interface CheckResult {
  readonly check: Omit<Check, 'run'>
  readonly result: Result
  readonly seen: string
  readonly ms: number
}

export function holds(condition: boolean, seen: string): Seen {
  return { kind: 'decided', holds: condition, seen }
}

export function notTestable(why: string): Seen {
  return { kind: 'not testable here', seen: why }
}

export function unclear(seen: string): Seen {
  return { kind: 'unclear', seen }
}

export function resultOf(seen: Seen): Result {
  if (seen.kind !== 'decided') return seen.kind
  return seen.holds ? 'proved' : 'disproved'
}

/** The id of docs/unproven.md that a check is about; undefined if it is about none of them. */
export function beliefIdOf(checkId: string): string | undefined {
  return /^[A-Z]\d+(?=\.|$)/.exec(checkId)?.[0]
}
