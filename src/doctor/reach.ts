import { randomBytes } from 'node:crypto'
import { ERROR_NONCE, type ProbeAnswer } from '../http/doctor-probe.ts'
import { fieldsOf, type HttpApi } from '../upstream/http-api.ts'
import type { UpstreamFailure } from '../upstream/upstream-failure.ts'
import { type Answer, reasonOf, sendOrFail } from './calls.ts'
import type { DoctorContext } from './check.ts'
import { PROXY_FIX } from './client-address.ts'
import { judgeEgressProxy } from './egress-proxy.ts'
import { type Finding, fail } from './finding.ts'
import { servesOps } from './ops.ts'
import { type Probed, SESSION_PATH, type SendProbe } from './probes.ts'
import { refusalOfPlain, refusalOfStatus, replacedError } from './refusals.ts'
import { judgeRequests } from './requests.ts'
import { judgeResponses } from './responses.ts'
import { isTlsFailure, judgeTlsFailure } from './tls.ts'

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

/** Several replicas may be behind the proxy. */
const REPLICA_PROBES = 4

/**
 * Whether requests reach the broker, and responses the browser: paths, errors, bodies, headers, and
 * responses that take time.
 */
export async function checkReach(options: ReachOptions): Promise<Result> {
  const { context, api, probe, accept } = options
  const first = await probe()
  if (first.response.failure) return { finding: await judgeFailure(first.response.failure, context) }
  const plain = await sendOrFail(api, { method: 'GET', path: SESSION_PATH, headers: {} })
  if (plain.failure) return { finding: await judgeFailure(plain.failure, context) }
  const probed = [first, ...(await Promise.all(Array.from({ length: REPLICA_PROBES }, () => probe())))]
  const answer = probed.every(({ answer }) => answer !== undefined) ? first.answer : undefined
  const finding =
    answer === undefined
      ? (judgeReplicas(probed) ?? (await judgeUnproven(options, plain)))
      : (judgeAnswer(answer, context.config.publicUrl.origin) ??
        judgePlain(plain, answer) ??
        (await judgeErrors(options)) ??
        (await judgeRequests(options)) ??
        (await judgeResponses(options)))
  return { finding: finding ?? accept('the broker answers'), reached: { answer, plain } }
}

async function judgeFailure(failure: UpstreamFailure, context: DoctorContext): Promise<Finding> {
  const { origin } = context.config.publicUrl
  return (await judgeEgressProxy(failure, origin, context)) ?? unreachable(failure)
}

function unreachable(failure: UpstreamFailure): Finding {
  return isTlsFailure(failure)
    ? judgeTlsFailure(failure.code ?? '', TLS_SERVER)
    : fail(`PUBLIC_URL does not answer (${reasonOf(failure)})`, NO_ANSWER_FIX)
}

const TLS_SERVER = { server: 'PUBLIC_URL', variable: 'PUBLIC_URL', authorities: 'UPSTREAM_CA_FILE' } as const
export const NO_ANSWER_FIX =
  'Start the broker and its proxy. If HTTPS_PROXY does not lead to PUBLIC_URL, add its host to NO_PROXY. If this machine cannot reach PUBLIC_URL, run the doctor where browsers can.'

/** Some probes are answered, and others get an error of the proxy or of a broker. */
function judgeReplicas(probed: readonly Probed[]): Finding | undefined {
  const unanswered = probed.filter(({ answer }) => answer === undefined)
  if (unanswered.length === probed.length) return undefined
  for (const { response } of unanswered) {
    const refused = response.failure ? unreachable(response.failure) : refusalOfStatus(response)
    if (refused !== undefined) return refused
  }
  if (!unanswered.some(({ response }) => 'errorCode' in fieldsOf(response.json))) return undefined
  return fail(
    'some answers prove that they come from this broker, others do not: a replica has other SECRET_KEYS, or its clock is wrong',
    'Give all replicas the same SECRET_KEYS, restart them, and synchronize their clocks (NTP).',
  )
}

/**
 * A probe is not answered by a cache, another server, a broker with other keys, or one that does
 * not get the header.
 */
async function judgeUnproven(
  { api, probe, context }: ReachOptions,
  plain: Answer,
): Promise<Finding | undefined> {
  if (isOfOkta(plain))
    return fail(
      'PUBLIC_URL leads to Okta itself, not to the broker',
      `PUBLIC_URL must be the portal’s own host, whose proxy passes /api/v1/ to the broker, not to the org. ${PROXY_FIX}`,
    )
  const ofProxy = refusalOfStatus(plain) ?? refusalOfPlain(plain, context.config.publicUrl.origin)
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
  const path = '/api/v1/users/me'
  const signedOut = await sendOrFail(api, { method: 'GET', path, headers: {} })
  if (signedOut.failure) return unreachable(signedOut.failure)
  if (!('errorCode' in fieldsOf(signedOut.json))) {
    const ofProxy = refusalOfStatus(signedOut)
    if (ofProxy !== undefined) return ofProxy
    // otherwise the path leads elsewhere, which public.paths shows
    if ((await probe({ path })).answer !== undefined) return replacedError(signedOut.status, 'on a 401, ')
  }
  const { response, answer } = await probe({ nonce: ERROR_NONCE + randomBytes(15).toString('hex') })
  if (answer !== undefined) return undefined
  if (response.failure) return unreachable(response.failure)
  const isOfProxy = response.status !== 503
  return (isOfProxy && refusalOfStatus(response)) || replacedError(response.status, 'on a 503, ')
}
