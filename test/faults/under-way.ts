import { expect } from '@jest/globals'
import { type Browser, type JsonObject, openBrowser } from '../support/browser.ts'
import { navigate } from '../support/navigate.ts'
import { handleOf, verifyHref } from '../support/transaction-view.ts'
import { loginOf, USER_ANSWER, USER_PASSWORD } from './fleet.ts'

/**
 * What four users of the fleet's sandbox have begun at one broker, to go on at another one. It can
 * be stored as JSON.
 */
export interface UnderWay {
  readonly signedIn: User & { readonly ssoToken: string }
  /** `step` asks for the answer to the security question. */
  readonly waiting: User & { readonly step: JsonObject }
  /** Has used up 3 of the 5 passwords of a device that is new to the user. */
  readonly stranger: User
  /** Has used up 5 of the 8 passwords of a device that the user has signed in with. */
  readonly known: User
}

interface User {
  readonly login: string
  /** Each with its name. */
  cookies: readonly string[]
}

const TARGET = 'http://localhost:3000/home'
export const UNDER_WAY_ENV = { SSO_REDIRECTS: TARGET }

let users = 0

/** @param at the origin of a broker on localhost */
export async function begin(at: string): Promise<UnderWay> {
  const newUser = (): User => ({ login: loginOf(users++), cookies: [] })
  const [signedIn, waiting, stranger, known] = [newUser(), newUser(), newUser(), newUser()]
  const signIn = async (user: User) => answerQuestion(user, at, await enter(user, at, USER_PASSWORD))
  const { sessionToken } = await signIn(signedIn)
  const step = await enter(waiting, at, USER_PASSWORD)
  await signIn(known)
  expect(await statusesOfWrong(3, stranger, at)).toEqual([401, 401, 401])
  expect(await statusesOfWrong(5, known, at)).toEqual([401, 401, 401, 401, 401])
  return {
    signedIn: Object.assign(signedIn, { ssoToken: String(sessionToken) }),
    waiting: Object.assign(waiting, { step }),
    stranger,
    known,
  }
}

/**
 * The session answers, the transaction and single sign-on go on, and the limits leave as many
 * passwords as before.
 */
export async function expectToGoOn({ signedIn, waiting, stranger, known }: UnderWay, at: string) {
  expect(await loginOfSession(signedIn, at)).toBe(signedIn.login)
  const query = new URLSearchParams({ token: signedIn.ssoToken, redirectUrl: TARGET })
  const sso = await navigate(browserOf(signedIn), `${at}/login/sessionCookieRedirect?${query}`)
  expect([sso.status, sso.location]).toEqual([302, expect.stringContaining('&token=')])
  expect(await answerQuestion(waiting, at, waiting.step)).toMatchObject({ status: 'SUCCESS' })
  expect(await statusesOfWrong(3, stranger, at)).toEqual([401, 401, 429])
  expect(await statusesOfWrong(4, known, at)).toEqual([401, 401, 401, 429])
}

/** The state after `expectToGoOn`. */
export async function expectToHold({ signedIn, waiting, stranger, known }: UnderWay, at: string) {
  for (const user of [signedIn, waiting]) expect(await loginOfSession(user, at)).toBe(user.login)
  for (const user of [stranger, known]) expect(await statusesOfWrong(1, user, at)).toEqual([429])
}

async function ask(user: User, url: string, body?: object) {
  const browser = browserOf(user)
  const answer = await (body === undefined ? browser.get(url) : browser.post(url, body))
  user.cookies = (await browser.jar.getCookies(browser.origin)).map((cookie) => cookie.cookieString())
  return answer
}

/** A name with this prefix is only for a cookie with these attributes. */
const withAttributes = (cookie: string) =>
  cookie.startsWith('__Host-') ? `${cookie}; Path=/; Secure` : cookie

/**
 * Cookies are those of localhost, on any port. The last version's answers need not match this one's
 * OpenAPI document.
 */
function browserOf({ cookies }: User): Browser {
  const browser = openBrowser('http://localhost')
  for (const cookie of cookies) browser.jar.setCookieSync(withAttributes(cookie), browser.origin)
  return browser
}

const enter = async (user: User, at: string, password: string) =>
  (await ask(user, `${at}/api/v1/authn`, { username: user.login, password })).json

async function answerQuestion(user: User, at: string, step: JsonObject): Promise<JsonObject> {
  const { pathname } = new URL(verifyHref({ json: step }, 'question'))
  return (await ask(user, at + pathname, { stateToken: handleOf({ json: step }), answer: USER_ANSWER })).json
}

async function statusesOfWrong(times: number, user: User, at: string): Promise<number[]> {
  const statuses: number[] = []
  const credentials = { username: user.login, password: 'Not-The-Password-1' }
  while (statuses.length < times) statuses.push((await ask(user, `${at}/api/v1/authn`, credentials)).status)
  return statuses
}

export const loginOfSession = async (user: User, at: string) =>
  (await ask(user, `${at}/api/v1/sessions/me`)).json.login
