export type EventHookAddress = {
  url: string
  /** The value of the header `Authorization`. */
  secret: string
  /** The value of `X-Forwarded-For`, for a receiver that wants it of the proxy in front. */
  forwardedFor?: string
}

/** The sender's address as the receiver's proxy would name it: one that is for documentation. */
export const SENDER = '203.0.113.1'

/**
 * A verification or a delivery of this event, with an answer for each attempt. `at` is in
 * milliseconds.
 */
export type HookCall = { at: number; eventType: string | undefined; answers: HookAnswer[] }

/** The status of a response, or why there is none. */
export type HookAnswer = number | 'timeout' | 'no connection'

export type HookCalls = {
  /** The last 10,000, oldest first. Always the same array. */
  calls: readonly HookCall[]
  /** Whether the receiver returns the challenge. */
  verify(address: EventHookAddress, challenge: string): Promise<Verification>
  /**
   * The last answer. Never rejects. As at Okta, it is repeated once if there is no response or a
   * 5xx.
   */
  deliver(address: EventHookAddress, eventType: string, body: object): Promise<HookAnswer>
  clear(): void
}

export type Verification = { isVerified: boolean; answer: HookAnswer }

const MAX_CALLS = 10_000

export function createHookCalls({ now, timeoutMs }: { now: () => number; timeoutMs: number }): HookCalls {
  const calls: HookCall[] = []

  function record(eventType?: string): HookAnswer[] {
    const call: HookCall = { at: now(), eventType, answers: [] }
    calls.push(call)
    if (calls.length > MAX_CALLS) calls.shift()
    return call.answers
  }

  return {
    calls,
    async verify(address, challenge) {
      const answers = record()
      const headers = { ...headersFor(address), 'x-okta-verification-challenge': challenge }
      const { answer, text } = await request(address.url, { headers }, timeoutMs)
      answers.push(answer)
      return { isVerified: verificationIn(text) === challenge, answer }
    },
    async deliver(address, eventType, body) {
      const answers = record(eventType)
      const headers = { ...headersFor(address), 'content-type': 'application/json' }
      const init = { method: 'POST', headers, body: JSON.stringify(body) }
      for (let attempt = 1; ; attempt += 1) {
        const { answer } = await request(address.url, init, timeoutMs)
        answers.push(answer)
        if (attempt === 2 || (typeof answer === 'number' && answer < 500)) return answer
      }
    },
    clear() {
      calls.length = 0
    },
  }
}

function headersFor({ secret, forwardedFor }: EventHookAddress): Record<string, string> {
  return { authorization: secret, ...(forwardedFor && { 'x-forwarded-for': forwardedFor }) }
}

async function request(url: string, init: RequestInit, timeoutMs: number) {
  try {
    const signal = AbortSignal.timeout(timeoutMs)
    const response = await fetch(url, { ...init, redirect: 'manual', signal })
    return { answer: response.status, text: await response.text() }
  } catch (error) {
    const isTimeout = Reflect.get(Object(error), 'name') === 'TimeoutError'
    return { answer: isTimeout ? ('timeout' as const) : ('no connection' as const), text: '' }
  }
}

function verificationIn(text: string): unknown {
  try {
    return Reflect.get(Object(JSON.parse(text)), 'verification')
  } catch {
    return undefined // not JSON
  }
}
