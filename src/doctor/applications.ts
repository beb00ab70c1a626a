import { fieldsOf } from '../upstream/http-api.ts'
import { type Answer, createDoctorApi, reasonOf, sendOrFail } from './calls.ts'
import type { DoctorContext } from './check.ts'
import { type Finding, fail, ok, skipped, warn } from './finding.ts'
import { createProbes, outcomeOf, type Probed, UNANSWERED } from './probes.ts'
import { causeOf } from './reach.ts'
import { isTlsFailure, judgeTlsFailure } from './tls.ts'

/** What a hand-over at one host has shown, as far as it gets without a session. */
export interface TriedHandOver {
  /** Such as `wiki.example.com`. */
  readonly host: string
  readonly seen: Probed
  /** Of a request with `FORGED_HOST` in the header. */
  readonly forged: Probed
  readonly start: Answer
  /** With the cookies of `start`, and a code that does not exist. */
  readonly callback: Answer
  readonly publicUrl: string
}

/** A host name that never exists (RFC 2606). */
const FORGED_HOST = 'doctor.invalid'
const START = '/forward-auth/start'
const CALLBACK = '/forward-auth/callback'
const NAVIGATION = {
  Accept: 'application/json',
  'Sec-Fetch-Mode': 'navigate',
  'Sec-Fetch-Dest': 'document',
  'Sec-Fetch-Site': 'none',
}

/** Tries a hand-over to each host of RETURN_TO that is on the site of PUBLIC_URL. */
export async function checkApplications(context: DoctorContext): Promise<Finding> {
  const { applicationTargets, publicUrl } = context.config
  const byOrigin = new Map(applicationTargets.map((target) => [target.origin, target.pathPrefix]))
  if (byOrigin.size === 0) return skipped('RETURN_TO has no other host on the site of PUBLIC_URL')
  const trying = [...byOrigin].map(async ([origin, path]) => {
    const api = createDoctorApi(origin, context)
    try {
      const probe = createProbes(api, context)
      const get = (target: string, headers = {}) =>
        sendOrFail(api, { method: 'GET', path: target, headers: { ...NAVIGATION, ...headers } })
      const [seen, forged, start] = await Promise.all([
        probe({ path: START }),
        probe({ path: CALLBACK, headers: { 'X-Forwarded-Host': FORGED_HOST } }),
        get(`${START}?returnTo=${encodeURIComponent(path)}`),
      ])
      const cookies = [start.headers['set-cookie'] ?? []].flat().map((line) => line.split(';')[0])
      const callback = await get(`${CALLBACK}?code=doctor`, { Cookie: cookies.join('; ') })
      const { host } = new URL(origin)
      return judgeHandOver({ host, seen, forged, start, callback, publicUrl: publicUrl.origin })
    } finally {
      await api.close()
    }
  })
  return worstOf(await Promise.all(trying))
}

export function judgeHandOver({ host, seen, forged, start, callback, publicUrl }: TriedHandOver): Finding {
  const lost = [seen, forged].find(({ answer }) => answer === undefined)
  if (lost !== undefined && String(lost.response.headers.location).includes(START))
    return fail(
      `${host} sends ${lost === seen ? START : CALLBACK} to ${START} again, in a loop`,
      `The proxy must pass both paths to the broker without asking who is signed in; ${DOCUMENTED}.`,
    )
  const { failure } = seen.response
  if (failure !== undefined && isTlsFailure(failure))
    return judgeTlsFailure(failure.code ?? '', {
      server: host,
      variable: 'RETURN_TO',
      authorities: 'UPSTREAM_CA_FILE',
    })
  if (failure !== undefined)
    return warn(
      `${host} does not answer (${reasonOf(failure)})`,
      'Correct RETURN_TO, DNS or the firewall, or start its proxy.',
    )
  if (lost !== undefined && 'errorCode' in fieldsOf(lost.response.json)) return skipped(UNANSWERED)
  if (lost === forged)
    return fail(
      `${host} passes ${START} to the broker, but not ${CALLBACK} (${outcomeOf(lost)})`,
      `The proxy must pass both paths; ${DOCUMENTED}.`,
    )
  if (lost !== undefined)
    return warn(
      `${host} does not pass ${START} to the broker (${outcomeOf(lost)})`,
      `If users sign in to an application there, ${DOCUMENTED}. Otherwise nothing is wrong: it is a place to return to.`,
    )
  const arrived = seen.answer?.forwardedHost
  const write = `Let the proxy of ${host} send X-Forwarded-Host: ${host} to the broker, as a literal; ${DOCUMENTED}.`
  if (seen.answer?.isFromProxy === false)
    return fail(
      `the proxy of ${host} is not in TRUST_PROXY, so its X-Forwarded-Host does not count`,
      'Add the address from which it reaches the broker to TRUST_PROXY.',
    )
  if (forged.answer?.forwardedHost?.includes(FORGED_HOST) === true)
    return fail(`the proxy of ${host} passes on the X-Forwarded-Host of clients: it can be forged`, write)
  if (arrived?.toLowerCase() !== host)
    return fail(
      arrived === undefined
        ? `X-Forwarded-Host does not arrive from ${host}`
        : `X-Forwarded-Host arrives from ${host} as another host`,
      write,
    )
  const target = String(start.headers.location)
  if (start.status !== 303 || !target.startsWith(`${publicUrl}/signin?`))
    return fail(`${host}${START} does not lead to /signin (${whatCame(start)})`, `${PASS} ${DOCUMENTED}.`)
  // the code is unknown: the cookie has come back
  if (callback.status !== 401 || !causeOf(callback).startsWith('code:'))
    return fail(
      `the cookie of ${host}${START} does not come back at ${CALLBACK} (${whatCame(callback)})`,
      `${PASS} ${DOCUMENTED}.`,
    )
  return ok(`a hand-over to ${host} gets as far as the sign-in`)
}

const PASS = 'The proxy must pass Cookie, Set-Cookie, Location and the Sec-Fetch headers unchanged;'
const DOCUMENTED = 'see docs/applications.md, "Applications on other hosts"'

function whatCame({ failure, status, json }: Answer): string {
  if (failure !== undefined) return reasonOf(failure)
  const { errorCode } = fieldsOf(json)
  return ['HTTP', status, ...(typeof errorCode === 'string' ? [errorCode] : [])].join(' ')
}

/** All details of the worst kind. */
function worstOf(findings: readonly Finding[]): Finding {
  for (const status of ['fail', 'warn', 'ok'] as const) {
    const those = findings.filter((finding) => finding.status === status)
    const [first] = those
    if (first !== undefined) return { ...first, detail: those.map(({ detail }) => detail).join('; ') }
  }
  return skipped('no host')
}
