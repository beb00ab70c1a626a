import { setTimeout as pause } from 'node:timers/promises'
import { openBrowser, type PageAnswer } from '../support/browser.ts'
import { handleOf, verifyHref } from '../support/transaction-view.ts'
import { until } from '../support/until.ts'
import { type Fleet, loginOf, USER_ANSWER, USER_PASSWORD } from './fleet.ts'

/** The result of one user's sign-in. */
export interface SignInResult {
  readonly login: string
  /** The login of the session at the end. */
  readonly signedInAs: unknown
  /** The status of every response, `0` for a connection that was cut. */
  readonly statuses: readonly number[]
  /** The causes of connections that were cut after they were accepted. */
  readonly cutOff: readonly string[]
  /** The longest response time. */
  readonly slowestMs: number
  readonly restarts: number
}

export interface SignInLoad {
  readonly fleet: Fleet
  readonly users: number
  readonly timeoutMs: number
  /**
   * Sends requests only to brokers that are ready, as a load balancer does. Default: to all of
   * them.
   */
  readonly onlyReady?: boolean
}

const READINESS_EVERY_MS = 250

/** Signs in so many users at once. Each continues with another broker if one fails. */
export async function signInUsers({ fleet, users, timeoutMs, onlyReady = false }: SignInLoad) {
  let ready = fleet.brokers
  const checkReadiness = async () => {
    const areReady = await fleet.areReady()
    ready = fleet.brokers.filter((_, at) => areReady[at])
  }
  const checking = onlyReady ? setInterval(checkReadiness, READINESS_EVERY_MS) : undefined
  const signingIn = Array.from({ length: users }, (_, n) => signIn(fleet, () => ready, n, timeoutMs))
  return Promise.all(signingIn).finally(() => clearInterval(checking))
}

/** Waits until some users have sent requests, so that the fault affects requests in flight. */
export const untilUnderLoad = (fleet: Fleet, users: number) =>
  until(() => fleet.sandbox.requestLog.authn.entries.length > users / 4, { timeoutMs: 60_000 })

/**
 * After these statuses the same request is sent again, as Okta's browser library does while it
 * polls.
 */
const RETRIABLE = new Set([0, 429, 502, 503, 504])

async function signIn(
  fleet: Fleet,
  brokers: () => Fleet['brokers'],
  n: number,
  timeoutMs: number,
): Promise<SignInResult> {
  const login = loginOf(n)
  const statuses: number[] = []
  let slowestMs = 0
  let restarts = 0
  const cutOff: string[] = []
  let next = n
  const deadline = performance.now() + timeoutMs
  const browser = openBrowser(fleet.brokers[0]?.url ?? '')
  const headers = { 'x-forwarded-for': `10.9.${n >> 8}.${n & 255}` }

  const ask = async (method: 'get' | 'post', path: string, body?: unknown): Promise<PageAnswer> => {
    for (;;) {
      const broker = brokers()[next % brokers().length]
      const url = `${broker?.url}${path}`
      const sentAt = performance.now()
      const answer = await (method === 'get'
        ? browser.get(url, { headers })
        : browser.post(url, body, { headers })
      ).catch((error: unknown) => {
        const cause = causeOf(error)
        if (cause !== 'ECONNREFUSED') cutOff.push(`${method} ${path} ${cause}`)
        return undefined // the request is retried
      })
      slowestMs = Math.max(slowestMs, performance.now() - sentAt)
      statuses.push(answer?.status ?? 0)
      if (answer !== undefined && !RETRIABLE.has(answer.status)) return answer
      if (performance.now() > deadline)
        throw new Error(`${login} got no response of ${path} after ${statuses.join()}`)
      next += 1
      await pause(100 + Math.random() * 400)
    }
  }

  await ask('get', '/api/v1/sessions/me')
  for (;;) {
    const answer = await ask('post', '/api/v1/authn', { username: login, password: USER_PASSWORD })
    const done =
      answer.json.status === 'MFA_REQUIRED'
        ? await ask('post', new URL(verifyHref(answer, 'question')).pathname, {
            stateToken: handleOf(answer),
            answer: USER_ANSWER,
          })
        : answer
    const isExpired = done.json.errorCode === 'E0000011'
    if (!isExpired && done.json.status !== 'SUCCESS') {
      throw new Error(`${login} got ${done.status} ${done.text}`)
    }
    const session = await ask('get', '/api/v1/sessions/me')
    if (session.status === 200) {
      return { login, signedInAs: session.json.login, statuses, cutOff, slowestMs, restarts }
    }
    // the step succeeded, but its response or its data was lost with a server: start again
    restarts += 1
  }
}

/**
 * `ECONNREFUSED`: the request was never sent. `instanceof` does not work, because Node's errors are
 * from another realm.
 */
function causeOf(error: unknown): string {
  const cause = typeof error === 'object' && error !== null && 'cause' in error ? error.cause : undefined
  return typeof cause === 'object' && cause !== null && 'code' in cause ? String(cause.code) : String(error)
}
