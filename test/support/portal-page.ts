import type { Browser, JsonObject, PageAnswer } from './browser.ts'
import type { Harness } from './harness.ts'
import { PASSWORD } from './harness.ts'
import { handleOf, hrefAt, verifyHref } from './transaction-view.ts'

/**
 * A page of the portal in its own browser. It keeps the latest response of its sign-in and follows
 * its links with its handle. It throws if the handle changes within a transaction, because clients
 * re-send the one they have.
 */
export interface PortalPage {
  readonly browser: Browser
  /** The latest response that was not an error. */
  readonly held: PageAnswer
  readonly stateToken: string
  /**
   * Starts a sign-in with this user's name and the usual password. `fields` are added or override.
   */
  signIn(login: string, fields?: object): Promise<PageAnswer>
  /** Starts a transaction, or sends a step with the handle to this URL. */
  begin(path: string, body: object): Promise<PageAnswer>
  send(href: string, fields?: object, options?: SendOptions): Promise<PageAnswer>
  /** Follows a link of the latest response, given by its key path. */
  follow(link: string, fields?: object, options?: SendOptions): Promise<PageAnswer>
  /** Follows the verify link of the factor of this type. */
  verify(factorType: string, fields?: object, options?: SendOptions): Promise<PageAnswer>
  /** The response of `sessions/me`. undefined without a session. */
  session(): Promise<JsonObject | undefined>
}

export interface SendOptions {
  /** Appended as Okta's library does: `?rememberDevice=true`. */
  readonly query?: string
  readonly headers?: Record<string, string>
}

export async function openPage(harness: Pick<Harness, 'visit'>, browser?: Browser): Promise<PortalPage> {
  return pageIn(browser ?? (await harness.visit()))
}

function pageIn(browser: Browser): PortalPage {
  let held: PageAnswer | undefined
  let handle: string | undefined

  const current = () => {
    if (held === undefined) throw new Error('this page has not started a sign-in')
    return held
  }
  const keep = (answer: PageAnswer) => {
    if (answer.status !== 200) return answer
    if (handle !== undefined && typeof answer.json.stateToken === 'string' && handle !== handleOf(answer))
      throw new Error(`the handle changed with a ${answer.json.status} answer`)
    held = answer
    return answer
  }
  const send: PortalPage['send'] = async (href, fields = {}, { query = '', headers = {} } = {}) =>
    keep(await browser.post(href + query, { stateToken: handle, ...fields }, { headers }))

  const begin = async (path: string, body: object) => {
    handle = undefined
    const answer = keep(await browser.post(path, body))
    if (answer.status === 200 && typeof answer.json.stateToken === 'string') handle = handleOf(answer)
    return answer
  }

  return {
    browser,
    get held() {
      return current()
    },
    get stateToken() {
      if (handle === undefined) throw new Error('this page has no handle')
      return handle
    },
    begin,
    send,
    signIn: (login, fields = {}) =>
      begin('/api/v1/authn', { username: login, password: PASSWORD, ...fields }),
    follow: (link, fields, options) => send(hrefAt(current(), link), fields, options),
    verify: (factorType, fields, options) => send(verifyHref(current(), factorType), fields, options),
    async session() {
      const answer = await browser.get('/api/v1/sessions/me')
      return answer.status === 200 ? answer.json : undefined
    },
  }
}
