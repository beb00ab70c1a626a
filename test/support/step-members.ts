import { expect } from '@jest/globals'
import type * as Client from 'gatehouse-client'

/** Whether each member of an interface is always there. The compiler finds a member that is missing or has the wrong word. */
type Members<Step> = {
  readonly [Name in keyof Step]-?: object extends Pick<Step, Name> ? 'offered' : 'always'
}

const always = 'always'
const offered = 'offered'
const STEP = {
  status: always,
  answer: always,
  stateToken: always,
  cancel: always,
  previous: offered,
} as const
const CHALLENGE = {
  ...STEP,
  factor: always,
  result: always,
  next: always,
  resend: offered,
  duo: offered,
} as const
const ACTIVATION = { ...CHALLENGE, qrCode: always, restart: offered, sendLink: offered } as const

interface StepMembers {
  readonly UNAUTHENTICATED: Members<Client.Unauthenticated>
  readonly PASSWORD_WARN: Members<Client.PasswordWarn>
  readonly PASSWORD_EXPIRED: Members<Client.PasswordExpired>
  readonly PASSWORD_RESET: Members<Client.PasswordReset>
  readonly MFA_REQUIRED: Members<Client.MfaRequired>
  readonly 'MFA_CHALLENGE verify': Members<Client.CodeChallenge>
  readonly 'MFA_CHALLENGE poll': Members<Client.PolledChallenge>
  readonly 'MFA_CHALLENGE redirect': Members<Client.RedirectChallenge>
  readonly MFA_CHALLENGE: Members<Client.HiddenChallenge>
  readonly MFA_ENROLL: Members<Client.MfaEnroll>
  readonly 'MFA_ENROLL_ACTIVATE activate': Members<Client.CodeActivation>
  readonly 'MFA_ENROLL_ACTIVATE poll': Members<Client.PolledActivation>
  readonly 'MFA_ENROLL_ACTIVATE redirect': Members<Client.RedirectActivation>
  readonly MFA_ENROLL_ACTIVATE: Members<Client.HiddenActivation>
  readonly RECOVERY_CHALLENGE: Members<Client.RecoveryChallenge>
  readonly RECOVERY: Members<Client.Recovery>
  readonly LOCKED_OUT: Members<Client.LockedOut>
  readonly SUCCESS: Members<Client.Success>
  readonly unknown: Members<Client.UnknownStep>
}

/** The interfaces of the package, by the status and `next`. */
export const STEP_MEMBERS: StepMembers = {
  UNAUTHENTICATED: { ...STEP, signIn: always },
  PASSWORD_WARN: { ...STEP, changePassword: always, skip: offered },
  PASSWORD_EXPIRED: { ...STEP, changePassword: always },
  PASSWORD_RESET: { ...STEP, resetPassword: always },
  MFA_REQUIRED: { ...STEP, factors: always, verify: always, challengeAllKeys: offered },
  'MFA_CHALLENGE verify': { ...CHALLENGE, verify: always },
  'MFA_CHALLENGE poll': { ...CHALLENGE, poll: always, correctAnswer: always },
  'MFA_CHALLENGE redirect': { ...CHALLENGE, redirectUrl: always },
  MFA_CHALLENGE: CHALLENGE,
  MFA_ENROLL: { ...STEP, factors: always, enroll: always, questions: always, skip: offered },
  'MFA_ENROLL_ACTIVATE activate': { ...ACTIVATION, activate: always },
  'MFA_ENROLL_ACTIVATE poll': { ...ACTIVATION, poll: always },
  'MFA_ENROLL_ACTIVATE redirect': { ...ACTIVATION, redirectUrl: always },
  MFA_ENROLL_ACTIVATE: ACTIVATION,
  RECOVERY_CHALLENGE: { ...STEP, verify: offered, resend: offered },
  RECOVERY: { ...STEP, answerQuestion: always },
  LOCKED_OUT: { ...STEP, unlock: offered },
  SUCCESS: { ...STEP, redirectUrl: always, unlocked: always },
  unknown: STEP,
}

/** The relation of the link that offers a move. */
const OFFERS: Readonly<Record<string, string>> = { previous: 'prev', skip: 'skip', resend: 'resend' }

/** Every kind of step that was met, with the members that it had. */
export type StepsMet = Map<string, Set<string>>

/**
 * The same object, which compares the own members of every step that its methods resolve with, or yield, with the table.
 * Throws if one is missing, or too many.
 */
export function checkSteps(gatehouse: Client.Gatehouse, met: StepsMet): Client.Gatehouse {
  const checked = <Value>(value: Value): Value => {
    if (value instanceof Promise) return value.then(checked) as Value
    if (typeof value !== 'object' || value === null) return value
    if (Symbol.asyncIterator in value) return checkedPolls(value as never) as Value
    if (!('status' in value && 'answer' in value)) return value
    checkMembers(value as never, met)
    return withChecks(value)
  }
  const withChecks = <Holder extends object>(holder: Holder): Holder => {
    const entries = Object.entries(holder).map(([name, member]: [string, unknown]) => [
      name,
      typeof member === 'function' ? (...args: unknown[]) => checked(member.apply(holder, args)) : member,
    ])
    return Object.fromEntries(entries) as Holder
  }
  async function* checkedPolls(steps: AsyncGenerator<Client.SignInStep>): AsyncGenerator<Client.SignInStep> {
    for await (const step of steps) yield checked(step)
  }
  return withChecks(gatehouse)
}

function checkMembers(step: Client.SignInStep, met: StepsMet): void {
  const { status, answer } = step
  const kind = 'next' in step && step.next ? `${status} ${step.next}` : status
  const table = new Map<string, object>(Object.entries(STEP_MEMBERS))
  const members: Readonly<Record<string, string>> = {
    ...(table.get(kind) ?? STEP_MEMBERS.unknown),
  }
  const own = Object.keys(step)
  const required = Object.keys(members).filter((name) => members[name] === 'always')
  expect({ kind, unknown: own.filter((name) => !(name in members)) }).toEqual({ kind, unknown: [] })
  expect({ kind, missing: required.filter((name) => !own.includes(name)) }).toEqual({ kind, missing: [] })
  for (const [name, relation] of Object.entries(OFFERS)) {
    if (members[name] !== 'offered') continue
    expect({ kind, [name]: name in step }).toEqual({ kind, [name]: relation in (answer._links ?? {}) })
  }
  const seen = met.get(table.has(kind) ? kind : 'unknown') ?? new Set()
  for (const name of own) seen.add(name)
  met.set(table.has(kind) ? kind : 'unknown', seen)
}
