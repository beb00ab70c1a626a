import { ALLOWED, type Status } from '../../src/sandbox/authn/statuses.ts'
import type { Call } from '../../src/sandbox/call-log.ts'
import type { Browser, JsonObject, PageAnswer } from './browser.ts'
import type { House } from './house.ts'
import { createPairs, MODEL_OPERATIONS, type ModelOperation, OVER, type Pairs } from './model-pairs.ts'
import { createRandom } from './model-random.ts'
import { type Typing, typed } from './model-typing.ts'
import { valueAt } from './transaction-view.ts'

/** One transaction as the model believes it to stand; nothing of it comes from the broker's own code. */
interface Tab {
  readonly browser: number
  readonly login: string | undefined
  readonly handle: string | undefined
  status: string
  answer: JsonObject
  /** What every answer so far has offered: path → methods. */
  readonly offered: Map<string, Set<string>>
  /** A password, an activation token or a factor was accepted in it. */
  accepted: boolean
  /** The user's own password or factor was accepted in it: no token that could be planted. */
  proved: boolean
  /** An answer has named its user. */
  named: boolean
  /** It unlocks an account: its end is no sign-in. */
  readonly unlocks: boolean
  /** Recovery for somebody who cannot be recovered. */
  readonly decoy: boolean
  /** The upstream's own token, once a call has shown it. */
  upstreamToken: string | undefined
  /** The upstream has forgotten it (expired, reset). */
  forgotten: boolean
  touchedAt: number
}

export interface WalkParts {
  readonly house: House
  readonly seed: number
  /** The sandbox's clock. */
  readonly now: () => number
  readonly pass: (ms: number) => void
}

export interface Walk {
  readonly pairs: Pairs
  readonly steps: number
  /** One thing that somebody does, looked over from every side. Throws when something does not hold. */
  step(): Promise<void>
}

const HANDLE = /^00[\w-]{43}$/
const BROWSERS = 3
const MAX_TABS = 8
const FORGOTTEN_AFTER_MS = 20 * 60_000
const UNKNOWN_PERSON = 'nobody.at.all@example.test'
/** People whose sign-in leads to a status, or near it. */
const LEADS_TO: Partial<Record<Status, readonly [string, ...string[]]>> = {
  PASSWORD_EXPIRED: ['olga.expired'],
  PASSWORD_WARN: ['walter.warn'],
  MFA_REQUIRED: ['tomas.berg', 'max.many'],
  MFA_CHALLENGE: ['sana.sms', 'carl.call', 'emma.mail', 'wanda.key', 'max.many'],
  MFA_ENROLL: ['erin.enrol', 'reggie.required'],
  MFA_ENROLL_ACTIVATE: ['erin.enrol'],
  LOCKED_OUT: ['luis.locked'],
}
const STRANGE_HANDLE = `00${'x'.repeat(43)}`

export async function startWalk({ house, seed, now, pass }: WalkParts): Promise<Walk> {
  const { sandbox, gatehouse } = house
  const random = createRandom(seed)
  const pairs = createPairs()
  const browsers: Browser[] = []
  for (let index = 0; index < BROWSERS; index += 1) browsers.push(await house.visit())
  /** Who is signed in where; undefined: nobody. */
  const sessions: (string | undefined)[] = browsers.map(() => undefined)
  let tabs: Tab[] = []
  let steps = 0
  const trail: string[] = []

  const require = (holds: boolean, what: string, answer?: PageAnswer) => {
    if (holds) return
    const shown = answer === undefined ? '' : `\n${answer.status} ${answer.text}`
    throw new Error(`${what}${shown}\nlast steps:\n${trail.slice(-25).join('\n')}`)
  }

  const browserOf = (index: number): Browser => browsers[index] ?? fail(`no browser ${index}`)

  /** Sends it, and holds the answer against what holds for every answer. */
  const send = async (index: number, method: 'GET' | 'POST' | 'DELETE', path: string, body?: object) => {
    const before = house.upstreamCalls().length
    const browser = browserOf(index)
    browser.received.length = 0
    const answer =
      method === 'POST'
        ? await browser.post(path, body)
        : await (method === 'GET' ? browser.get(path) : browser.delete(path))
    const calls = house
      .upstreamCalls()
      .slice(before)
      .filter((call) => !isKnock(call))
    trail.push(
      `browser ${index}: ${method} ${path} → ${answer.status} ${what(answer)}, ${calls.length} upstream`,
    )

    require(answer.status < 500, 'an answer of 500 or more', answer)
    if (answer.status >= 400) requireErrorObject(answer)
    const everything = [...browser.received, ...answer.setCookies].join('\n')
    const leaked = sandbox.tokensIssued().filter((token) => everything.includes(token))
    require(leaked.length === 0, 'an upstream token in an answer', answer)
    if (answer.status >= 400)
      require(!answer.setCookies.some((one) =>
        one.startsWith('gatehouse='),
      ), 'an error sets a session', answer)
    return { answer, calls }
  }

  const requireErrorObject = (answer: PageAnswer) => {
    const { errorCode, errorSummary, errorLink, errorId, errorCauses, ...more } = answer.json
    const texts = [errorCode, errorSummary, errorLink, errorId].every(
      (one) => typeof one === 'string' && one !== '',
    )
    const causes =
      Array.isArray(errorCauses) &&
      errorCauses.every(
        (one) => Object.keys(one).join() === 'errorSummary' && typeof one.errorSummary === 'string',
      )
    const isSound = texts && causes && errorLink === errorCode && Object.keys(more).length === 0
    require(isSound, 'no Error object', answer)
  }

  const userIdOf = (login: string | undefined) => sandbox.people().find((one) => one.login === login)?.id

  const checkSession = async (index: number) => {
    const { answer } = await send(index, 'GET', '/api/v1/sessions/me')
    trail.pop()
    const userId = answer.status === 200 ? answer.json.userId : undefined
    require(userId === userIdOf(sessions[index]) &&
      (userId !== undefined) ===
        (sessions[index] !==
          undefined), `browser ${index} should have a session of ${sessions[index] ?? 'nobody'}`, answer)
  }

  /** Takes an answer of the upstream into the model, and the session that it opens by the rule. */
  const learn = (tab: Tab, answer: PageAnswer, revokes: boolean) => {
    const { json } = answer
    if ('stateToken' in json) require(json.stateToken === tab.handle, 'the handle changed', answer)
    tab.status = String(json.status ?? '')
    tab.answer = json
    for (const { path, methods } of linksIn(json, gatehouse.url)) {
      const known = tab.offered.get(path) ?? new Set()
      for (const method of methods) known.add(method)
      tab.offered.set(path, known)
    }
    tab.named ||= valueAt(json, '_embedded.user.id') !== undefined
    const opens = tab.status === 'SUCCESS' && tab.accepted && !tab.unlocks
    if (revokes) revokeAllOf(tab)
    require(!opens || tab.proved || !isInAnothers(tab), "a token replaces another user's session", answer)
    if (opens) sessions[tab.browser] = tab.login
  }

  /** With the sessions of a user, the user's open transactions end: all but the one that asked for it. */
  const revokeAllOf = (tab: Tab) => {
    for (const [index, login] of sessions.entries()) if (login === tab.login) sessions[index] = undefined
    for (const other of tabs)
      if (other !== tab && other.named && other.login === tab.login && !OVER.has(other.status))
        other.status = 'CANCELLED'
  }

  const isInAnothers = ({ browser, login }: Pick<Tab, 'browser' | 'login'>) =>
    sessions[browser] !== undefined && sessions[browser] !== login

  /** What began with a token is refused as soon as it names another user than the open session's. */
  const isPlanted = (tab: Pick<Tab, 'browser' | 'login' | 'proved'>, answer: PageAnswer) =>
    !tab.proved && isInAnothers(tab) && isOurs(answer, 'E0000006')

  // beginnings

  const begin = async () => {
    const index = random.pick([0, 1, 2])
    const wanted = random.pickOne(pairs.unmetStatuses())
    if (wanted !== undefined && random.chance(0.5)) return beginTowards(wanted, index)
    await random.pick<(at: number) => Promise<void>>([
      signIn,
      signIn,
      signIn,
      activation,
      recovery,
      recovery,
      redemption,
    ])(index)
  }

  /** Begins where this status is not far; when the person is no longer what the configuration says, all begin anew. */
  const beginTowards = async (wanted: Status, index: number) => {
    if (wanted === 'RECOVERY_CHALLENGE') return recovery(index)
    if (wanted === 'PASSWORD_RESET' || wanted === 'RECOVERY') return redemption(index)
    const login = sandbox.person(random.pick(LEADS_TO[wanted] ?? ['amelia.stone'])).login
    await signIn(index, login)
    const reached = tabs.at(-1)
    const isThere = reached?.login === login && reached.status === wanted
    if (!isThere && wanted.startsWith('PASSWORD') && random.chance(0.5)) forgetAll(() => sandbox.reset())
  }

  const newTab = (
    browser: number,
    login: string | undefined,
    answer: PageAnswer,
    more: Partial<Tab>,
  ): Tab => {
    const handle = typeof answer.json.stateToken === 'string' ? answer.json.stateToken : undefined
    if (handle !== undefined) require(HANDLE.test(handle), 'this is no handle', answer)
    require(handle === undefined || !tabs.some((one) => one.handle === handle), 'a handle twice', answer)
    const tab: Tab = {
      browser,
      login,
      handle,
      status: '',
      answer: {},
      offered: new Map(),
      accepted: false,
      proved: false,
      named: false,
      unlocks: false,
      decoy: false,
      upstreamToken: undefined,
      forgotten: false,
      touchedAt: now(),
      ...more,
    }
    tabs = [...tabs.slice(-MAX_TABS + 1), tab]
    return tab
  }

  const anybody = () => random.pickOne(sandbox.people())?.login ?? ''

  const signIn = async (index: number, chosen?: string) => {
    const login = chosen ?? anybody()
    const person = sandbox.person(login)
    const isRight = person.password !== undefined && (chosen !== undefined || random.chance(0.85))
    const options = {
      warnBeforePasswordExpired: random.chance(0.7),
      multiOptionalFactorEnroll: random.chance(0.7),
    }
    const { answer, calls } = await send(index, 'POST', '/api/v1/authn', {
      username: login,
      password: isRight ? person.password : 'wrong-password',
      ...(random.chance(0.8) ? { options } : {}),
      ...(random.chance(0.2) ? { relayState: '/deep/link' } : {}),
    })
    if (answer.status === 429) return
    require(calls.length === 1, 'primary authentication is one upstream call', answer)
    require(answer.status === 200 ||
      answer.json.errorCode === 'E0000004', 'neither signed in nor refused', answer)
    if (answer.status !== 200) return checkSession(index)
    const isOver = answer.json.status === 'LOCKED_OUT'
    require(isOver || isRight, 'a wrong password was taken', answer)
    const accepted = isRight && !isOver
    learn(newTab(index, login, answer, { accepted, proved: accepted }), answer, false)
    await checkSession(index)
  }

  const activation = async (index: number) => {
    const login = random.pick(['anna.activate', 'arno.activate', 'aida.nopassword'] as const)
    const person = sandbox.person(login)
    const isRight = random.chance(0.85)
    const token = isRight ? sandbox.activationToken(login) : 'not-an-activation-token'
    const { answer } = await send(index, 'POST', '/api/v1/authn', { token })
    const planted = { browser: index, login: person.login, proved: false }
    require(!isRight || isPlanted(planted, answer) === isInAnothers(planted), 'a planted token', answer)
    if (isPlanted(planted, answer)) return checkSession(index)
    if (answer.status !== 200) {
      require(!isRight || answer.json.errorCode === 'E0000004', 'an activation token was refused', answer)
      return checkSession(index)
    }
    require(isRight, 'a wrong activation token was taken', answer)
    learn(newTab(index, person.login, answer, { accepted: true }), answer, false)
    await checkSession(index)
  }

  const RECOVERABLE = ['amelia.stone', 'tomas.berg', 'carl.call', 'lena.locked', 'luis.locked'] as const
  const NOT_RECOVERABLE = ['mila.nophone', 'hugo.norecovery', 'nobody'] as const

  const recovery = async (index: number) => {
    const name = random.chance(0.8) ? random.pick(RECOVERABLE) : random.pick(NOT_RECOVERABLE)
    const username = name === 'nobody' ? UNKNOWN_PERSON : sandbox.person(name).login
    const unlocks = random.chance(0.4)
    const factorType = random.pick(['SMS', 'SMS', 'CALL', 'CALL', 'EMAIL'] as const)
    const sentBefore = sandbox.outbox.messages.length
    const { answer } = await send(
      index,
      'POST',
      `/api/v1/authn/recovery/${unlocks ? 'unlock' : 'password'}`,
      {
        username,
        factorType,
        ...(random.chance(0.2) ? { relayState: '/deep/link' } : {}),
      },
    )
    await checkSession(index)
    if (answer.status === 429) return // one code for a name in a while
    require(answer.status === 200 && answer.json.status === 'RECOVERY_CHALLENGE', 'recovery tells', answer)
    require((answer.json.stateToken === undefined) === (factorType === 'EMAIL'), 'recovery shape', answer)
    const decoy = sandbox.outbox.messages.length === sentBefore
    const login = name === 'nobody' ? undefined : username
    learn(newTab(index, login, answer, { unlocks, decoy }), answer, false)
  }

  const redemption = async (index: number) => {
    const login = sandbox.person(random.pick(RECOVERABLE)).login
    const unlocks = random.chance(0.3)
    const isRight = random.chance(0.85)
    const recoveryToken = isRight
      ? sandbox.recoveryToken(login, unlocks ? 'UNLOCK' : 'PASSWORD')
      : 'no-such-token'
    const { answer } = await send(index, 'POST', '/api/v1/authn/recovery/token', { recoveryToken })
    const planted = { browser: index, login, proved: false }
    require(!isRight || isPlanted(planted, answer) === isInAnothers(planted), 'a planted token', answer)
    if (isPlanted(planted, answer)) return checkSession(index)
    require((answer.status === 200) === isRight, 'a recovery token', answer)
    if (isRight) learn(newTab(index, login, answer, { unlocks }), answer, false)
    else require(answer.json.errorCode === 'E0000011', 'a wrong recovery token', answer)
    await checkSession(index)
  }

  // steps

  /** A path for the operation: one that the last answer offers, else one offered before, else a made-up one. */
  const pathFor = (tab: Tab, { path: template }: ModelOperation): string => {
    const pattern = new RegExp(`^${template.replaceAll(/:\w+/g, '[^/]+')}$`)
    const now_ = linksIn(tab.answer, gatehouse.url).map(({ path }) => path)
    const fitting = (paths: Iterable<string>) => [...paths].filter((path) => pattern.test(path))
    const known = random.pickOne(fitting(now_)) ?? random.pickOne(fitting(tab.offered.keys()))
    const person = sandbox.people().find((one) => one.login === tab.login)
    const ids: Record<string, string> = {
      ':uid': person?.id ?? '00unobody',
      ':id': random.pickOne(person?.factors ?? [])?.id ?? 'opfnofactor',
      ':type': random.pick(['SMS', 'CALL']),
    }
    return known ?? template.replaceAll(/:\w+/g, (name) => ids[name] ?? '')
  }

  /** Only a push can be set up by a link that is sent: the rarest way through an enrolment. */
  const typing = (): Typing => {
    const isLinkUnmet = pairs.unmetIn('MFA_ENROLL_ACTIVATE').some((one) => one.upstream === 'send-activation')
    const preferredFactor = isLinkUnmet && random.chance(0.5) ? 'push' : undefined
    return { sandbox, random, now, origin: gatehouse.url, preferredFactor }
  }

  const take = async (tab: Tab, operation: ModelOperation, isRight: boolean) => {
    const path = pathFor(tab, operation)
    const { name, always, upstream } = operation
    const { status } = tab
    if (upstream === 'resend-challenge' || upstream === 'resend-enrolment' || random.chance(0.1)) pass(31_000)
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
    if (name === 'change_password' || name === 'verify') tab.proved = true
    learn(tab, answer, body.revokeSessions === true)
    if (body.revokeSessions === true) for (const index of browsers.keys()) await checkSession(index)
    else await checkSession(tab.browser)
  }

  const queryFor = (name: string) => {
    if (name === 'enroll') return '?updatePhone=true'
    if (name === 'verify' && random.chance(0.3)) return `?rememberDevice=${random.chance(0.5)}`
    return ''
  }

  /** A step that goes on: one call upstream, with the real token, and the upstream's own word on it. */
  const checkUpstreamStep = (
    tab: Tab,
    { name, upstream }: ModelOperation,
    path: string,
    answer: PageAnswer,
    calls: readonly Call[],
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

  /** While a code is awaited the broker speaks for the upstream: known and unknown people are told the same. */
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
    sandbox.tokensIssued().includes(token) || tabs.some((one) => one.forgotten)

  // beside the steps

  const leave = async (index: number) => {
    await send(index, 'DELETE', '/api/v1/sessions/me')
    sessions[index] = undefined
    await checkSession(index)
  }

  const steal = async (tab: Tab, operation: ModelOperation) => {
    const thief = (tab.browser + 1) % BROWSERS
    const path = pathFor(tab, operation)
    const body = typed(operation.name, path, tab, true, typing())
    const { answer, calls } = await send(thief, 'POST', path, { stateToken: tab.handle, ...body })
    require(isOurs(answer, 'E0000011') && calls.length === 0, 'a handle in another browser', answer)
    await checkSession(thief)
  }

  const garble = async (tab: Tab, operation: ModelOperation) => {
    const body = random.pick<object>([
      {},
      { stateToken: 17 },
      { stateToken: tab.handle, passCode: {}, answer: [] },
    ])
    const { answer, calls } = await send(tab.browser, 'POST', pathFor(tab, operation), body)
    const passes = isOurs(answer, 'E0000001', 'E0000011', 'E0000079') && calls.length === 0
    if ('answer' in body && !passes) return learnFromGarbled(tab, operation, answer)
    require(passes, 'a garbled body', answer)
  }

  /** Fields that an operation does not have are left out: what is left was a sound step. */
  const learnFromGarbled = async (tab: Tab, { upstream }: ModelOperation, answer: PageAnswer) => {
    if (answer.status !== 200) {
      if (answer.json.errorCode === 'E0000011' || isPlanted(tab, answer)) tab.status = 'CANCELLED'
    } else if (upstream === 'cancel') tab.status = 'CANCELLED'
    else learn(tab, answer, false)
    await checkSession(tab.browser)
  }

  const followGet = async (tab: Tab) => {
    const gets = linksIn(tab.answer, gatehouse.url).filter(
      ({ methods, path }) => methods.includes('GET') && /\/(questions|qr\/[^/]+)$/.test(path),
    )
    const link = random.pickOne(gets)
    if (link === undefined || tab.forgotten) return
    const { answer, calls } = await send(tab.browser, 'GET', link.path)
    require(answer.status === 200 && calls.length === 1, 'an offered GET', answer)
    const thief = (tab.browser + 1) % BROWSERS
    const other = await send(thief, 'GET', link.path)
    const own = tabs.some((one) => one.browser === thief && one.offered.has(link.path))
    const isRefused = isOurs(other.answer, 'E0000079') && other.calls.length === 0
    require(own ||
      isRefused ||
      isQuestions(link.path), 'a GET that was offered to another browser', other.answer)
  }

  const forgetAll = (how: () => void) => {
    how()
    for (const tab of tabs) tab.forgotten = true
    trail.push('— the upstream forgets every transaction')
  }

  return {
    pairs,
    get steps() {
      return steps
    },
    async step() {
      steps += 1
      if (house.upstreamCalls().length > 5000) house.forget()
      if (random.chance(0.01))
        forgetAll(random.chance(0.7) ? () => sandbox.reset() : sandbox.expireTransactions)
      tabs = tabs.filter((tab) => tab.status !== 'CANCELLED' || random.chance(0.5))
      const open = tabs.filter((tab) => !OVER.has(tab.status) && tab.status !== 'CANCELLED')
      if (open.length < 2 || random.chance(0.15)) return begin()
      if (random.chance(0.02)) return leave(random.pick([0, 1, 2]))

      const wanting = tabs.filter((tab) => tab.handle !== undefined || OVER.has(tab.status))
      const useful = wanting.filter((tab) => !tab.forgotten && pairs.unmetIn(tab.status).length > 0)
      const tab = random.chance(0.7)
        ? (random.pickOne(useful) ?? random.pickOne(wanting))
        : random.pickOne(wanting)
      if (tab === undefined) return begin()
      const anything = random.pickOne(MODEL_OPERATIONS) ?? fail('no operation')
      if (tab.handle !== undefined && random.chance(0.03)) return steal(tab, anything)
      if (tab.handle !== undefined && random.chance(0.03)) return garble(tab, anything)
      if (random.chance(0.06)) return followGet(tab)

      const unmet = random.pickOne(pairs.unmetIn(tab.status))
      if (unmet !== undefined && random.chance(0.6)) return take(tab, unmet, random.chance(0.85))
      const onward = MODEL_OPERATIONS.filter(
        ({ upstream }) =>
          upstream !== 'state' &&
          upstream !== 'cancel' &&
          (ALLOWED[tab.status as Status] ?? []).includes(upstream),
      )
      const next = random.chance(0.75) ? random.pickOne(onward) : undefined
      return take(tab, next ?? anything, random.chance(0.8))
    },
  }
}

interface Link {
  readonly path: string
  readonly methods: readonly string[]
}

/** Every link of the answer that leads to the broker; without hints both methods are meant. */
function linksIn(value: unknown, origin: string): Link[] {
  if (typeof value !== 'object' || value === null) return []
  const inside = Object.values(value).flatMap((member) => linksIn(member, origin))
  const href: unknown = Reflect.get(value, 'href')
  if (typeof href !== 'string' || !href.startsWith(`${origin}/`)) return inside
  const allow: unknown = Reflect.get(Object(Reflect.get(value, 'hints')), 'allow')
  const methods = Array.isArray(allow) ? allow.map(String) : ['GET', 'POST']
  return [{ path: new URL(href).pathname, methods }, ...inside]
}

/** The security questions of a person stand under one path, whatever the transaction. */
function isQuestions(path: string): boolean {
  return path.endsWith('/questions')
}

/** What the broker asks when it wants to know whether its own API token is still good. */
function isKnock({ path, body }: Call): boolean {
  return path === '/api/v1/authn' && Object.keys(Object(body)).join() === 'context'
}

/** The broker's own errors bear the request's id. */
function isBrokerMade({ json, headers }: PageAnswer): boolean {
  return json.errorId !== undefined && json.errorId === headers.get('x-request-id')
}

function isOurs(answer: PageAnswer, ...codes: string[]): boolean {
  return isBrokerMade(answer) && codes.includes(String(answer.json.errorCode))
}

function what({ json }: PageAnswer): string {
  return String(json.status ?? json.errorCode ?? '')
}

function fail(message: string): never {
  throw new Error(message)
}
