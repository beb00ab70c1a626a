import { randomBytes } from 'node:crypto'
import { ERROR_NONCE, READ_HEADERS } from '../http/doctor-probe.ts'
import { createTrustedProxies } from '../http/request-context.ts'
import type { HttpApi } from '../upstream/http-api.ts'
import { type Answer, sendOrFail } from './calls.ts'
import type { DoctorContext } from './check.ts'
import { FORGED_ADDRESS, judgeClientAddress, PROXY_FIX } from './client-address.ts'
import { type Finding, fail } from './finding.ts'
import { outcomeOf, type Probed, SESSION_PATH, type SendProbe } from './probes.ts'
import { causeOf, type Reached } from './reach.ts'

/** A host name that never exists (RFC 2606). */
const FOREIGN_ORIGIN = 'https://doctor.invalid'

export async function checkHeaders(
  { plain, answer }: Reached,
  api: HttpApi,
  probe: SendProbe,
  { config }: DoctorContext,
): Promise<Finding> {
  const { secure } = config.publicUrl
  const options = { secure, isTrustedProxy: createTrustedProxies(config.trustProxy) }
  if (answer === undefined) {
    const cause = causeOf(plain)
    const addressProblem =
      (['missing', 'empty'] as const).find((problem) => cause.includes(problem)) ?? 'malformed'
    const refused = { address: '', addressProblem } as const
    const isRefused = cause.startsWith('X-Forwarded-For:')
    return judgeClientAddress(isRefused ? refused : undefined, isRefused ? refused : undefined, options)
  }
  const headers = { Origin: FOREIGN_ORIGIN, 'Sec-Fetch-Site': 'cross-site', ...SENT_HEADERS }
  const seen = await probe({ headers })
  const forged = await probe({ headers: { ...headers, 'X-Forwarded-For': FORGED_ADDRESS } })
  const unanswered = [seen, forged].find((probe) => probe.answer === undefined)
  if (unanswered !== undefined)
    return fail(
      `the proxy refuses requests of browsers, with Origin or Sec-Fetch-Site (${outcomeOf(unanswered)})`,
      `The proxy must pass them to the broker, which checks them. ${PROXY_FIX}`,
    )
  const problems = [
    ...headerProblems(seen, plain),
    ...arrivalProblems(seen),
    ...(await errorProblems(probe)),
    ...(await allowedOriginProblems(api, config)),
  ]
  const address = judgeClientAddress(seen.answer, forged.answer, options)
  if (problems.length === 0) return address
  const fix = `It must pass these headers unchanged, and neither add nor remove Access-Control headers. ${PROXY_FIX}`
  if (address.status !== 'fail') return fail(problems.join('; '), fix)
  return fail([...problems, address.detail].join('; '), `${fix} ${address.fix}`)
}

/** Whether pages of ALLOWED_ORIGINS may call the broker: with a preflight, as for JSON. */
async function allowedOriginProblems(
  api: HttpApi,
  { allowedOrigins: [origin] }: DoctorContext['config'],
): Promise<string[]> {
  if (origin === undefined) return []
  const asked = [
    { method: 'OPTIONS', headers: { Origin: origin, 'Access-Control-Request-Method': 'POST' } },
    { method: 'GET', headers: { Origin: origin } },
  ] as const
  const [preflight, response] = await Promise.all(
    asked.map((request) => sendOrFail(api, { path: SESSION_PATH, ...request })),
  )
  const names = (answer: Answer | undefined, header: string) =>
    String(answer?.headers[header] ?? '')
      .toLowerCase()
      .split(/,\s*/)
  const isRight: Readonly<Record<string, boolean>> = {
    'Access-Control-Allow-Origin': [preflight, response].every(
      (answer) => answer?.headers['access-control-allow-origin'] === origin,
    ),
    'Access-Control-Allow-Credentials': [preflight, response].every(
      (answer) => answer?.headers['access-control-allow-credentials'] === 'true',
    ),
    'Access-Control-Allow-Headers': ['content-type', 'x-gatehouse-session'].every((name) =>
      names(preflight, 'access-control-allow-headers').includes(name),
    ),
    'Access-Control-Expose-Headers': names(response, 'access-control-expose-headers').includes('retry-after'),
  }
  const [wrong] = Object.keys(isRight).filter((name) => !isRight[name])
  return wrong === undefined ? [] : [`pages of ALLOWED_ORIGINS cannot call the broker (${wrong})`]
}

/** Of a browser that opens a page, whose values no proxy writes. */
const SENT_HEADERS: Readonly<Record<(typeof READ_HEADERS)[number], string>> = {
  'Sec-Fetch-Mode': 'navigate',
  'Sec-Fetch-Dest': 'document',
  'User-Agent': 'gatehouse-doctor',
  'Accept-Language': 'en-GB;q=0.7',
  'X-Gatehouse-Session': 'doctor',
  'X-Device-Fingerprint': 'doctor',
}

function arrivalProblems({ answer }: Probed): string[] {
  const arrived = answer?.headers
  if (arrived === undefined) return []
  return READ_HEADERS.flatMap((name) => changeOf(name, arrived[name], SENT_HEADERS[name]))
}

async function errorProblems(probe: SendProbe): Promise<string[]> {
  const { response, answer } = await probe({ nonce: ERROR_NONCE + randomBytes(15).toString('hex') })
  const isLost = answer?.headers !== undefined && response.headers['retry-after'] !== '1'
  return isLost ? ['Retry-After does not come back'] : []
}

export function headerProblems({ response, answer }: Probed, { headers }: Pick<Answer, 'headers'>): string[] {
  const allowed = response.headers['access-control-allow-origin']
  const caching = String(headers['cache-control'] ?? '')
  const transport = String(headers['strict-transport-security'] ?? '')
  return [
    ...changeOf('Origin', answer?.origin, FOREIGN_ORIGIN),
    ...changeOf('Sec-Fetch-Site', answer?.site, 'cross-site'),
    ...(allowed === undefined
      ? []
      : ['the proxy lets pages of every origin read responses (Access-Control-Allow-Origin)']),
    ...(/\bno-store\b/.test(caching) && !/\bpublic\b|max-age=[1-9]/.test(caching)
      ? []
      : ['the proxy changes Cache-Control, so that caches may keep what is one user’s']),
    ...(/max-age=0/.test(transport) ? ['the proxy switches Strict-Transport-Security off'] : []),
  ]
}

function changeOf(name: string, arrived: string | undefined, sent: string): string[] {
  if (arrived === sent) return []
  return [arrived === undefined ? `${name} does not arrive` : `the proxy changes ${name}`]
}
