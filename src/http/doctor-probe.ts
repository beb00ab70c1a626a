import { forwardedFor, getRequestContext, normalizeAddress } from './request-context.ts'
import { type Route, sendJson } from './routes.ts'

/**
 * `--doctor` asks a running broker which address it takes for the client's. Only a sender that has `SECRET_KEYS` gets an
 * answer: the header is the time in milliseconds and its signature.
 *
 * A reader of a proxy's log can repeat a probe. So the answer is never a success, and no other route has one: a proxy that
 * asks `/forward-auth` with its client's headers admits the client on a 200.
 */
export const PROBE_HEADER = 'X-Gatehouse-Doctor'
export const PROBE_PATH = '/api/v1/sessions/me'

export interface ProbeAnswer {
  /** For Okta, the limits and the logs. */
  readonly address: string
  /** The first entry of `X-Forwarded-For`, if there is one: the address of the client of the outermost proxy. */
  readonly firstForwarded?: string | undefined
}

interface ProbeSigner {
  sign(value: string): string
  verify(value: string, signature: string): 'current' | 'retired' | 'wrong'
}

export interface AnswerProbesOptions {
  readonly signer: ProbeSigner
  readonly now: () => number
}

/** For clocks that differ. */
const MAX_AGE_MS = 300_000

export function createProbe({ signer, now }: AnswerProbesOptions): string {
  const sentAt = String(now())
  return `${sentAt}.${signer.sign(sentAt)}`
}

/** Makes the GET route of `PROBE_PATH` answer probes. */
export function answerProbes(routes: readonly Route[], { signer, now }: AnswerProbesOptions): Route[] {
  const isGenuine = (probe: string) => {
    const [, sentAt = '', signature = ''] = /^(\d{1,15})\.([\w-]{43})$/.exec(probe) ?? []
    return Math.abs(now() - Number(sentAt)) <= MAX_AGE_MS && signer.verify(sentAt, signature) !== 'wrong'
  }
  return routes.map((route) => {
    if (route.method !== 'GET' || route.path !== PROBE_PATH) return route
    return {
      ...route,
      handle(req, res) {
        const probe = req.headers[PROBE_HEADER.toLowerCase()]
        if (typeof probe !== 'string' || !isGenuine(probe)) return route.handle(req, res)
        const [first] = forwardedFor(req)
        const answer: ProbeAnswer = {
          address: getRequestContext(req).address,
          firstForwarded: first === undefined ? undefined : (normalizeAddress(first) ?? 'malformed'),
        }
        sendJson(res.status(404), answer)
      },
    }
  })
}
