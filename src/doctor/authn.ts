import { ORGANIZATION_PATH, readOrgPipeline } from '../upstream/org-pipeline.ts'
import type { UpstreamClient, UpstreamResponse } from '../upstream/upstream-client.ts'
import { UpstreamFailure } from '../upstream/upstream-failure.ts'
import { watchCertificate } from './certificate.ts'
import {
  type Check,
  type CheckGroup,
  type DoctorContext,
  type Finding,
  fail,
  ok,
  skipped,
  warn,
} from './check.ts'
import { createHttpClient, isTlsFailure, reasonOf, recordOf, sendOrFail } from './http-client.ts'
import { signInChecks } from './test-sign-in.ts'

export function authnChecks(context: DoctorContext): CheckGroup {
  const { config, now } = context
  const { baseUrl, apiTokens } = config.authn
  const client = createHttpClient(baseUrl, context)
  const isTls = baseUrl.startsWith('https:')
  const certificate = watchCertificate(baseUrl)
  let organization: UpstreamResponse | UpstreamFailure | undefined
  const needs = ['authn.reach']
  const checks: Check[] = [
    {
      name: 'authn.reach',
      async run() {
        organization = await sendOrFail(client, { method: 'GET', path: ORGANIZATION_PATH, headers: ACCEPT })
        return judgeReach(organization)
      },
    },
    { name: 'authn.tls', run: () => judgeTls(organization, isTls, () => certificate.judge(now(), TLS_OK)) },
    { name: 'authn.clock', needs, run: () => judgeClock(organization, now()) },
    { name: 'authn.token', needs, run: () => checkTokens(client, apiTokens.current()) },
    { name: 'authn.pipeline', needs, run: () => checkPipeline(client) },
    ...signInChecks(client, context),
  ]
  const close = () => {
    certificate.stop()
    return client.close()
  }
  return { checks, close }
}

const ACCEPT = { Accept: 'application/json' }

function judgeReach(response: UpstreamResponse | UpstreamFailure): Finding {
  if (response instanceof UpstreamFailure) {
    return isTlsFailure(response)
      ? skipped('not possible without authn.tls')
      : fail(
          `the org does not answer (${reasonOf(response)})`,
          'Correct AUTHN_BASE_URL, DNS, the firewall, and HTTPS_PROXY.',
        )
  }
  const { errorCode, id, pipeline } = recordOf(response.json)
  const isOkta = [errorCode, id, pipeline].some((value) => typeof value === 'string')
  if (isOkta && response.status < 500) return ok('the org answers')
  const what = response.status >= 500 ? 'the org fails' : 'another web server answers, not Okta’s API'
  return fail(
    `${what} (HTTP ${response.status})`,
    'Set AUTHN_BASE_URL to the address of the org, without -admin and without a page’s path. If it is right, read Okta’s status page.',
  )
}

const TLS_OK = 'the certificate is accepted'

function judgeTls(
  response: UpstreamResponse | UpstreamFailure | undefined,
  isTls: boolean,
  judgeCertificate: () => Finding,
): Finding {
  if (!isTls) return skipped('AUTHN_BASE_URL is http://, on this machine')
  if (response === undefined) return skipped('the request did not end')
  if (!(response instanceof UpstreamFailure)) return judgeCertificate()
  if (!isTlsFailure(response)) return skipped(`no connection (${reasonOf(response)})`)
  return fail(
    `the certificate is not accepted (${response.code})`,
    'If a proxy replaces the certificate, set UPSTREAM_CA_FILE to its authority. Otherwise correct AUTHN_BASE_URL.',
  )
}

const CLOCK_WARN_MS = 30_000
const CLOCK_FAIL_MS = 300_000

function judgeClock(response: UpstreamResponse | UpstreamFailure | undefined, nowMs: number): Finding {
  const date = response === undefined || response instanceof UpstreamFailure ? '' : response.headers.date
  const offMs = Math.abs(nowMs - Date.parse(String(date)))
  if (Number.isNaN(offMs)) return skipped('the response has no Date')
  const detail = `the clocks differ by ${Math.round(offMs / 1000)} s`
  const fix = 'Synchronize the clock of this machine (NTP).'
  if (offMs > CLOCK_FAIL_MS) return fail(detail, fix)
  return offMs > CLOCK_WARN_MS ? warn(detail, fix) : ok(detail)
}

type TokenFinding = 'refused' | 'forbidden' | 'unclear' | 'accepted'

/** An empty sign-in: with a valid token, Okta refuses only its form. It concerns no user. */
async function checkTokens(client: UpstreamClient, tokens: readonly string[]): Promise<Finding> {
  const responses = await Promise.all(
    tokens.map((token) =>
      sendOrFail(client, {
        method: 'POST',
        path: '/api/v1/authn',
        headers: { ...ACCEPT, Authorization: `SSWS ${token}` },
        body: {},
      }),
    ),
  )
  const findings = responses.map(judgeToken)
  const [first, standby] = findings
  if (first === 'refused') return fail('Okta refuses the API token (E0000011)', TOKEN_FIX)
  if (first === 'forbidden')
    return fail('Okta accepts the API token but forbids the call (HTTP 403)', ZONE_FIX)
  if (first === 'unclear') return warn('Okta’s response does not show whether the token is valid', AGAIN)
  if (standby !== undefined && standby !== 'accepted')
    return warn('Okta accepts the API token but not the standby', TOKEN_FIX)
  return ok(tokens.length > 1 ? 'Okta accepts the API token and the standby' : 'Okta accepts the API token')
}

function judgeToken(response: UpstreamResponse | UpstreamFailure): TokenFinding {
  if (response instanceof UpstreamFailure) return 'unclear'
  const { status, json } = response
  const { errorCode } = recordOf(json)
  if (errorCode === 'E0000011') return 'refused'
  if (status === 403) return 'forbidden'
  return typeof errorCode === 'string' && (status === 400 || status === 401) ? 'accepted' : 'unclear'
}

const AGAIN = 'Run the doctor again later. If it persists, read Okta’s status page.'
const TOKEN_FIX = 'Create a token (docs/connect-your-okta-org.md, step 2) and set AUTHN_API_TOKEN.'
const ZONE_FIX =
  'Check the network zone from which the token may be used, and the role of its account (docs/connect-your-okta-org.md, steps 2 and 3).'

async function checkPipeline(client: UpstreamClient): Promise<Finding> {
  const fix = 'Read what works on which engine: docs/identity-engine.md.'
  try {
    const pipeline = await readOrgPipeline(client)
    if (pipeline === 'v1') return ok('Classic Engine (v1)')
    return warn('Identity Engine (idx): parts of the Authentication API do not work', fix)
  } catch (error) {
    if (!(error instanceof UpstreamFailure)) throw error
    return warn(`the org does not name its pipeline (${reasonOf(error)})`, fix)
  }
}
