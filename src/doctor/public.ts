import { isIP } from 'node:net'
import { createSigner } from '../crypto/keys.ts'
import { createProbe, PROBE_HEADER, PROBE_PATH, type ProbeAnswer } from '../http/doctor-probe.ts'
import { createTrustedProxies } from '../http/request-context.ts'
import type { UpstreamClient, UpstreamResponse } from '../upstream/upstream-client.ts'
import { UpstreamFailure } from '../upstream/upstream-failure.ts'
import { type CertificateWatch, watchCertificate } from './certificate.ts'
import { type Check, type CheckGroup, type DoctorContext, type Finding, fail, ok, skipped } from './check.ts'
import { FORGED_ADDRESS, judgeClientAddress, PROXY_FIX } from './client-address.ts'
import { createHttpClient, isTlsFailure, reasonOf, recordOf, sendOrFail } from './http-client.ts'
import { opsChecks } from './ops.ts'

/** Checks of the running broker, from where browsers are. */
export function publicChecks(context: DoctorContext): CheckGroup {
  const { publicUrl, ops } = context.config
  const client = createHttpClient(publicUrl.origin, context)
  const certificate = watchCertificate(publicUrl.origin)
  const { hostname } = new URL(publicUrl.origin)
  const isLoopback = /^(127\.|localhost$|::1$)/.test(ops.host)
  const portClient = isLoopback ? undefined : createHttpClient(`http://${hostname}:${ops.port}`, context)
  return {
    checks: [...proxyChecks(client, certificate, context), ...opsChecks(client, portClient)],
    close() {
      certificate.stop()
      return Promise.all([client.close(), portClient?.close()])
    },
  }
}

/**
 * The running broker, through its proxy. A refusal of the broker names the header that caused it, which shows that the
 * header arrived. The answer to a probe shows which address the broker takes for the client's.
 */
function proxyChecks(client: UpstreamClient, certificate: CertificateWatch, context: DoctorContext): Check[] {
  const { config, now } = context
  const cookieName = config.publicUrl.secure ? '__Host-gatehouse-device' : 'gatehouse-device'
  let session: UpstreamResponse | undefined
  const needs = ['public.reach']
  return [
    {
      name: 'public.reach',
      async run() {
        const response = await getSession(client)
        if (response instanceof UpstreamFailure)
          return isTlsFailure(response)
            ? fail(`the certificate of PUBLIC_URL is not accepted (${response.code})`, CERTIFICATE_FIX)
            : fail(`PUBLIC_URL does not answer (${reasonOf(response)})`, NO_ANSWER)
        session = response
        return judgeReach(response, (detail) => certificate.judge(now(), detail))
      },
    },
    { name: 'public.cookies', needs, run: () => checkCookies(client, session, cookieName) },
    { name: 'public.headers', needs, run: () => checkHeaders(client, session, context) },
  ]
}

const NO_ANSWER =
  'Start the broker and its proxy. If this machine cannot reach PUBLIC_URL, run the doctor where browsers can.'

const CERTIFICATE_FIX =
  'If its authority is private, set UPSTREAM_CA_FILE for the doctor. Otherwise correct the certificate of the proxy.'

type Headers = Readonly<Record<string, string>>

/** Nobody is signed in: the broker answers 404 E0000007, and does not use the store. */
function getSession(client: UpstreamClient, headers: Headers = {}) {
  return sendOrFail(client, { method: 'GET', path: PROBE_PATH, headers })
}

/** An empty sign-in: the broker answers 400, if not 403, and never calls Okta. */
function postEmptySignIn(client: UpstreamClient, headers: Headers) {
  return sendOrFail(client, { method: 'POST', path: '/api/v1/authn', headers, body: {} })
}

/** The header that a refusal of the broker names, such as `Origin: … is neither …`. */
function causeOf({ json }: UpstreamResponse): string {
  const [cause] = [recordOf(json).errorCauses].flat()
  return String(recordOf(cause).errorSummary ?? '')
}

function judgeReach(response: UpstreamResponse, accept: (detail: string) => Finding): Finding {
  const { errorCode } = recordOf(response.json)
  if (response.status === 404 && errorCode === 'E0000007') return accept('the broker answers')
  if (causeOf(response).startsWith('X-Forwarded-For:'))
    return accept('the broker answers, and refuses the request')
  const detail = `not the expected response of the broker (HTTP ${response.status})`
  return fail(detail, `The proxy must pass /api/v1/ to the broker. ${PROXY_FIX}`)
}

async function checkCookies(
  client: UpstreamClient,
  session: UpstreamResponse | undefined,
  name: string,
): Promise<Finding> {
  const value = session && cookieOf(session, name)
  if (value === undefined)
    return fail(
      'the response sets no device cookie',
      `The proxy must pass Set-Cookie unchanged. ${PROXY_FIX}`,
    )
  const again = await getSession(client, { Cookie: `${name}=${value}` })
  if (again instanceof UpstreamFailure) return fail(`no response (${reasonOf(again)})`, NO_ANSWER)
  // the broker replaces a device cookie that it cannot verify
  if (cookieOf(again, name) === undefined) return ok('the device cookie comes back')
  return fail(
    'the device cookie does not come back, or another replica does not accept it',
    `The proxy must pass Cookie unchanged, and all replicas must have the same SECRET_KEYS. ${PROXY_FIX}`,
  )
}

function cookieOf({ headers }: UpstreamResponse, name: string): string | undefined {
  const lines = [headers['set-cookie'] ?? []].flat()
  const line = lines.find((one) => one.startsWith(`${name}=`))
  return line?.slice(name.length + 1).split(';')[0]
}

/** A host name that never exists (RFC 2606). */
const FOREIGN_ORIGIN = 'https://doctor.invalid'

async function checkHeaders(
  client: UpstreamClient,
  first: UpstreamResponse | undefined,
  { config, now }: DoctorContext,
): Promise<Finding> {
  const cause = first === undefined ? '' : causeOf(first)
  if (cause.startsWith('X-Forwarded-For: missing'))
    return fail('X-Forwarded-For does not arrive', `The proxy must send it. ${PROXY_FIX}`)
  if (cause.startsWith('X-Forwarded-For:'))
    return fail(
      'a proxy adds an entry to X-Forwarded-For that is not an address',
      `The proxy must add the address of its client. ${PROXY_FIX}`,
    )
  const signer = createSigner(config.secretKeys.current, 'doctor-probe') // as in wiring.ts
  const probe = (headers: Headers = {}) =>
    getSession(client, { ...headers, [PROBE_HEADER]: createProbe({ signer, now }) })
  const [origin, site, seen, forged] = await Promise.all([
    postEmptySignIn(client, { Origin: FOREIGN_ORIGIN }),
    postEmptySignIn(client, { 'Sec-Fetch-Site': 'cross-site' }),
    probe(),
    probe({ 'X-Forwarded-For': FORGED_ADDRESS }),
  ])
  const failure = [origin, site, seen, forged].find((response) => response instanceof UpstreamFailure)
  if (failure instanceof UpstreamFailure) return skipped(`no response (${reasonOf(failure)})`)
  const names = (response: UpstreamResponse | UpstreamFailure, header: string) =>
    !(response instanceof UpstreamFailure) && causeOf(response).startsWith(`${header}:`)
  const missing = [
    ...(names(origin, 'Origin') ? [] : ['Origin does not arrive']),
    ...(names(site, 'Sec-Fetch-Site') ? [] : ['Sec-Fetch-Site does not arrive']),
  ]
  const isTrustedProxy = createTrustedProxies(config.trustProxy)
  const { secure } = config.publicUrl
  const address = judgeClientAddress(answerIn(seen), answerIn(forged), { secure, isTrustedProxy })
  if (missing.length === 0) return address
  const fix = 'The proxy must pass Origin and Sec-Fetch-Site.'
  if (address.status !== 'fail') return fail(missing.join('; '), `${fix} ${PROXY_FIX}`)
  return fail([...missing, address.detail].join('; '), `${fix} ${address.fix}`)
}

function answerIn(response: UpstreamResponse | UpstreamFailure): ProbeAnswer | undefined {
  if (response instanceof UpstreamFailure) return undefined
  const { address, firstForwarded } = recordOf(response.json)
  if (typeof address !== 'string' || isIP(address) === 0) return undefined
  return { address, firstForwarded: typeof firstForwarded === 'string' ? firstForwarded : undefined }
}
