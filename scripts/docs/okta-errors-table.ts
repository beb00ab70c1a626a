import { ENGLISH } from 'gatehouse-client/messages'
import { OKTA_ERRORS, type OktaError, type Variant } from '../../src/okta-errors.ts'
import { inCell, markdownTable } from './markdown.ts'

const errors: readonly (readonly [string, OktaError])[] = Object.entries(OKTA_ERRORS)

/** Every code of Okta, with what gatehouse-client tells the user. */
export function oktaErrorsTable(): string {
  const rows = errors.map(([code, { statuses, meaning, message }]) => [
    `${statuses.join(', ')} ${code}`,
    inCell(meaning),
    textOf(message),
  ])
  return markdownTable(['status, code', 'meaning', 'tell the user'], rows)
}

/** What codes mean under further conditions. */
export function oktaVariantsTable(): string {
  const rows = errors.flatMap(([code, { variants = [] }]) =>
    variants.flatMap(({ message, ...conditions }) =>
      message === undefined ? [] : [[code, conditionsOf(conditions), textOf(message)]],
    ),
  )
  return markdownTable(['code', 'if', 'tell the user'], rows)
}

function conditionsOf({ operation, status, text }: Omit<Variant, 'message'>): string {
  return [
    operation === undefined ? [] : [`in the answer to \`${PATHS[operation] ?? operation}\``],
    status === undefined ? [] : [`the status is ${status}`],
    text === undefined ? [] : [`a text matches \`${inCell(String(text))}\``],
  ]
    .flat()
    .join(', and ')
}

/** The operations of variants. */
const PATHS: Readonly<Record<string, string>> = { recovery_token: 'recovery/token' }

function textOf(key: string): string {
  const messages: Readonly<Record<string, readonly [title: string, text: string]>> = ENGLISH.messages
  const [title, text] = messages[key] ?? [key, '']
  return inCell(`**${title}.** ${text.replace('{retry}', 'You can try again in … seconds.')}`)
}
