import type { Config } from '../config/load-config.ts'
import { readKeyDetails } from '../pam/key-details.ts'
import { toPamUserName } from '../pam/pam-user-name.ts'
import { parseIssuedToken } from '../pam/token/mint-token.ts'
import {
  failureFromAnswer,
  PamFailure,
  type PamOutcome,
  type PamSubject,
} from '../pam/upstream/pam-errors.ts'
import { parseUserStatus } from '../pam/upstream/user-status.ts'
import type { UpstreamClient, UpstreamResponse } from '../upstream/upstream-client.ts'
import { UpstreamFailure } from '../upstream/upstream-failure.ts'
import {
  type Check,
  type CheckGroup,
  type DoctorContext,
  type Finding,
  fail,
  ok,
  skipAll,
  skipped,
  warn,
} from './check.ts'
import { createHttpClient, reasonOf, sendOrFail } from './http-client.ts'

type PamConfig = NonNullable<Config['pam']>
type PamKey = ReturnType<PamConfig['keys']['current']>[number]

const NAMES = ['reach', 'key', 'team', 'user', 'key_expiry']

/** A token, or why there is none. `no_answer` and `unreadable`: the API was not reached. */
type Minted = { readonly token: string } | { readonly outcome: PamOutcome; readonly reason: string }

export function pamChecks(context: DoctorContext): CheckGroup {
  const { config, now, login } = context
  const { pam } = config
  if (pam === undefined) return skipAll('pam', NAMES, 'PAM_BASE_URL is not set')
  const client = createHttpClient(pam.baseUrl, context)
  const [first, standby] = pam.keys.current()
  let minted: Minted | undefined
  const withMinted = (judge: (result: Minted) => Finding | Promise<Finding>) => () =>
    minted === undefined ? skipped('there is no response') : judge(minted)
  const checks: Check[] = [
    {
      name: 'pam.reach',
      async run() {
        minted = first && (await mint(client, pam, first, now()))
        return minted === undefined ? skipped('there is no key') : judgeReach(minted)
      },
    },
    {
      name: 'pam.key',
      needs: ['pam.reach'],
      run: withMinted(async (result) => {
        const second = standby && (await mint(client, pam, standby, now()))
        return judgeKey(result, second)
      }),
    },
    { name: 'pam.team', needs: ['pam.reach'], run: withMinted(judgeTeam) },
    {
      name: 'pam.user',
      needs: ['pam.key', 'pam.team'],
      run: withMinted((result) => checkUser(client, pam, result, login)),
    },
    { name: 'pam.key_expiry', run: () => checkExpiry(client, pam, minted, now()) },
  ]
  return { checks, close: () => client.close() }
}

function pathOf(pam: PamConfig, path: string): string {
  return new URL(pam.baseUrl).pathname.replace(/\/$/, '') + path
}

async function mint(client: UpstreamClient, pam: PamConfig, key: PamKey, nowMs: number): Promise<Minted> {
  const path = pam.tokenPath.replaceAll('{team_name}', encodeURIComponent(pam.team))
  const response = await sendOrFail(client, {
    method: 'POST',
    path: pathOf(pam, path),
    headers: { Accept: 'application/json' },
    body: { key_id: key.id, key_secret: key.secret },
  })
  if (response instanceof UpstreamFailure) return { outcome: 'no_answer', reason: reasonOf(response) }
  const reason = `HTTP ${response.status}`
  if (response.json === undefined) return { outcome: 'unreadable', reason }
  const failure = failureFromAnswer(response, 'token')
  if (failure !== undefined) return { outcome: failure.outcome, reason }
  try {
    return { token: parseIssuedToken(response, pam.team, nowMs).token }
  } catch (error) {
    if (!(error instanceof PamFailure)) throw error
    return { outcome: error.outcome, reason }
  }
}

function judgeReach(minted: Minted): Finding {
  if (!('outcome' in minted)) return ok('PAM answers')
  if (minted.outcome === 'no_answer')
    return fail(
      `PAM does not answer (${minted.reason})`,
      'Correct PAM_BASE_URL, DNS, the firewall, HTTPS_PROXY, and UPSTREAM_CA_FILE.',
    )
  if (minted.outcome === 'unreadable')
    return fail(`the response is not one of the PAM API (${minted.reason})`, 'Correct PAM_BASE_URL.')
  return ok('PAM answers')
}

const KEY_REFUSED: ReadonlySet<PamOutcome> = new Set(['authentication_error', 'forbidden_error'])
const TEAM_WRONG: Readonly<Partial<Record<PamOutcome, string>>> = {
  unknown_team: 'PAM does not know the team',
  other_team: 'the key belongs to another team',
  disabled_team: 'the team is disabled',
}

const isRefused = (minted: Minted | undefined) =>
  minted !== undefined && 'outcome' in minted && KEY_REFUSED.has(minted.outcome)

function judgeKey(minted: Minted, standby: Minted | undefined): Finding {
  const fix = 'Create a key of the service user and set PAM_KEY_ID and PAM_KEY_SECRET.'
  if (isRefused(minted)) return fail('PAM refuses the key', fix)
  if (isRefused(standby)) return warn('PAM accepts the key but refuses the standby', fix)
  if (!('outcome' in minted) || minted.outcome === 'other_team') return ok('PAM accepts the key')
  if (minted.outcome in TEAM_WRONG) return skipped('not possible without pam.team')
  return warn(
    `PAM issues no token: ${minted.outcome} (${minted.reason})`,
    'Look the error up in docs/operations.md#pam-errors.',
  )
}

function judgeTeam(minted: Minted): Finding {
  if (!('outcome' in minted)) return ok('the key belongs to PAM_TEAM')
  const wrong = TEAM_WRONG[minted.outcome]
  if (wrong === undefined) return skipped('not possible without pam.key')
  return fail(wrong, 'Correct PAM_TEAM, PAM_BASE_URL, or the key.')
}

async function checkUser(
  client: UpstreamClient,
  pam: PamConfig,
  minted: Minted,
  login: string | undefined,
): Promise<Finding> {
  if (login === undefined) return skipped('needs --login')
  if ('outcome' in minted) return skipped('not possible without a token')
  const user = toPamUserName(login, pam.userName)
  const fix = 'Correct PAM_USER_NAME and PAM_USER_DOMAINS, or create the user in PAM.'
  if (user === undefined) return fail('the login maps to no PAM user name', fix)
  const path = `${teamPath(pam)}/users/${encodeURIComponent(user)}`
  const get = createGet(client, minted.token)
  try {
    const status = parseUserStatus((await get(path, 'user')).json)
    await get(`${path}/groups`, 'user')
    if (status === 'active') return ok('PAM lists the groups of the user')
    return fail(`PAM gives the user no groups: ${STATUS[status]}`, 'Activate the user in PAM.')
  } catch (error) {
    return judgeUserFailure(error, fix)
  }
}

const STATUS = { disabled: 'disabled', deleted: 'deleted', other: 'an unknown status' } as const

function teamPath(pam: PamConfig): string {
  return pathOf(pam, `/v1/teams/${encodeURIComponent(pam.team)}`)
}

/** Sends GET requests. They throw UpstreamFailure or PamFailure. */
function createGet(client: UpstreamClient, token: string) {
  return async (path: string, subject: PamSubject): Promise<UpstreamResponse> => {
    const response = await client.send({
      method: 'GET',
      path,
      headers: { Accept: 'application/json', Authorization: `Bearer ${token}` },
    })
    const failure = failureFromAnswer(response, subject)
    if (failure !== undefined) throw failure
    return response
  }
}

function judgeUserFailure(failure: unknown, fix: string): Finding {
  if (failure instanceof UpstreamFailure) return fail(`no response (${reasonOf(failure)})`, RETRY)
  if (!(failure instanceof PamFailure)) throw failure
  if (failure.outcome === 'unknown_user') return fail('PAM does not know the user', fix)
  const isForbidden = ['authorization_error', 'forbidden_error'].includes(failure.outcome)
  return fail(
    `PAM does not list the groups of the user: ${failure.outcome}`,
    isForbidden ? 'Give the service user a role that may list groups of other users.' : RETRY,
  )
}

const RETRY = 'Look the error up in docs/operations.md#pam-errors, and run the doctor again.'

const DAY_MS = 86_400_000
const WARN_BEFORE_DAYS = 14

/** The key's own expiry, if the service user may read it; otherwise `PAM_KEY_EXPIRES_AT`. */
async function checkExpiry(
  client: UpstreamClient,
  pam: PamConfig,
  minted: Minted | undefined,
  nowMs: number,
): Promise<Finding> {
  const [key] = pam.keys.current()
  if (key === undefined || minted === undefined || 'outcome' in minted)
    return judgeConfigured(pam, nowMs, 'there is no token')
  const get = createGet(client, minted.token)
  try {
    const { expiresAtMs, lastUsedMs } = await readKeyDetails({
      keyId: key.id,
      teamPath: teamPath(pam),
      get: (path) => get(path, 'team'),
      origin: new URL(pam.baseUrl).origin,
      team: pam.team,
      monotonic: () => performance.now(),
    })
    const used = lastUsedMs === undefined ? '' : `; last used ${new Date(lastUsedMs).toISOString()}`
    return expiresAtMs === undefined
      ? ok(`the key does not expire${used}`)
      : judgeExpiry(expiresAtMs, nowMs, used)
  } catch (error) {
    if (error instanceof UpstreamFailure) return judgeConfigured(pam, nowMs, reasonOf(error))
    if (!(error instanceof PamFailure)) throw error
    return judgeConfigured(pam, nowMs, error.message)
  }
}

function judgeConfigured({ keyExpiresAtMs }: PamConfig, nowMs: number, reason: string): Finding {
  if (keyExpiresAtMs !== undefined) return judgeExpiry(keyExpiresAtMs, nowMs, '')
  return skipped(
    `PAM does not show when the key expires (${reason}), and PAM_KEY_EXPIRES_AT is not set`,
    'Set it to the time at which the key expires, or let the service user list its keys.',
  )
}

function judgeExpiry(expiresAtMs: number, nowMs: number, used: string): Finding {
  const days = Math.floor((expiresAtMs - nowMs) / DAY_MS)
  const fix = 'Create a new key (docs/operations.md#the-pam-key-expires-or-is-refused).'
  if (expiresAtMs <= nowMs) return fail('the key has expired', fix)
  const detail = `the key expires in ${days} days${used}`
  return days < WARN_BEFORE_DAYS ? warn(detail, fix) : ok(detail)
}
