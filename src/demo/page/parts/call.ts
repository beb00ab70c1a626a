/** What this page asks of the broker: plain `fetch`. The two HttpOnly cookies go along by themselves. */

/** With `session`, the broker answers 409 when another one is open in this browser by now. */
export async function call<Answer>(
  method: string,
  url: string,
  { body, session }: { body?: object; session?: string } = {},
): Promise<Answer> {
  const headers = {
    accept: 'application/json',
    ...(body && { 'content-type': 'application/json' }),
    ...(session && { 'x-gatehouse-session': session }),
  }
  const response = await fetch(url, { method, headers, ...(body && { body: JSON.stringify(body) }) }).catch(
    () => {
      throw new BrokerTrouble(0, { errorCode: 'network' })
    },
  )
  // what is no JSON comes from a proxy in between: the status says enough
  const answer = response.status === 204 ? {} : await response.json().catch(() => undefined)
  if (response.ok && answer !== undefined) return answer
  throw new BrokerTrouble(response.status, answer, waitOf(response))
}

/** An Error object of the broker or of the upstream: `code` for us, the rest for people. */
export class BrokerTrouble extends Error {
  readonly status: number
  readonly code: string
  readonly causes: readonly string[]
  readonly waitSeconds: number | undefined

  constructor(
    status: number,
    answer: { errorCode?: string; errorSummary?: string; errorCauses?: { errorSummary: string }[] } = {},
    waitSeconds?: number,
  ) {
    super(answer.errorSummary)
    this.status = status
    this.code = answer.errorCode ?? ''
    this.causes = (answer.errorCauses ?? []).map(({ errorSummary }) => errorSummary)
    this.waitSeconds = waitSeconds
  }
}

/** `Retry-After`; of a limit of the upstream's, the time at which it ends: those headers stand in every answer. */
function waitOf({ headers, status }: Response): number | undefined {
  const after = Number(headers.get('retry-after') ?? Number.NaN)
  const reset = Number(headers.get('x-rate-limit-reset') ?? Number.NaN)
  const untilReset = Math.max(1, Math.ceil(reset - Date.parse(headers.get('date') ?? '') / 1000))
  return [after, status === 429 ? untilReset : Number.NaN].find(Number.isFinite)
}
