import { v4 as uuid } from 'uuid'
import { createSigner } from '../crypto/keys.ts'
import { createProbe, isProofOf, PROBE_HEADER, ProbeAnswer } from '../http/doctor-probe.ts'
import type { HttpApi, UpstreamRequest } from '../upstream/http-api.ts'
import { type Answer, reasonOf, sendOnce, sendOrFail } from './calls.ts'
import type { DoctorContext } from './check.ts'

export interface ProbeRequest {
  readonly method?: UpstreamRequest['method']
  readonly path?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: object
  /** How long the broker waits before it answers. */
  readonly waitMs?: number
  /** Default: a new one. */
  readonly nonce?: string
}

export interface Probed {
  readonly response: Answer
  /** Undefined unless the running broker has answered this very probe. */
  readonly answer: ProbeAnswer | undefined
}

export type SendProbe = (request?: ProbeRequest) => Promise<Probed>

export const UNANSWERED = 'the broker does not answer the doctor’s probes'

/** Without a session it is a 404, which does not use the store. */
export const SESSION_PATH = '/api/v1/sessions/me'

/** Asks the running broker what arrives of a request. */
export function createProbes(api: HttpApi, { config, now, timeoutMs }: DoctorContext): SendProbe {
  const signer = createSigner(config.secretKeys.value, 'doctor-probe') // as in wiring.ts
  return async ({ method = 'GET', path = SESSION_PATH, headers, body, waitMs = 0, nonce = uuid() } = {}) => {
    const probe = { nonce, waitMs }
    const header = { [PROBE_HEADER]: createProbe(probe, { signer, now }) }
    const request = { method, path, headers: { ...headers, ...header }, body, timeoutMs: timeoutMs + waitMs }
    // a time at which the proxy ends a request is measured
    const response = waitMs > 0 ? await sendOnce(api, request) : await sendOrFail(api, request)
    const given = ProbeAnswer.safeParse(response.json).data
    return { response, answer: given && isProofOf(probe, given.proof, signer) ? given : undefined }
  }
}

/** `HTTP 502`, or why there is no response. */
export function outcomeOf({ response: { failure, status } }: Probed): string {
  return failure === undefined ? `HTTP ${status}` : reasonOf(failure)
}
