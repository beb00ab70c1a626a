import { setTimeout as pause } from 'node:timers/promises'
import { openBrowser, type PageAnswer } from '../support/browser.ts'
import { handleOf, verifyHref } from '../support/transaction-view.ts'
import { CROWD_ANSWER, CROWD_PASSWORD, crowdLogin, type Fleet } from './fleet.ts'

/** What one person saw on the way to being signed in. */
export interface Arrival {
  readonly login: string
  /** Who the session says it is, at the end. */
  readonly signedInAs: unknown
  /** Every status met, `0` for a connection that was cut. */
  readonly statuses: readonly number[]
  /** The causes of connections that broke after the request was taken; one that was never taken is not among them. */
  readonly cutOff: readonly string[]
  /** The longest wait for one answer. */
  readonly slowestMs: number
  readonly startedOver: number
}

export interface CrowdOptions {
  readonly fleet: Fleet
  readonly people: number
  /** Gives up then. */
  readonly withinMs: number
}

/** Signs so many people in at once, each going on at whichever broker answers. */
export function signInCrowd({ fleet, people, withinMs }: CrowdOptions): Promise<Arrival[]> {
  return Promise.all(Array.from({ length: people }, (_, n) => arrive(fleet, n, withinMs)))
}

/** Trouble that is worth another try of the same step, after a pause, as the browser library does while it polls. */
const AGAIN = new Set([0, 429, 502, 503, 504])

async function arrive(fleet: Fleet, n: number, withinMs: number): Promise<Arrival> {
  const login = crowdLogin(n)
  const statuses: number[] = []
  let slowestMs = 0
  let startedOver = 0
  const cutOff: string[] = []
  let turn = n
  const deadline = performance.now() + withinMs
  const browser = openBrowser(fleet.brokers[0]?.url ?? '')
  const headers = { 'x-forwarded-for': `10.9.${n >> 8}.${n & 255}` }

  const ask = async (method: 'get' | 'post', path: string, body?: unknown): Promise<PageAnswer> => {
    for (;;) {
      const broker = fleet.brokers[turn % fleet.brokers.length]
      const url = `${broker?.url}${path}`
      const sentAt = performance.now()
      const answer = await (method === 'get'
        ? browser.get(url, { headers })
        : browser.post(url, body, { headers })
      ).catch((error: unknown) => {
        const cause = causeOf(error)
        if (cause !== 'ECONNREFUSED') cutOff.push(`${method} ${path} ${cause}`)
        return undefined // asked again
      })
      slowestMs = Math.max(slowestMs, performance.now() - sentAt)
      statuses.push(answer?.status ?? 0)
      if (answer !== undefined && !AGAIN.has(answer.status)) return answer
      if (performance.now() > deadline)
        throw new Error(`${login} gave up at ${path} after ${statuses.join()}`)
      turn += 1
      await pause(100 + Math.random() * 400)
    }
  }

  await ask('get', '/api/v1/sessions/me')
  for (;;) {
    const asked = await ask('post', '/api/v1/authn', { username: login, password: CROWD_PASSWORD })
    const done =
      asked.json.status === 'MFA_REQUIRED'
        ? await ask('post', new URL(verifyHref(asked, 'question')).pathname, {
            stateToken: handleOf(asked),
            answer: CROWD_ANSWER,
          })
        : asked
    const isGone = done.json.errorCode === 'E0000011'
    if (!isGone && done.json.status !== 'SUCCESS') {
      throw new Error(`${login} was told ${done.status} ${done.text}`)
    }
    const session = await ask('get', '/api/v1/sessions/me')
    if (session.status === 200) {
      return { login, signedInAs: session.json.login, statuses, cutOff, slowestMs, startedOver }
    }
    // the step was taken and its answer, or what was written, went down with a server: the page begins anew
    startedOver += 1
  }
}

/** `ECONNREFUSED` where nobody listened: the request never left. By properties: what Node throws comes from another realm. */
function causeOf(error: unknown): string {
  const cause = typeof error === 'object' && error !== null && 'cause' in error ? error.cause : undefined
  return typeof cause === 'object' && cause !== null && 'code' in cause ? String(cause.code) : String(error)
}
