import type { z } from 'zod'
import type { BodyEncoding } from '../../http/request-body.ts'
import {
  activateBody,
  answerBody,
  changePasswordBody,
  duoCallbackBody,
  enrollBody,
  enrollResendBody,
  type QueryFlag,
  recoveryCodeBody,
  resetPasswordBody,
  sendLinkBody,
  stateBody,
  verifyBody,
} from './schemas.ts'
import { MAX_CONCURRENT } from './step.ts'

/** A step inside a transaction: its body bears the handle. The path is ours and the upstream's alike. */
export interface Operation {
  readonly name: string
  readonly path: string
  readonly body: z.ZodType<{ stateToken: string } & Record<string, unknown>>
  /** How the body arrives, and how it goes upstream. */
  readonly encoding: BodyEncoding
  /** Query parameters that pass on. */
  readonly query: readonly QueryFlag[]
  /** `offered`: refused unless the upstream has offered it in this transaction. */
  readonly allowed: 'offered' | 'always'
  /** What it proves when the upstream accepts it. */
  readonly proves: 'password' | 'new-password' | 'factor' | undefined
  /** Sent without a field of its own it asks how things stand: the poll of a push. */
  readonly polls: boolean
  /** While it runs, so many requests of its transaction may run, this one included. */
  readonly maxConcurrent: number
}

const API = '/api/v1/authn'
const FACTOR = `${API}/factors/:id`
/** A push factor is activated at a second path too: its links by mail and text message, and anew after a time-out. */
const USER_FACTOR = '/api/v1/users/:uid/factors/:id'

export const OPERATIONS: readonly Operation[] = [
  step('cancel', `${API}/cancel`, { allowed: 'always' }),
  step('previous', `${API}/previous`, { allowed: 'always' }),
  step('skip', `${API}/skip`),
  step('change_password', `${API}/credentials/change_password`, {
    body: changePasswordBody,
    proves: 'password',
  }),
  step('reset_password', `${API}/credentials/reset_password`, {
    body: resetPasswordBody,
    proves: 'new-password',
  }),
  step('recovery_answer', `${API}/recovery/answer`, { body: answerBody }),
  // answered late on purpose, and anybody can begin a recovery: each request that waits occupies a place
  step('recovery_verify', `${API}/recovery/factors/:type/verify`, {
    body: recoveryCodeBody,
    maxConcurrent: 2,
  }),
  step('recovery_resend', `${API}/recovery/factors/:type/resend`, { maxConcurrent: 2 }),
  step('enroll', `${API}/factors`, { body: enrollBody, query: ['updatePhone'] }),
  step('verify', `${FACTOR}/verify`, {
    body: verifyBody,
    query: ['rememberDevice', 'autoPush'],
    proves: 'factor',
    polls: true,
  }),
  step('resend', `${FACTOR}/verify/resend`, { query: ['rememberDevice', 'autoPush'] }),
  step('activate', `${FACTOR}/lifecycle/activate`, {
    body: activateBody,
    query: ['updatePhone'],
    polls: true,
  }),
  step('activate_poll', `${FACTOR}/lifecycle/activate/poll`, { query: ['updatePhone'], polls: true }),
  // the sign-in widget posts what Duo's frame gave it, then it polls: the answer to the form itself says nothing
  step('duo_callback', `${FACTOR}/lifecycle/duoCallback`, { body: duoCallbackBody, encoding: 'form' }),
  step('activate_resend', `${FACTOR}/lifecycle/resend`, { body: enrollResendBody, query: ['updatePhone'] }),
  step('activate_email', `${FACTOR}/lifecycle/activate/email`, {
    body: sendLinkBody,
    query: ['updatePhone'],
  }),
  step('activate_sms', `${FACTOR}/lifecycle/activate/sms`, { body: sendLinkBody, query: ['updatePhone'] }),
  step('activate', `${USER_FACTOR}/lifecycle/activate`, {
    body: activateBody,
    query: ['updatePhone'],
    polls: true,
  }),
  step('activate_email', `${USER_FACTOR}/lifecycle/activate/email`, {
    body: sendLinkBody,
    query: ['updatePhone'],
  }),
  step('activate_sms', `${USER_FACTOR}/lifecycle/activate/sms`, {
    body: sendLinkBody,
    query: ['updatePhone'],
  }),
]

function step(name: string, path: string, rest: Partial<Operation> = {}): Operation {
  return {
    name,
    path,
    body: stateBody,
    encoding: 'json',
    query: [],
    allowed: 'offered',
    proves: undefined,
    polls: false,
    maxConcurrent: MAX_CONCURRENT,
    ...rest,
  }
}

/** The upstream's path of a step: our template with the path's own ids, each one encoded segment. */
export function upstreamPath(operation: Operation, params: Readonly<Record<string, string>>): string {
  return operation.path.replace(/:(\w+)/g, (_, name: string) => encodeURIComponent(params[name] ?? ''))
}
