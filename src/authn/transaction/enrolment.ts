import { getFactorType } from '../../factor-types.ts'
import type { Answer } from './answer.ts'

/** The factor that is being set up in a transaction, from its enrol step until it is active. */
export interface Enrolment {
  readonly factorType: string
  readonly provider?: string | undefined
  /** The user's phone changes with it (`updatePhone=true`), also where another factor has that phone. */
  readonly updatesPhone: boolean
  /** The user has a factor of this type and provider already, which this one replaces. */
  readonly replaces: boolean
}

/** What a transaction knows of it. */
export interface EnrolmentState {
  readonly enrolment?: Enrolment | undefined
  /** The factors that the user has, see `factorName`. */
  readonly activeFactors: readonly string[]
}

export interface EnrolmentStep {
  readonly operation: string
  readonly fields: Readonly<Record<string, unknown>>
  readonly updatePhone: boolean
  readonly factorType: string | undefined
}

/** Steps after which a factor may be active. */
const ENROLS: ReadonlySet<string> = new Set(['enroll', 'activate', 'activate_poll'])
/** Steps of a factor that is not active yet. */
const ACTIVATES: ReadonlySet<string> = new Set(['activate', 'activate_poll', 'activate_resend'])
/** Statuses under which the factor still waits for its activation. */
const WAITS_FOR_ACTIVATION: ReadonlySet<string> = new Set(['MFA_ENROLL_ACTIVATE', 'FACTOR_ENROLL_ACTIVATE'])

/** The enrolment that a step begins or continues; undefined: the step has nothing to do with one. */
export function enrolmentOfStep(
  { operation, fields, updatePhone, factorType }: EnrolmentStep,
  { enrolment, activeFactors }: EnrolmentState,
): Enrolment | undefined {
  if (operation === 'enroll') {
    const [type, provider] = [text(fields.factorType), text(fields.provider)]
    if (type === undefined) return undefined
    const replaces =
      getFactorType(type).several !== true && activeFactors.includes(factorName(type, provider))
    return { factorType: type, provider, updatesPhone: updatePhone, replaces }
  }
  if (!ACTIVATES.has(operation)) return undefined
  const begun = enrolment ?? (factorType === undefined ? undefined : { factorType, replaces: false })
  return begun && { ...begun, updatesPhone: updatePhone || enrolment?.updatesPhone === true }
}

/** The enrolment that is still under way after an answer. */
export function nextEnrolment(
  { status }: Pick<Answer, 'status'>,
  inStep: Enrolment | undefined,
  before: Enrolment | undefined,
): Enrolment | undefined {
  return WAITS_FOR_ACTIVATION.has(status) ? (inStep ?? before) : undefined
}

/** Whether the factor is active with this answer. */
export function completesEnrolment(operation: string, { status, factorResult }: Answer): boolean {
  const isOpen = WAITS_FOR_ACTIVATION.has(status) || status === 'LOCKED_OUT'
  const isRefused = factorResult !== undefined && factorResult !== 'SUCCESS'
  return ENROLS.has(operation) && !isOpen && !isRefused
}

/**
 * A factor that was being set up and is active without a step that says so: a phone activates a push factor at the upstream,
 * whether the page polls or goes back.
 */
export function findActivated(
  operation: string,
  { status, activeFactors }: Pick<Answer, 'status' | 'activeFactors'>,
  before: EnrolmentState,
): Enrolment | undefined {
  if (before.enrolment === undefined) return undefined
  const name = factorName(before.enrolment.factorType, before.enrolment.provider)
  const isListed = activeFactors.includes(name) && !before.activeFactors.includes(name)
  const isOver = operation === 'state' && status === 'SUCCESS' // only an active factor ends it without a step
  return isListed || isOver ? before.enrolment : undefined
}

export function factorName(factorType: string, provider: string | undefined): string {
  return `${factorType} ${provider ?? ''}`
}

function text(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined
}
