import { tokenEvidence } from '../okta-errors.ts'
import { fieldsOf, type HttpApi } from '../upstream/http-api.ts'
import { type Answer, createDoctorApi, reasonOf, sendOrFail } from './calls.ts'
import { watchCertificate } from './certificate.ts'
import type { Check, CheckGroup, DoctorContext } from './check.ts'
import { judgeClocks } from './clock.ts'
import { judgeEgressProxy, refusalOfProxy } from './egress-proxy.ts'
import { type Finding, fail, ok, skipped, warn } from './finding.ts'
import { signInChecks } from './test-sign-in.ts'
import { isTlsFailure, judgeTlsFailure } from './tls.ts'

export function authnChecks(context: DoctorContext): CheckGroup {
  const { config, now } = context
  const { baseUrl, apiToken } = config.authn
  const api = createDoctorApi(baseUrl, context)
  const isTls = baseUrl.startsWith('https:')
  const certificate = watchCertificate(baseUrl)
  let organization: Answer | undefined
  let answeredAtMs = 0
  const needs = ['authn.reach']
  const checks: Check[] = [
    {
      name: 'authn.reach',
      async run() {
        const startedAt = performance.now()
        organization = await sendOrFail(api, { method: 'GET', path: ORGANIZATION_PATH, headers: ACCEPT })
        answeredAtMs = now()
        const elapsedMs = performance.now() - startedAt
        const ofProxy = await judgeEgressProxy(organization.failure, baseUrl, context)
        return ofProxy ?? judgeReach(organization, elapsedMs)
      },
    },
    {
      name: 'authn.tls',
      run: () => judgeTls(organization, isTls, () => certificate.judge(now(), 'the certificate is accepted')),
    },
    { name: 'authn.clock', needs, run: () => judgeClock(organization, answeredAtMs) },
    {
      name: 'authn.token',
      needs,
      run: async () => judgeToken(await sendEmptySignIn(api, apiToken.value)),
    },
    {
      name: 'authn.language',
      needs: ['authn.token'],
      run: async () => judgeLanguage(await sendEmptySignIn(api, apiToken.value)),
    },
    {
      name: 'authn.users',
      needs: ['authn.token'],
      run: () => checkUsers(api, apiToken.value, config.session.recheckMinutes),
    },
    { name: 'authn.pipeline', needs, run: () => judgePipeline(organization) },
    ...signInChecks(api, context),
  ]
  const close = () => {
    certificate.stop()
    return api.close()
  }
  return { checks, close }
}

const ACCEPT = { Accept: 'application/json' }
/** Okta's public description of the org. It needs no API token. */
const ORGANIZATION_PATH = '/.well-known/okta-organization'

/** With the connection. A step of a sign-in has one or two calls. */
const SLOW_ORG_MS = 2000

export function judgeReach({ failure, status, json }: Answer, elapsedMs: number): Finding {
  if (failure !== undefined && isTlsFailure(failure)) return skipped('not possible without authn.tls')
  if (failure !== undefined)
    return (
      refusalOfProxy(failure) ??
      fail(
        `the org does not answer (${reasonOf(failure)})`,
        'Correct AUTHN_BASE_URL, DNS, the firewall, and HTTPS_PROXY.',
      )
    )
  if (status === 429) return warn(RATE_LIMITED, RATE_FIX)
  const { errorCode, id, pipeline } = fieldsOf(json)
  const isOkta = [errorCode, id, pipeline].some((value) => typeof value === 'string')
  if (isOkta && status < 500 && elapsedMs > SLOW_ORG_MS)
    return warn(
      `the org takes ${(elapsedMs / 1000).toFixed(1)} s to answer`,
      'Check the network path, DNS and the egress proxy to the org. Each step of a sign-in waits for it.',
    )
  if (isOkta && status < 500) return ok('the org answers')
  if (status === 403 && !isOkta)
    return fail(
      'the org refuses this machine’s address, or another web server answers (HTTP 403)',
      BLOCKED_FIX,
    )
  const what = status >= 500 ? 'the org fails' : 'another web server answers, not Okta’s API'
  return fail(
    `${what} (HTTP ${status})`,
    'Set AUTHN_BASE_URL to the address of the org, without -admin and without a page’s path. If it is right, read Okta’s status page.',
  )
}

function judgeTls(answer: Answer | undefined, isTls: boolean, judgeCertificate: () => Finding): Finding {
  if (!isTls) return skipped('AUTHN_BASE_URL is http://, on this machine')
  if (answer === undefined) return skipped('the request did not end')
  const { failure } = answer
  if (failure === undefined) return judgeCertificate()
  if (!isTlsFailure(failure)) return skipped(`no connection (${reasonOf(failure)})`)
  const org = { server: 'the org', variable: 'AUTHN_BASE_URL', authorities: 'UPSTREAM_CA_FILE' } as const
  return judgeTlsFailure(failure.code ?? '', org)
}

function judgeClock(answer: Answer | undefined, nowMs: number): Finding {
  const orgMs = Date.parse(String(answer?.headers.date))
  return Number.isNaN(orgMs) ? skipped('the response has no Date') : judgeClocks(orgMs, nowMs)
}

/** An empty sign-in: with a valid token, Okta refuses only its form. It concerns no user. */
function sendEmptySignIn(api: HttpApi, token: string): Promise<Answer> {
  return sendOrFail(api, {
    method: 'POST',
    path: '/api/v1/authn',
    headers: { ...ACCEPT, Authorization: `SSWS ${token}` },
    body: {},
  })
}

export function judgeToken({ failure, status, json }: Answer): Finding {
  if (failure !== undefined)
    return fail(`the org does not answer the sign-in call (${reasonOf(failure)})`, AGAIN)
  if (status >= 500) return fail(`the org fails at the sign-in call (HTTP ${status})`, AGAIN)
  if (status === 429) return warn(`${RATE_LIMITED}, so the API token is not checked`, RATE_FIX)
  const { errorCode } = fieldsOf(json)
  const code = typeof errorCode === 'string' ? errorCode : undefined
  if (tokenEvidence({ status, errorCode: code }) === 'perhaps-refused')
    return fail(`Okta refuses the API token (${code})`, TOKEN_FIX)
  if (status === 403 && code === undefined)
    return fail('the org refuses this machine’s address (HTTP 403 without an error code)', BLOCKED_FIX)
  if (status === 403) return fail('Okta forbids the call, whatever the API token (HTTP 403)', ZONE_FIX)
  if (code !== undefined && (status === 400 || status === 401)) return ok('Okta accepts the API token')
  return warn('Okta’s response does not show whether the token is valid', AGAIN)
}

/**
 * How Okta begins the texts of its errors in English, for the errors that an empty sign-in may get.
 */
const ENGLISH =
  /^(Api validation failed|Authentication failed|The request was not valid|The request body was not)/i

/** Error texts follow the brand's language (S6), and some things are told by their texts alone. */
function judgeLanguage({ status, json }: Answer): Finding {
  const { errorSummary } = fieldsOf(json)
  if (status === 429) return skipped(RATE_LIMITED)
  if (typeof errorSummary !== 'string' || errorSummary === '')
    return skipped('the response has no error text')
  if (ENGLISH.test(errorSummary)) return ok('error texts are English')
  return warn(
    'Okta’s error texts are not English: the page cannot say what is wrong with a new password',
    'Set the display language of the brand to English (docs/connect-your-okta-org.md#language-of-the-brand).',
  )
}

/** Lists at most one user, of whom nothing is read. */
async function checkUsers(api: HttpApi, token: string, recheckMinutes: number | undefined): Promise<Finding> {
  if (recheckMinutes === undefined) return skipped('SESSION_RECHECK_MINUTES is off')
  const { failure, status, json } = await sendOrFail(api, {
    method: 'GET',
    path: '/api/v1/users?limit=1',
    headers: { ...ACCEPT, Authorization: `SSWS ${token}` },
  })
  if (status === 200 && Array.isArray(json)) return ok('the API token may read users')
  if (status === 429) return warn(`${RATE_LIMITED}, so the right to read users is not checked`, RATE_FIX)
  if (status >= 500) return fail(`the org fails at the call for users (HTTP ${status})`, AGAIN)
  const reason = failure === undefined ? `HTTP ${status}` : reasonOf(failure)
  return fail(`the API token could not read users (${reason}), so no session ends by a re-check`, USERS_FIX)
}

const RATE_LIMITED = 'the org’s rate limit is used up (HTTP 429)'
const RATE_FIX =
  'Find what uses it up: docs/operations.md#oktas-rate-limit-is-used-up. Run the doctor again in a minute.'
const USERS_FIX =
  'Give the account of the token a role that may view users (docs/connect-your-okta-org.md, steps 2 and 10).'
const AGAIN = 'Run the doctor again later. If it persists, read Okta’s status page.'
const TOKEN_FIX = 'Create a token (docs/connect-your-okta-org.md, step 2) and set AUTHN_API_TOKEN.'
const BLOCKED_FIX =
  'Look for Gatehouse’s addresses in the blocked network zones of the org (docs/operations.md#okta-refuses-an-address), and check AUTHN_BASE_URL.'
const ZONE_FIX =
  'Check whether the org refuses Gatehouse’s addresses (docs/operations.md#okta-refuses-an-address), the network zone from which the token may be used, and the role of its account (docs/connect-your-okta-org.md, steps 2 and 3).'

function judgePipeline(answer: Answer | undefined): Finding {
  const fix =
    'Read what works on which engine: docs/connect-your-okta-org.md#1-classic-engine-or-identity-engine.'
  if (answer?.status === 429) return skipped(RATE_LIMITED)
  const pipeline = answer?.status === 200 ? fieldsOf(answer.json).pipeline : undefined
  if (pipeline === 'v1') return ok('Classic Engine (v1)')
  if (pipeline === 'idx')
    return warn('Identity Engine (idx): parts of the Authentication API do not work', fix)
  return warn('the org does not name its pipeline', fix)
}
