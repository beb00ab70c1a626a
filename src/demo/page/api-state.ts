import { type Json, record, text } from './api-document.js'
import { byId, element } from './parts/elements.js'
import type { User } from './tools/user.js'

/** Any handle, such as those in the document's examples. */
const HANDLE = /\b00[\w-]{43}(?![\w-])/g
const EXAMPLE_PASSWORD = 'An-Example-Password-1'

let users: readonly User[] = []
let handle: string | undefined
let answer: Json = {}

export async function loadUsers(): Promise<void> {
  users = await (await fetch('/demo/users')).json()
}

/** The last answer of a sign-in that was not an error. */
export function lastAnswer(): Json {
  return answer
}

/** Keeps the handle of an answer, and writes it into every form. A cancelled or expired sign-in is over. */
export function keepAnswer(operationId: string, status: number, body: Json): void {
  const isOver = body.errorCode === 'E0000011' || (operationId === 'cancel' && status === 200)
  if (!isOver && (status !== 200 || typeof body.status !== 'string')) return
  answer = isOver ? {} : body
  handle = typeof answer.stateToken === 'string' ? answer.stateToken : undefined
  for (const input of document.querySelectorAll<HTMLInputElement>('form.try :is(input, textarea)'))
    input.value = withHandle(input.value)
}

export function withHandle(words: string): string {
  return handle === undefined ? words : words.replace(HANDLE, handle)
}

/** Replaces the handle and the passwords of an example by those of this sign-in and of the sandbox. */
export function withOwnValues(example: unknown): Json {
  const body = record(JSON.parse(withHandle(JSON.stringify(example ?? {}))))
  const username = text(body.username) || userIn(answer)
  const password = users.find(({ login }) => login === username)?.password
  const own = Object.entries(body).map(([name, value]) => [
    name,
    value === EXAMPLE_PASSWORD ? (password ?? value) : value,
  ])
  return Object.fromEntries(own)
}

/** The login of the user of an answer. */
export function userIn({ _embedded }: Json): string {
  return text(record(record(record(_embedded).user).profile).login)
}

/** Shows who is signed in and the state of the sign-in. The request also sets the device cookie. */
export async function showState(): Promise<void> {
  const response = await fetch('/api/v1/sessions/me')
  const session = response.ok ? record(await response.json()) : {}
  const to = (id: string, words: string) => element('a', { href: `#${id}` }, words)
  const signedIn = session.login !== undefined
  byId('state').replaceChildren(
    signedIn ? `Signed in as ${text(session.login)}. ` : 'Not signed in. ',
    handle === undefined
      ? 'No sign-in is in progress. '
      : `The sign-in is in the state ${text(answer.status)}; forms have its stateToken. `,
    ...(signedIn
      ? ['See ', to('getSession', 'the session'), ' and ', to('getAccess', 'the groups'), '.']
      : []),
    ...(signedIn || handle !== undefined
      ? []
      : ['Start with ', to('authenticate', 'POST /api/v1/authn'), '.']),
  )
}
