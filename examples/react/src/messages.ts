import { type Denial, GatehouseError, type SessionEnd, type SignInStep } from 'gatehouse-client'
import type { Action } from 'gatehouse-client/messages'
import { messages, texts } from './language/language.ts'

/** A message for the user. */
export interface Message {
  readonly tone: 'error' | 'info' | 'good'
  readonly title?: string
  readonly text: string
  /** May be in another language. */
  readonly details?: readonly string[]
  /** Operators find the log line by it. */
  readonly requestId?: string | undefined
}

/** A message, and what the page has to do. */
export interface ErrorMessage extends Message {
  readonly action: Action
  /** The name of the field to correct, if it is known. */
  readonly field?: string | undefined
  /** The causes. Each may begin with a field's name. */
  readonly causes: readonly string[]
  /** 0: the user can try again now. */
  readonly waitSeconds: number
}

/** An error of this page, with a message for the user. */
export class PageError extends Error {}

export function messageOf(error: unknown): ErrorMessage {
  if (!(error instanceof GatehouseError)) {
    const text = error instanceof PageError ? error.message : texts.cannotContinue
    return { tone: 'error', text, action: 'retry', causes: [], waitSeconds: 0 }
  }
  const { causes, requestId, retryAfterSeconds: waitSeconds = 0 } = error
  const { title, text, action, field, details } = messages.describeError(error)
  const message = { title, text, action, field, details, causes, waitSeconds }
  if (action === 'none' || action === 'continue') return { tone: 'info', ...message }
  return { tone: 'error', ...message, requestId: action === 'correct' ? undefined : requestId }
}

/** The values of `factorResult` that are no failure. */
const IN_PROGRESS = new Set(['WAITING', 'CHALLENGE'])

/** Why the user sees this step. */
export function resultOf(step: SignInStep): Message | undefined {
  const result = 'result' in step ? step.result : undefined
  if (result === undefined || IN_PROGRESS.has(result)) return undefined
  return { tone: 'error', text: messages.describeResult(result).text }
}

export function denialOf(denial: Denial): Message {
  const { title, text } = messages.describeDenial(denial)
  return { tone: 'info', title, text }
}

export function sessionEndOf(reason: SessionEnd): Message {
  return { tone: 'info', text: messages.describeSessionEnd(reason).text }
}
