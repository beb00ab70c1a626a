import { ALLOWED, type Status } from '../../src/sandbox/authn/statuses.ts'
import type { RecordedRequest } from '../../src/sandbox/request-log.ts'
import type { PageAnswer } from './browser.ts'
import { isBrokerMade, isOurs, linksIn } from './model-answers.ts'
import { type ModelOperation, OVER } from './model-pairs.ts'
import type { ModelState, Tab } from './model-state.ts'
import { type Typing, typed } from './model-typing.ts'

const FORGOTTEN_AFTER_MS = 20 * 60_000
/** With one of these results, a verification has only started or was rejected on the phone. */
const FACTOR_OPEN: ReadonlySet<string> = new Set(['MFA_REQUIRED', 'MFA_CHALLENGE'])
const STRANGE_HANDLE = `00${'x'.repeat(43)}`

export type Steps = ReturnType<typeof createSteps>

/** Sends one step of a transaction. */
export function createSteps(state: ModelState) {
  const {
    sandbox,
    random,
    pairs,
    browsers,
    now,
    pass,
    require,
    send,
    checkSession,
    learn,
    isPlanted,
    origin,
  } = state

  /** A path for the operation: offered by the last response, else offered before, else made up. */
  const pathFor = (tab: Tab, { path: template }: ModelOperation): string => {
    const pattern = new RegExp(`^${template.replaceAll(/:\w+/g, '[^/]+')}$`)
    const now_ = linksIn(tab.answer, origin).map(({ path }) => path)
    const fitting = (paths: Iterable<string>) => [...paths].filter((path) => pattern.test(path))
    const known = random.pickOne(fitting(now_)) ?? random.pickOne(fitting(tab.offered.keys()))
    const person = sandbox.users().find((one) => one.login === tab.login)
    const ids: Record<string, string> = {
      ':uid': person?.id ?? '00unobody',
      ':id': random.pickOne(person?.factors ?? [])?.id ?? 'opfnofactor',
      ':type': random.pick(['SMS', 'CALL']),
    }
    return known ?? template.replaceAll(/:\w+/g, (name) => ids[name] ?? '')
  }

  /** Only a push factor can be enrolled with a link that is sent. */
  const typing = (): Typing => {
    const isLinkUnmet = pairs.unmetIn('MFA_ENROLL_ACTIVATE').some((one) => one.upstream === 'send-activation')
    const preferredFactor = isLinkUnmet && random.chance(0.5) ? 'push' : undefined
    return { sandbox, random, now, origin: origin, preferredFactor }
  }

  const take = async (tab: Tab, operation: ModelOperation, isRight: boolean) => {
    const path = pathFor(tab, operation)
    const { name, always, upstream } = operation
    const { status } = tab
    if (upstream === 'resend-challenge' || upstream === 'resend-enrollment' || random.chance(0.1))
      pass(31_000)
    const body = typed(name, path, tab, isRight, typing())
    const query = queryFor(name)
    const handle = tab.handle ?? STRANGE_HANDLE
    const wasForgotten = tab.forgotten || now() - tab.touchedAt > FORGOTTEN_AFTER_MS
    const { answer, calls } = await send(tab.browser, 'POST', path + query, { stateToken: handle, ...body })
    if (answer.json.errorCode === 'E0000047') return

    const isOver = OVER.has(status) || status === 'CANCELLED' || tab.handle === undefined
    if (isOver) {
      require(isOurs(answer, 'E0000011') &&
        calls.length === 0, 'a step in a transaction that is over', answer)
      if (OVER.has(status)) pairs.met(status, operation)
      return checkSession(tab.browser)
    }
    if (!always && !tab.offered.get(path)?.has('POST')) {
      require(isOurs(answer, 'E0000079') && calls.length === 0, 'a step that was not offered', answer)
      pairs.met(status, operation)
      return checkSession(tab.browser)
    }
    if (isPlanted(tab, answer)) {
      tab.status = 'CANCELLED'
      return checkSession(tab.browser)
    }
    if (status === 'RECOVERY_CHALLENGE') checkRecoveryStep(tab, operation, answer, calls.length)
    else checkUpstreamStep(tab, operation, path, answer, calls, wasForgotten)
    pairs.met(status, operation)

    if (answer.status !== 200) {
      if (answer.json.errorCode === 'E0000011') tab.status = 'CANCELLED'
      return checkSession(tab.browser)
    }
    if (!wasForgotten) pairs.taken(status, operation)
    tab.touchedAt = now()
    if (upstream === 'cancel') {
      require(answer.json.status === undefined, 'cancelled', answer)
      tab.status = 'CANCELLED'
      return checkSession(tab.browser)
    }
    require(upstream !== 'state' ||
      answer.json.status === status, `"where am I?" should say ${status}`, answer)
    if (name === 'change_password' || name === 'reset_password') tab.accepted = true
    const isVerified = name === 'verify' && !FACTOR_OPEN.has(String(answer.json.status))
    const isShownHere = Object.keys(body).length > 0 // a push is approved on a phone; its step has no credential
    if (name === 'change_password' || (isVerified && isShownHere)) tab.proved = true
    learn(tab, answer, body.revokeSessions === true)
    if (body.revokeSessions === true) for (const index of browsers.keys()) await checkSession(index)
    else await checkSession(tab.browser)
  }

  const queryFor = (name: string) => {
    if (name === 'enroll') return '?updatePhone=true'
    if (name === 'verify' && random.chance(0.3)) return `?rememberDevice=${random.chance(0.5)}`
    return ''
  }

  /** An accepted step: one upstream call with the real token, whose response the browser gets. */
  const checkUpstreamStep = (
    tab: Tab,
    { name, upstream }: ModelOperation,
    path: string,
    answer: PageAnswer,
    calls: readonly RecordedRequest[],
    wasForgotten: boolean,
  ) => {
    const [call] = calls
    require(calls.length === 1 && call !== undefined, `${name} goes upstream once`, answer)
    if (call === undefined) return
    require(call.path ===
      (name === 'introspect' ? '/api/v1/authn' : path), `upstream path ${call.path}`, answer)
    const token = String(Reflect.get(Object(call.body), 'stateToken'))
    require(token !== tab.handle && sandboxKnows(token), 'the upstream gets its own token', answer)
    require(tab.upstreamToken === undefined || tab.upstreamToken === token, 'the token changed', answer)
    tab.upstreamToken = token
    require(answer.status === 200 || !isBrokerMade(answer), 'a dead end that the broker made', answer)
    if (wasForgotten) return
    require(answer.json.errorCode !== 'E0000011', 'the transaction is lost', answer)
    const isAllowed = (ALLOWED[tab.status as Status] ?? []).includes(upstream)
    require(isAllowed ||
      answer.json.errorCode === 'E0000079', `${name} is not allowed in ${tab.status}`, answer)
  }

  /** While a recovery code is awaited, the broker answers itself: known and unknown users get the same response. */
  const checkRecoveryStep = (
    tab: Tab,
    { name, upstream }: ModelOperation,
    answer: PageAnswer,
    calls: number,
  ) => {
    const { errorCode } = answer.json
    switch (upstream) {
      case 'state':
        return require(answer.status === 200 && calls === 0, 'where a code is awaited', answer)
      case 'verify-recovery':
        require(answer.status === 200 || isOurs(answer, 'E0000068', 'E0000069'), 'a recovery code', answer)
        return require(!(tab.decoy && answer.status === 200), 'a decoy opens', answer)
      case 'resend-recovery':
        return require(answer.status === 200 ||
          isOurs(answer, 'E0000109', 'E0000133'), `resend: ${errorCode}`, answer)
      case 'cancel':
        return require(answer.status === 200, 'a recovery is cancelled', answer)
      default:
        return require(isOurs(answer, 'E0000079') && calls === 0, `${name} where a code is awaited`, answer)
    }
  }

  const sandboxKnows = (token: string) =>
    sandbox.tokensIssued().includes(token) || state.tabs.some((one) => one.forgotten)

  return { take, pathFor, typing }
}
