import { getFactorType } from '../../factor-types.ts'
import type { Answer } from './answer.ts'

/** A factor that is being set up, from its enrol step until it is active. */
export interface Enrolment {
  readonly factorType: string
  readonly provider?: string | undefined
  /** `updatePhone=true`: the user's phone number changes, also for another factor with that phone. */
  readonly updatesPhone: boolean
  /** It replaces an active factor of the same type and provider. */
  readonly replaces: boolean
}

/** The members of a transaction that concern enrolments. */
export interface EnrolmentState {
  readonly enrolment?: Enrolment | undefined
  readonly activeFactors: readonly string[]
}

export interface EnrolmentStep {
  readonly operation: string
  readonly fields: Readonly<Record<string, unknown>>
  readonly updatePhone: boolean
  readonly factorType: string | undefined
}

/** Operations after which a factor may be active. */
const ENROL_OPERATIONS: ReadonlySet<string> = new Set(['enroll', 'activate', 'activate_poll'])
/** Operations on a factor that is not active yet. */
const ACTIVATION_OPERATIONS: ReadonlySet<string> = new Set(['activate', 'activate_poll', 'activate_resend'])
/** Statuses in which the factor is not active yet. */
const ACTIVATION_STATUSES: ReadonlySet<string> = new Set(['MFA_ENROLL_ACTIVATE', 'FACTOR_ENROLL_ACTIVATE'])

/** The enrolment that a step starts or continues, if any. */
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
  if (!ACTIVATION_OPERATIONS.has(operation)) return undefined
  const begun = enrolment ?? (factorType === undefined ? undefined : { factorType, replaces: false })
  return begun && { ...begun, updatesPhone: updatePhone || enrolment?.updatesPhone === true }
}

/** The enrolment that is not complete after this answer, if any. */
export function nextEnrolment(
  { status }: Pick<Answer, 'status'>,
  inStep: Enrolment | undefined,
  before: Enrolment | undefined,
): Enrolment | undefined {
  return ACTIVATION_STATUSES.has(status) ? (inStep ?? before) : undefined
}

/** Whether this answer shows that the factor is active. */
export function completesEnrolment(operation: string, { status, factorResult }: Answer): boolean {
  const isPending = ACTIVATION_STATUSES.has(status) || status === 'LOCKED_OUT'
  const isRefused = factorResult !== undefined && factorResult !== 'SUCCESS'
  return ENROL_OPERATIONS.has(operation) && !isPending && !isRefused
}

/** An enrolment that was completed without a step here: a phone activates a push factor at Okta. */
export function findActivated(
  operation: string,
  { status, activeFactors }: Pick<Answer, 'status' | 'activeFactors'>,
  before: EnrolmentState,
): Enrolment | undefined {
  if (before.enrolment === undefined) return undefined
  const name = factorName(before.enrolment.factorType, before.enrolment.provider)
  const isListed = activeFactors.includes(name) && !before.activeFactors.includes(name)
  const isOver = operation === 'state' && status === 'SUCCESS' // without a step, only an active factor leads to SUCCESS
  return isListed || isOver ? before.enrolment : undefined
}

export function factorName(factorType: string, provider: string | undefined): string {
  return `${factorType} ${provider ?? ''}`
}

function text(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined
}
