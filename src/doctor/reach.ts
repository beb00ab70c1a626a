import { randomBytes } from 'node:crypto'
import { ERROR_NONCE, type ProbeAnswer } from '../http/doctor-probe.ts'
import { fieldsOf, type HttpApi } from '../upstream/http-api.ts'
import type { UpstreamFailure } from '../upstream/upstream-failure.ts'
import { type Answer, isTlsFailure, reasonOf, refusalOfProxy, sendOrFail } from './calls.ts'
import type { DoctorContext } from './check.ts'
import { PROXY_FIX } from './client-address.ts'
import { type Finding, fail } from './finding.ts'
import { servesOps } from './ops.ts'
import { outcomeOf, SESSION_PATH, type SendProbe } from './probes.ts'

/** What the other checks need. */
export interface Reached {
  /** Undefined: the broker has other SECRET_KEYS, or the probe's header does not arrive. */
  readonly answer: ProbeAnswer | undefined
  /** A response without a probe. */
  readonly plain: Answer
}

export interface ReachOptions {
  readonly context: DoctorContext
  readonly api: HttpApi
  readonly probe: SendProbe
  /** The finding if the broker answers. */
  readonly accept: (detail: string) => Finding
}

interface Result {
  readonly finding: Finding
  readonly reached?: Reached
}

/**
 * Whether requests reach the broker, and responses the browser: paths, errors, bodies, and
 * responses that take time.
 */
export async function checkReach(options: ReachOptions): Promise<Result> {
  const { context, api, probe, accept } = options
  const first = await probe()
  if (first.response.failure) return { finding: unreachable(first.response.failure) }
  const plain = await sendOrFail(api, { method: 'GET', path: SESSION_PATH, headers: {} })
  if (plain.failure) return { finding: unreachable(plain.failure) }
  const { answer } = await probe()
  const finding =
    first.answer === undefined || answer === undefined
      ? await judgeUnproven(options, plain)
      : (judgeAnswer(answer, context.config.publicUrl.origin) ??
        judgePlain(plain, answer) ??
        (await judgeErrors(options)) ??
        (await judgeRequests(options)))
  return { finding: finding ?? accept('the broker answers'), reached: { answer, plain } }
}

function unreachable(failure: UpstreamFailure): Finding {
  const refused = refusalOfProxy(failure)
  if (refused !== undefined) return refused
  return isTlsFailure(failure)
    ? fail(`the certificate of PUBLIC_URL is not accepted (${failure.code})`, CERTIFICATE_FIX)
    : fail(`PUBLIC_URL does not answer (${reasonOf(failure)})`, NO_ANSWER_FIX)
}

const CERTIFICATE_FIX =
  'If its authority is private, set UPSTREAM_CA_FILE for the doctor. Otherwise correct the certificate of the proxy.'
export const NO_ANSWER_FIX =
  'Start the broker and its proxy. If HTTPS_PROXY does not lead to PUBLIC_URL, add its host to NO_PROXY. If this machine cannot reach PUBLIC_URL, run the doctor where browsers can.'

/**
 * A probe is not answered by a cache, another server, a broker with other keys, or one that does
 * not get the header.
 */
async function judgeUnproven({ api, probe }: ReachOptions, plain: Answer): Promise<Finding | undefined> {
  if (isOfOkta(plain))
    return fail(
      'PUBLIC_URL leads to Okta itself, not to the broker',
      `PUBLIC_URL must be the portal’s own host, whose proxy passes /api/v1/ to the broker, not to the org. ${PROXY_FIX}`,
    )
  const ofProxy = refusalOfStatus(plain)
  if (ofProxy !== undefined) return ofProxy
  const { answer } = await probe({ path: `${SESSION_PATH}?${Date.now()}` })
  if (answer?.path === SESSION_PATH)
    return fail(
      'a cache answers instead of the broker',
      `The proxy must not cache /api/v1/: users would get each other’s data. ${PROXY_FIX}`,
    )
  const get = await sendOrFail(api, { method: 'GET', path: '/api/v1/authn', headers: {} })
  const isBroker = get.status === 405 && 'errorCode' in fieldsOf(get.json)
  if (isBroker || causeOf(plain).startsWith('X-Forwarded-For:')) return undefined
  const { errorCode } = fieldsOf(plain.json)
  if (await servesOps(api, '', '/livez'))
    return fail(
      'PUBLIC_URL leads to the ops listener',
      `The proxy must pass requests to PORT, never to OPS_PORT. ${PROXY_FIX}`,
    )
  if (plain.status === 404 && errorCode === 'E0000007') return WRONG_PATH
  const detail = `not the expected response of the broker (HTTP ${plain.status})`
  return fail(detail, `The proxy must pass /api/v1/ to the broker. ${PROXY_FIX}`)
}

/** Okta names each of its requests. The broker passes no header of Okta on. */
export const isOfOkta = ({ headers }: Pick<Answer, 'headers'>): boolean => 'x-okta-request-id' in headers

const WRONG_PATH = fail(
  'the proxy changes the path, so no route of the broker is found',
  `The proxy must pass /api/v1/… unchanged (nginx: proxy_pass without a path). ${PROXY_FIX}`,
)

function judgeAnswer({ path, publicUrl }: ProbeAnswer, expected: string): Finding | undefined {
  if (path !== SESSION_PATH) return WRONG_PATH
  if (publicUrl === expected) return undefined
  return fail(
    'the running broker has another PUBLIC_URL',
    'Set the same PUBLIC_URL for the broker and the doctor, and restart the broker.',
  )
}

/** The header that a refusal of the broker names, such as `Origin: … is neither …`. */
export function causeOf({ json }: Answer): string {
  const [cause] = [fieldsOf(json).errorCauses].flat()
  return String(fieldsOf(cause).errorSummary ?? '')
}

/** The broker's own error: 404, or 400 if it does not know the client's address. */
function judgePlain({ status, json }: Answer, { addressProblem }: ProbeAnswer): Finding | undefined {
  if (status === (addressProblem === undefined ? 404 : 400) && 'errorCode' in fieldsOf(json)) return undefined
  if ('errorCode' in fieldsOf(json))
    return fail(`the broker refuses requests (HTTP ${status})`, 'Look at the log and /readyz of the broker.')
  return refusalOfStatus({ status, json }) ?? replacedError(status)
}

/** A proxy may pass a 404, and lead to its own sign-in on a 401, or have a page for a 503. */
async function judgeErrors({ api, probe }: ReachOptions): Promise<Finding | undefined> {
  const signedOut = await sendOrFail(api, { method: 'GET', path: '/api/v1/users/me', headers: {} })
  if (signedOut.failure) return unreachable(signedOut.failure)
  if (!('errorCode' in fieldsOf(signedOut.json)))
    return refusalOfStatus(signedOut) ?? replacedError(signedOut.status, 'on a 401, ')
  const { response, answer } = await probe({ nonce: ERROR_NONCE + randomBytes(15).toString('hex') })
  if (answer !== undefined) return undefined
  if (response.failure) return unreachable(response.failure)
  const isOfProxy = response.status !== 503
  return (isOfProxy && refusalOfStatus(response)) || replacedError(response.status, 'on a 503, ')
}

function replacedError(status: number, when = ''): Finding {
  return fail(
    `the proxy replaces the errors of the broker (${when}HTTP ${status})`,
    `Pages read the broker’s errors: the proxy must pass them (nginx: proxy_intercept_errors off). ${PROXY_FIX}`,
  )
}

/** A status with which the proxy speaks of itself, where the broker never sends it. */
function refusalOfStatus({ status, json }: Pick<Answer, 'status' | 'json'>): Finding | undefined {
  if ('errorCode' in fieldsOf(json)) return undefined // the broker's own
  if (status === 429)
    return fail(
      'the proxy limits requests (HTTP 429)',
      `The doctor sends some dozen at once, as a page of a few users: allow more. ${PROXY_FIX}`,
    )
  if (![502, 503, 504].includes(status)) return undefined
  return fail(
    `the proxy gets no answer of the broker, or of one of its replicas (HTTP ${status})`,
    'Look at the log of the proxy: a replica may be down, or its address may be an old one.',
  )
}

/** Less than the broker accepts, and more than any sign-in sends. */
const LARGE_BODY = { padding: 'x'.repeat(60_000) }

async function judgeRequests({ probe, context }: ReachOptions): Promise<Finding | undefined> {
  const startedAt = performance.now()
  const slow = probe({ waitMs: context.slowMs }).then((probed) => ({
    ...probed,
    seconds: Math.round((performance.now() - startedAt) / 100) / 10,
  }))
  const post = { method: 'POST', path: '/api/v1/authn' } as const
  for (const asked of [{ ...post, body: {} }, { method: 'DELETE' }, { method: 'OPTIONS' }] as const) {
    const probed = await probe(asked)
    if (probed.answer === undefined)
      return (
        refusalOfStatus(probed.response) ??
        fail(
          `the proxy does not pass ${asked.method} (${outcomeOf(probed)})`,
          `It must pass GET, POST, DELETE and OPTIONS. ${PROXY_FIX}`,
        )
      )
  }
  const large = await probe({ ...post, body: LARGE_BODY })
  if (large.answer?.bodyBytes !== JSON.stringify(LARGE_BODY).length)
    return fail(
      `the proxy does not pass a body of 60 kB (${outcomeOf(large)})`,
      `It must pass bodies of up to 64 kB (nginx: client_max_body_size 64k). ${PROXY_FIX}`,
    )
  const { answer, seconds, ...probed } = await slow
  if (answer !== undefined) return undefined
  return fail(
    `the proxy ends a request after ${seconds} s, before the broker answers (${outcomeOf({ ...probed, answer })})`,
    `A step may wait for Okta: the proxy must wait for 60 s (nginx: proxy_read_timeout). ${PROXY_FIX}`,
  )
}
