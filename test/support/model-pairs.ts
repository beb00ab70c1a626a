import { OPERATIONS } from '../../src/authn/sign-in/operations.ts'
import { ALLOWED, type Operation as SandboxOperation, type Status } from '../../src/sandbox/authn/statuses.ts'

/** An operation of the broker and the sandbox's name for it. */
export interface ModelOperation {
  readonly name: string
  /** A template with `:id`, `:uid`, `:type`. */
  readonly path: string
  readonly upstream: SandboxOperation
  /** The operation needs no offer. */
  readonly always: boolean
}

const UPSTREAM_NAMES: Readonly<Record<string, SandboxOperation>> = {
  cancel: 'cancel',
  previous: 'previous',
  skip: 'skip',
  change_password: 'change-password',
  reset_password: 'reset-password',
  recovery_answer: 'answer',
  recovery_verify: 'verify-recovery',
  recovery_resend: 'resend-recovery',
  enroll: 'enroll',
  verify: 'verify',
  resend: 'resend-challenge',
  activate: 'activate',
  activate_poll: 'activation-poll',
  activate_resend: 'resend-enrollment',
  activate_email: 'send-activation',
  activate_sms: 'send-activation',
}

/**
 * Every step of a transaction: the broker's table, and `/api/v1/authn` with a handle. The walk sends JSON, so Duo's form is tested by
 * `test/journeys/duo.test.ts` instead.
 */
export const MODEL_OPERATIONS: readonly ModelOperation[] = [
  { name: 'state', path: '/api/v1/authn', upstream: 'state', always: true },
  { name: 'introspect', path: '/api/v1/authn/introspect', upstream: 'state', always: true },
  { name: 'primary', path: '/api/v1/authn', upstream: 'authenticate', always: true },
  ...OPERATIONS.filter(({ encoding }) => encoding === 'json').map(({ name, path, allowed }) => {
    const upstream = UPSTREAM_NAMES[name]
    if (upstream === undefined) throw new Error(`the model does not know ${name}`)
    return { name, path, upstream, always: allowed === 'always' }
  }),
]

/** Only a step-up starts with UNAUTHENTICATED. */
export const MODEL_STATUSES = (Object.keys(ALLOWED) as Status[]).filter((one) => one !== 'UNAUTHENTICATED')

/** Statuses that end the transaction: every operation answers E0000011. */
export const OVER: ReadonlySet<string> = new Set(['SUCCESS', 'LOCKED_OUT'])

export interface Pairs {
  /** Operations that were not sent yet in this status. */
  unmetIn(status: string): ModelOperation[]
  /** Statuses with operations that were not sent yet. */
  unmetStatuses(): Status[]
  met(status: string, operation: ModelOperation): void
  /** The operation succeeded in this status. */
  taken(status: string, operation: ModelOperation): void
  /** The pairs that were never sent, and those that the sandbox allows but that never succeeded. */
  missing(): string[]
  readonly count: number
}

export function createPairs(): Pairs {
  const label = (status: string, { name, path }: ModelOperation) => `${status} × ${name} ${path}`
  const unmet = new Map(
    MODEL_STATUSES.flatMap((status) =>
      MODEL_OPERATIONS.map((operation) => [label(status, operation), { status, operation }] as const),
    ),
  )
  const untaken = new Set(
    MODEL_STATUSES.filter((status) => !OVER.has(status)).flatMap((status) =>
      ALLOWED[status]
        .filter((operation) => operation !== 'duo-callback')
        .map((operation) => `${status} × ${operation} succeeds`),
    ),
  )
  return {
    count: unmet.size,
    unmetIn(status) {
      const asked = [...unmet.values()].filter((one) => one.status === status).map((one) => one.operation)
      const wanted = MODEL_OPERATIONS.filter(({ upstream }) =>
        untaken.has(`${status} × ${upstream} succeeds`),
      )
      return [...new Set([...asked, ...wanted])]
    },
    unmetStatuses: () =>
      MODEL_STATUSES.filter((status) =>
        [...unmet.keys(), ...untaken].some((one) => one.startsWith(`${status} ×`)),
      ),
    met: (status, operation) => {
      unmet.delete(label(status, operation))
    },
    taken: (status, { upstream }) => {
      untaken.delete(`${status} × ${upstream} succeeds`)
    },
    missing: () => [...unmet.keys(), ...untaken],
  }
}
