import { v4 as uuid } from 'uuid'
import { stepNotOffered, unknownHandle } from '../../errors.ts'
import type { Sessions } from '../../session/sessions.ts'
import type { Client } from '../browser/client.ts'
import { createAnswer } from '../transaction/step-result.ts'
import { findStep, type Transaction } from '../transaction/transaction.ts'
import type { Step } from './run-step.ts'

/** Redirects the browser once to a link that Okta offered. The protocol requires Okta's own token in `Location`. */
export function redirectStep(
  path: string,
  handle: string,
  client: Client,
  sessions: Pick<Sessions, 'get'>,
): Step {
  return {
    handle,
    identity: [uuid()], // never shared with an identical request: the link works once
    plan: (before) => ({
      async run() {
        if (await isOver(before, client, sessions)) throw unknownHandle()
        const target = findStep(before.offered, 'GET', path)?.href
        if (target === undefined) throw stepNotOffered()
        const outcome = createAnswer('', { status: 302, headers: { Location: target } })
        return { outcome, after: removeRedirect(before, path) }
      },
    }),
  }
}

/** A redirect-only transaction ends with its session. If it opened none, it ends when another user signs in. */
async function isOver(
  { origin, sessionId, userId }: Transaction,
  client: Client,
  sessions: Pick<Sessions, 'get'>,
): Promise<boolean> {
  if (origin !== 'redirect-only') return false
  const id = sessionId ?? client.sessionId
  const session = id === undefined ? undefined : await sessions.get(id, client.device.id)
  return sessionId === undefined ? session !== undefined && session.userId !== userId : session === undefined
}

/** Removes the redirects of the path. A redirect-only transaction without redirects is over. */
function removeRedirect(transaction: Transaction, path: string): Transaction | undefined {
  const offered = transaction.offered.filter((step) => step.href === undefined || step.path !== path)
  return transaction.origin === 'redirect-only' && offered.length === 0
    ? undefined
    : { ...transaction, offered }
}
