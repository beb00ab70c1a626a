import type { RecordedRequest } from '../../src/sandbox/request-log.ts'
import type { Sandbox } from '../../src/sandbox/sandbox.ts'
import type { Browser, JsonObject, PageAnswer } from './browser.ts'
import type { Harness } from './harness.ts'
import { fail, isOurs, isTokenCheck, linksIn, what } from './model-answers.ts'
import { createPairs, OVER, type Pairs } from './model-pairs.ts'
import { createRandom, type Random } from './model-random.ts'
import { valueAt } from './transaction-view.ts'

/** The model's state of one transaction. It uses no code of the broker. */
export interface Tab {
  readonly browser: number
  readonly login: string | undefined
  readonly handle: string | undefined
  status: string
  answer: JsonObject
  /** Everything that was offered so far: path → methods. */
  readonly offered: Map<string, Set<string>>
  /** A password, an activation token or a factor was accepted. */
  accepted: boolean
  /** A password or factor of the user was accepted, not only a token that an attacker could have supplied. */
  proved: boolean
  /** A response has named the user. */
  named: boolean
  /** The transaction unlocks an account, so its end is not a sign-in. */
  readonly unlocks: boolean
  /** A recovery of a user who cannot be recovered. */
  readonly decoy: boolean
  /** The upstream state token, once a call has contained it. */
  upstreamToken: string | undefined
  /** The transaction has expired or was reset in the sandbox. */
  forgotten: boolean
  touchedAt: number
}

export interface ModelOptions {
  readonly harness: Harness
  readonly seed: number
  /** The sandbox's clock. */
  readonly now: () => number
  readonly pass: (ms: number) => void
}

/** The model's state, and the checks of every request. */
export interface ModelState extends ModelOptions {
  readonly sandbox: Sandbox
  /** The broker's address. */
  readonly origin: string
  readonly random: Random
  readonly pairs: Pairs
  readonly browsers: readonly Browser[]
  /** The login of each browser's session. undefined: no session. */
  readonly sessions: (string | undefined)[]
  tabs: Tab[]
  require(holds: boolean, what: string, answer?: PageAnswer): void
  /** Sends a request and checks the rules of every response. */
  send(index: number, method: Method, path: string, body?: object): Promise<Sent>
  /** Checks that the browser has the session that the model expects. */
  checkSession(index: number): Promise<void>
  /** Applies an upstream response to the model, with the session that it opens. */
  learn(tab: Tab, answer: PageAnswer, revokes: boolean): void
  isInAnothers(tab: Pick<Tab, 'browser' | 'login'>): boolean
  /** A transaction that started with a token is refused once it names a user other than the session's. */
  isPlanted(tab: Pick<Tab, 'browser' | 'login' | 'proved'>, answer: PageAnswer): boolean
  newTab(browser: number, login: string | undefined, answer: PageAnswer, more: Partial<Tab>): Tab
  /** The sandbox ends every transaction. */
  forgetAll(how: () => void): void
}

export interface Sent {
  readonly answer: PageAnswer
  readonly calls: readonly RecordedRequest[]
}
type Method = 'GET' | 'POST' | 'DELETE'

const HANDLE = /^00[\w-]{43}$/
export const BROWSERS = 3
const MAX_TABS = 8

export async function createModelState(parts: ModelOptions): Promise<ModelState> {
  const { harness, seed, now } = parts
  const { sandbox, gatehouse } = harness
  const browsers: Browser[] = []
  for (let index = 0; index < BROWSERS; index += 1) browsers.push(await harness.visit())
  const sessions: ModelState['sessions'] = browsers.map(() => undefined)
  const trail: string[] = []

  const require = (holds: boolean, what: string, answer?: PageAnswer) => {
    if (holds) return
    const shown = answer === undefined ? '' : `\n${answer.status} ${answer.text}`
    throw new Error(`${what}${shown}\nlast steps:\n${trail.slice(-25).join('\n')}`)
  }

  const browserOf = (index: number): Browser => browsers[index] ?? fail(`no browser ${index}`)

  const send = async (index: number, method: Method, path: string, body?: object) => {
    const before = harness.upstreamCalls().length
    const browser = browserOf(index)
    browser.received.length = 0
    const answer =
      method === 'POST'
        ? await browser.post(path, body)
        : await (method === 'GET' ? browser.get(path) : browser.delete(path))
    const calls = harness
      .upstreamCalls()
      .slice(before)
      .filter((call) => !isTokenCheck(call))
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

  const userIdOf = (login: string | undefined) => sandbox.users().find((one) => one.login === login)?.id

  const checkSession = async (index: number) => {
    const { answer } = await send(index, 'GET', '/api/v1/sessions/me')
    trail.pop()
    const userId = answer.status === 200 ? answer.json.userId : undefined
    require(userId === userIdOf(sessions[index]) &&
      (userId !== undefined) ===
        (sessions[index] !==
          undefined), `browser ${index} should have a session of ${sessions[index] ?? 'nobody'}`, answer)
  }

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

  /** When all sessions of a user end, the user's open transactions end too, except the one that requested it. */
  const revokeAllOf = (tab: Tab) => {
    for (const [index, login] of sessions.entries()) if (login === tab.login) sessions[index] = undefined
    for (const other of state.tabs)
      if (other !== tab && other.named && other.login === tab.login && !OVER.has(other.status))
        other.status = 'CANCELLED'
  }

  const isInAnothers = ({ browser, login }: Pick<Tab, 'browser' | 'login'>) =>
    sessions[browser] !== undefined && sessions[browser] !== login

  const isPlanted = (tab: Pick<Tab, 'browser' | 'login' | 'proved'>, answer: PageAnswer) =>
    !tab.proved && isInAnothers(tab) && isOurs(answer, 'E0000006')

  const newTab = (
    browser: number,
    login: string | undefined,
    answer: PageAnswer,
    more: Partial<Tab>,
  ): Tab => {
    const handle = typeof answer.json.stateToken === 'string' ? answer.json.stateToken : undefined
    if (handle !== undefined) require(HANDLE.test(handle), 'not a handle', answer)
    require(handle === undefined ||
      !state.tabs.some((one) => one.handle === handle), 'a handle twice', answer)
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
    state.tabs = [...state.tabs.slice(-MAX_TABS + 1), tab]
    return tab
  }

  const forgetAll = (how: () => void) => {
    how()
    for (const tab of state.tabs) tab.forgotten = true
    trail.push('— the upstream forgets every transaction')
  }

  const state: ModelState = {
    ...parts,
    sandbox,
    origin: gatehouse.url,
    random: createRandom(seed),
    pairs: createPairs(),
    browsers,
    sessions,
    tabs: [],
    require,
    send,
    checkSession,
    learn,
    isInAnothers,
    isPlanted,
    newTab,
    forgetAll,
  }
  return state
}
