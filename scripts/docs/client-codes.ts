import { ENTRY_OPERATIONS } from '../../src/authn/operations.ts'
import { OKTA_ERRORS, type OktaError } from '../../src/okta-errors.ts'

export const CLIENT_CODES_FILE = 'client/src/messages/okta-codes.ts'

const errors: readonly (readonly [string, OktaError])[] = Object.entries(OKTA_ERRORS)

/** The paths of the operations for which a code has a message of its own. */
const PATHS: Readonly<Record<string, string>> = { recovery_token: ENTRY_OPERATIONS.redeemRecoveryToken.path }

/** The message keys of Okta's error codes, for gatehouse-client. */
export function clientCodes(): string {
  const codes = errors.map(([code, { message }]) => `  ${code}: '${message}',\n`)
  const variants = errors.flatMap(([code, { variants = [] }]) =>
    variants.flatMap(({ operation, status, text, message }) => {
      if (message === undefined) return []
      const conditions = [
        operation === undefined ? '' : `, path: '${pathOf(operation)}'`,
        status === undefined ? '' : `, status: ${status}`,
        text ? `, text: ${text}` : '',
      ]
      return [`  { code: '${code}', key: '${message}'${conditions.join('')} },\n`]
    }),
  )
  return `/** Generated from src/okta-errors.ts by \`npm run docs\`. */
import type { MessageKey } from './message-keys.ts'

/** The messages for Okta's error codes, which Gatehouse uses too. */
export const OKTA_CODES: Readonly<Record<string, MessageKey>> = {
${codes.join('')}}

/** A message for a code under further conditions. */
export interface Variant {
  readonly code: string
  readonly key: MessageKey
  /**
   * Okta's answer to a request of this path. It has no causes, unlike the broker's own errors with
   * this code.
   */
  readonly path?: string
  readonly status?: number
  /**
   * In the summary or a cause. Texts of Okta follow the language of the org's brand: in another
   * one, others apply.
   */
  readonly text?: RegExp
}

/** The first one whose conditions are all met applies. */
export const VARIANTS: readonly Variant[] = [
${variants.join('')}]
`
}

function pathOf(operation: string): string {
  const path = PATHS[operation]
  if (path === undefined) throw new Error(`the path of ${operation} is missing in PATHS`)
  return path
}
