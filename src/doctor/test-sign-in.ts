import { setTimeout as delay } from 'node:timers/promises'
import { v4 as uuid } from 'uuid'
import { fieldsOf, type HttpApi } from '../upstream/http-api.ts'
import { type Answer, reasonOf, sendOnce, sendOrFail } from './calls.ts'
import type { Check, DoctorContext } from './check.ts'
import { type Finding, fail, ok, skipped } from './finding.ts'
import {
  FORWARDED_FOR_BY_HAND,
  judgeSeenClient,
  readSeenClient,
  type SeenClient,
} from './okta-client-address.ts'

/** An address for documentation (RFC 5737), which no client has. */
const CLIENT_ADDRESS = '192.0.2.1'
const POLL_EVERY_MS = 1000

const NO_LOGIN = 'only a sign-in shows it: use --login and --password-stdin'
const DEVICE_TOKEN_BY_HAND =
  'Sign in with rememberDevice=true, sign out, and sign in again. No second factor must be asked for (docs/connect-your-okta-org.md, step 4).'

/**
 * Signs in twice as a trusted application, with one client address and one device token, and looks
 * in Okta's System Log for what Okta made of them. A finding instead of an event says why there is
 * none. Unproven: that `X-Okta-Request-Id` is the `transaction.id` of the events (docs/unproven.md
 * D1), and that `dtHash` depends on the device token (D2).
 */
export function signInChecks(api: HttpApi, context: DoctorContext): Check[] {
  const { login, password } = context
  let events: ReturnType<typeof eventsOfSignIns> | undefined
  const check = (name: string, judge: (events: SignInEvents) => Finding, byHand: string): Check => ({
    name,
    needs: ['authn.token'],
    mayTakeLong: true,
    async run() {
      if (login === undefined || password === undefined) return skipped(NO_LOGIN, byHand)
      events ??= eventsOfSignIns({ ...context, api }, { username: login, password })
      const found = await events
      return 'status' in found ? { ...found, fix: found.fix ?? byHand } : judge(found)
    },
  })
  return [
    check(
      'authn.forwarded_for',
      ([{ client }]) => judgeSeenClient(client, CLIENT_ADDRESS),
      FORWARDED_FOR_BY_HAND,
    ),
    check('authn.device_token', judgeDevice, DEVICE_TOKEN_BY_HAND),
  ]
}

function judgeDevice([first, second]: SignInEvents): Finding {
  if (first.deviceHash === undefined || second.deviceHash === undefined)
    return skipped('the System Log shows no hash of a device token', DEVICE_TOKEN_BY_HAND)
  if (first.deviceHash === second.deviceHash) return ok('Okta recognizes the device token')
  return fail(
    'Okta ignores the device token: two sign-ins with the same one are from different devices',
    'Check the role of the account of the API token (docs/connect-your-okta-org.md, step 2); on Identity Engine, docs/connect-your-okta-org.md#1-classic-engine-or-identity-engine.',
  )
}

interface LogEvent {
  readonly client: SeenClient
  readonly deviceHash: string | undefined
}

type SignInEvents = readonly [LogEvent, LogEvent]

type Options = DoctorContext & { readonly api: HttpApi }

async function eventsOfSignIns(options: Options, credentials: object): Promise<SignInEvents | Finding> {
  const context = { deviceToken: uuid().replaceAll('-', '') }
  const requestIds: string[] = []
  for (let n = 0; n < 2; n++) {
    const signedIn = await signIn(options, { ...credentials, context })
    if (typeof signedIn !== 'string') return signedIn
    requestIds.push(signedIn)
  }
  const [first, second] = await Promise.all(requestIds.map((id) => findEvent(options, id)))
  if (first === undefined || second === undefined) return NO_EVENT
  if ('status' in first) return first
  return 'status' in second ? second : [first, second]
}

const NO_EVENT = skipped('the System Log has no event of the test sign-in yet')

/** Signs in, and cancels the transaction. Resolves with the id of the request. */
async function signIn(options: Options, body: object): Promise<string | Finding> {
  const response = await post(options, '/api/v1/authn', body)
  if (response.failure) return skipped(`no response (${reasonOf(response.failure)})`)
  const { status, errorCode, stateToken } = fieldsOf(response.json)
  if (typeof stateToken === 'string') await post(options, '/api/v1/authn/cancel', { stateToken })
  if (typeof status !== 'string') {
    const code = typeof errorCode === 'string' && /^E\d{7}$/.test(errorCode) ? ` ${errorCode}` : ''
    return skipped(`Okta refuses the test sign-in (HTTP ${response.status}${code})`, SIGN_IN_FIX)
  }
  const id = response.headers['x-okta-request-id']
  return typeof id === 'string' && /^[\w-]{1,100}$/.test(id)
    ? id
    : skipped('the response has no X-Okta-Request-Id')
}

const SIGN_IN_FIX =
  'Correct the login and the password, and sign in as this user once at the org. Each refused password counts as a failed attempt of the user.'

/** Repeats the query, because events arrive with a delay. */
async function findEvent(options: Options, requestId: string): Promise<LogEvent | Finding> {
  const query = new URLSearchParams({ filter: `transaction.id eq "${requestId}"` })
  const startedAt = performance.now()
  for (;;) {
    const response = await sendOrFail(options.api, {
      method: 'GET',
      path: `/api/v1/logs?${query}`,
      headers: headersFor(options),
    })
    const event = readEvents(response)
    if (event !== NO_EVENT || performance.now() - startedAt + POLL_EVERY_MS > options.logMs) return event
    await delay(POLL_EVERY_MS)
  }
}

function readEvents({ failure, status, json }: Answer): LogEvent | Finding {
  if (failure !== undefined) return skipped(reasonOf(failure))
  if (status === 403) return skipped('the API token may not read the System Log (HTTP 403)')
  if (status !== 200 || !Array.isArray(json))
    return skipped(`the System Log is not readable (HTTP ${status})`)
  const events: readonly unknown[] = json
  if (events.length === 0) return NO_EVENT
  return { client: readSeenClient(events), deviceHash: deviceHashOf(events) }
}

function deviceHashOf(events: readonly unknown[]): string | undefined {
  return events
    .map((event) => fieldsOf(fieldsOf(fieldsOf(event).debugContext).debugData).dtHash)
    .find((hash): hash is string => typeof hash === 'string' && hash !== '')
}

function post(options: Options, path: string, body: object) {
  return sendOnce(options.api, { method: 'POST', path, headers: headersFor(options), body })
}

const headersFor = ({ config }: Options) => ({
  Accept: 'application/json',
  Authorization: `SSWS ${config.authn.apiToken.value}`,
  'User-Agent': 'gatehouse-doctor',
  'X-Forwarded-For': CLIENT_ADDRESS,
})
