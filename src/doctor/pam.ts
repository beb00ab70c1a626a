import type { Config } from '../config/load-config.ts'
import { toPamUserName } from '../pam/pam-user-name.ts'
import { parseIssuedToken } from '../pam/token/mint-token.ts'
import { failureFromAnswer, PamFailure, type PamOutcome } from '../pam/upstream/pam-errors.ts'
import type { HttpApi } from '../upstream/http-api.ts'
import type { UpstreamFailure } from '../upstream/upstream-failure.ts'
import { createDoctorApi, reasonOf, sendOrFail } from './calls.ts'
import { watchCertificate } from './certificate.ts'
import { type Check, type CheckGroup, type DoctorContext, skipAll } from './check.ts'
import { judgeEgressProxy, refusalOfProxy } from './egress-proxy.ts'
import { type Finding, fail, ok, skipped, warn } from './finding.ts'
import { isTlsFailure, judgeTlsFailure } from './tls.ts'

type PamConfig = NonNullable<Config['pam']>

const NAMES = ['reach', 'key', 'team', 'user', 'key_expiry']

/** A token, or why there is none. `no_answer` and `unreadable`: the API was not reached. */
export type Minted =
  | { readonly token: string }
  | {
      readonly outcome: PamOutcome
      readonly reason: string
      readonly status?: number
      readonly failure?: UpstreamFailure
    }

export function pamChecks(context: DoctorContext): CheckGroup {
  const { config, now, login } = context
  const { pam } = config
  if (pam === undefined) return skipAll('pam', NAMES, 'PAM_BASE_URL is not set')
  const api = createDoctorApi(pam.baseUrl, context)
  const certificate = watchCertificate(pam.baseUrl)
  let minted: Minted | undefined
  const withMinted = (judge: (result: Minted) => Finding | Promise<Finding>) => () =>
    minted === undefined ? skipped('there is no response') : judge(minted)
  const checks: Check[] = [
    {
      name: 'pam.reach',
      async run() {
        minted = await mint(api, pam, now())
        const failure = 'outcome' in minted ? minted.failure : undefined
        const finding = (await judgeEgressProxy(failure, pam.baseUrl, context)) ?? judgeReach(minted)
        return finding.status === 'ok' ? certificate.judge(now(), finding.detail) : finding
      },
    },
    { name: 'pam.key', needs: ['pam.reach'], run: withMinted(judgeKey) },
    { name: 'pam.team', needs: ['pam.reach'], run: withMinted(judgeTeam) },
    {
      name: 'pam.user',
      needs: ['pam.key', 'pam.team'],
      run: withMinted((result) => checkUser(api, pam, result, login)),
    },
    { name: 'pam.key_expiry', run: async () => judgeExpiry(pam.keyExpiresAtMs, now()) },
  ]
  return {
    checks,
    close() {
      certificate.stop()
      return api.close()
    },
  }
}

function pathOf(pam: PamConfig, path: string): string {
  return new URL(pam.baseUrl).pathname.replace(/\/$/, '') + path
}

async function mint(api: HttpApi, pam: PamConfig, nowMs: number): Promise<Minted> {
  const key = pam.key.value
  const path = pam.tokenPath.replaceAll('{team_name}', encodeURIComponent(pam.team))
  const response = await sendOrFail(api, {
    method: 'POST',
    path: pathOf(pam, path),
    headers: { Accept: 'application/json' },
    body: { key_id: key.id, key_secret: key.secret },
  })
  const { failure: lost, status } = response
  if (lost) return { outcome: 'no_answer', reason: reasonOf(lost), failure: lost }
  const reason = `HTTP ${status}`
  if (response.json === undefined) return { outcome: 'unreadable', reason, status }
  const failure = failureFromAnswer(response, 'token')
  if (failure !== undefined) return { outcome: failure.outcome, reason, status }
  try {
    return { token: parseIssuedToken(response, pam.team, nowMs).token }
  } catch (error) {
    if (!(error instanceof PamFailure)) throw error
    return { outcome: error.outcome, reason }
  }
}

export function judgeReach(minted: Minted): Finding {
  if (!('outcome' in minted)) return ok('PAM answers')
  const refused = minted.failure && refusalOfProxy(minted.failure)
  if (refused !== undefined) return refused
  if (minted.status === 500 || (minted.outcome === 'unreadable' && Number(minted.status) > 500))
    return fail(`PAM fails (${minted.reason})`, 'Read Okta’s status page, and run the doctor again later.')
  if (minted.failure && isTlsFailure(minted.failure))
    return judgeTlsFailure(minted.failure.code ?? '', TLS_SERVER)
  if (minted.outcome === 'no_answer')
    return fail(
      `PAM does not answer (${minted.reason})`,
      'Correct PAM_BASE_URL, DNS, the firewall, HTTPS_PROXY, and UPSTREAM_CA_FILE.',
    )
  if (minted.outcome === 'unreadable')
    return fail(`the response is not one of the PAM API (${minted.reason})`, 'Correct PAM_BASE_URL.')
  return ok('PAM answers')
}

const TLS_SERVER = { server: 'PAM', variable: 'PAM_BASE_URL', authorities: 'UPSTREAM_CA_FILE' } as const

const KEY_REFUSED: ReadonlySet<PamOutcome> = new Set(['authentication_error', 'forbidden_error'])
const TEAM_WRONG: Readonly<Partial<Record<PamOutcome, string>>> = {
  unknown_team: 'PAM does not know the team, or has no operation at PAM_TOKEN_PATH',
  other_team: 'the key belongs to another team',
  disabled_team: 'the team is disabled',
}

function judgeKey(minted: Minted): Finding {
  const fix = 'Create a key of the service user and set PAM_KEY_ID and PAM_KEY_SECRET.'
  if ('outcome' in minted && KEY_REFUSED.has(minted.outcome)) return fail('PAM refuses the key', fix)
  if (!('outcome' in minted) || minted.outcome === 'other_team') return ok('PAM accepts the key')
  if (minted.outcome in TEAM_WRONG) return skipped('not possible without pam.team')
  return warn(
    `PAM issues no token: ${minted.outcome} (${minted.reason})`,
    'Look the error up in docs/logs.md#pam-errors.',
  )
}

function judgeTeam(minted: Minted): Finding {
  if (!('outcome' in minted)) return ok('the key belongs to PAM_TEAM')
  const wrong = TEAM_WRONG[minted.outcome]
  if (wrong === undefined) return skipped('not possible without pam.key')
  return fail(wrong, 'Correct PAM_TEAM, PAM_BASE_URL, PAM_TOKEN_PATH, or the key.')
}

async function checkUser(
  api: HttpApi,
  pam: PamConfig,
  minted: Minted,
  login: string | undefined,
): Promise<Finding> {
  if (login === undefined) return skipped('needs --login')
  if ('outcome' in minted) return skipped('not possible without a token')
  const user = toPamUserName(login, pam.userName)
  const fix = 'Correct PAM_USER_NAME and PAM_USER_DOMAINS, or create the user in PAM.'
  if (user === undefined) return fail('the login maps to no PAM user name', fix)
  const response = await sendOrFail(api, {
    method: 'GET',
    path: pathOf(pam, `/v1/teams/${encodeURIComponent(pam.team)}/users/${encodeURIComponent(user)}/groups`),
    headers: { Accept: 'application/json', Authorization: `Bearer ${minted.token}` },
  })
  if (response.failure) return fail(`no response (${reasonOf(response.failure)})`, RETRY)
  const outcome = failureFromAnswer(response, 'user')?.outcome
  if (outcome === undefined) return ok('PAM lists the groups of the user')
  if (outcome === 'unknown_user') return fail('PAM does not know the user', fix)
  return fail(
    `PAM does not list the groups of the user: ${outcome}`,
    ['authorization_error', 'forbidden_error'].includes(outcome)
      ? 'Give the service user a role that may list groups of other users.'
      : RETRY,
  )
}

const RETRY = 'Look the error up in docs/logs.md#pam-errors, and run the doctor again.'

const DAY_MS = 86_400_000
const WARN_BEFORE_DAYS = 14

function judgeExpiry(expiresAtMs: number | undefined, nowMs: number): Finding {
  if (expiresAtMs === undefined)
    return skipped('PAM_KEY_EXPIRES_AT is not set', 'Set it to the time at which the key expires.')
  const days = Math.floor((expiresAtMs - nowMs) / DAY_MS)
  const fix = 'Create a new key (docs/operations.md#the-pam-key-expires-or-is-refused).'
  if (expiresAtMs <= nowMs) return fail('the key has expired', fix)
  const detail = `the key expires in ${days} days`
  return days < WARN_BEFORE_DAYS ? warn(detail, fix) : ok(detail)
}
