import { type Denial, GatehouseError, type SignInState } from 'gatehouse-client'
import type { Action } from 'gatehouse-client/messages'
import { messages } from './language/language.ts'

/** A message for the user. */
export interface Message {
  readonly tone: 'error' | 'info' | 'good'
  readonly title?: string | undefined
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

/** These say what comes next. */
const INFORMS: readonly Action[] = ['none', 'continue', 'sign-in-again']

export function messageOf(error: unknown): ErrorMessage {
  const { title, text, action, field, details } = messages.describeError(error)
  const {
    causes = [],
    requestId,
    retryAfterSeconds: waitSeconds = 0,
  }: Partial<GatehouseError> = error instanceof GatehouseError ? error : {}
  const message = { title, text, action, field, details, causes, waitSeconds }
  if (INFORMS.includes(action)) return { tone: 'info', ...message }
  return { tone: 'error', ...message, requestId: action === 'correct' ? undefined : requestId }
}

/** The error of the last action, or why the user sees this step. */
export function messageOfSignIn({ message, error, step }: SignInState): Message | undefined {
  if (!message || error) return error ? messageOf(error) : undefined
  const { key, title, text, action } = message
  if (key === 'accountUnlocked') return { tone: 'good', title, text }
  if (step && 'result' in step) return { tone: 'error', text }
  return { tone: 'info', title: action === 'sign-in' ? undefined : title, text }
}

/** Whether another sign-in of the same user can meet the rule of the application. */
export function canSignInHelp(denial: Denial): boolean {
  return messages.describeDenial(denial).action === 'sign-in-again'
}

export function denialOf(denial: Denial): Message {
  const { title, text } = messages.describeDenial(denial)
  return { tone: 'info', title, text }
}
