import type { Browser, JsonObject, PageAnswer } from './browser.ts'
import type { Harness } from './harness.ts'
import { PASSWORD } from './harness.ts'
import { handleOf, hrefAt, verifyHref } from './transaction-view.ts'

/**
 * A page of the portal in a browser of its own. It holds the newest answer of its sign-in, follows the links in it
 * with the handle in it, and fails when the handle changes on the way: clients re-send the one they hold.
 */
export interface PortalPage {
  readonly browser: Browser
  /** The newest answer that was no error. */
  readonly held: PageAnswer
  readonly stateToken: string
  /** Begins with this person's name and the usual password; `fields` are added or win. */
  signIn(login: string, fields?: object): Promise<PageAnswer>
  /** Begins a transaction, or sends a step to this address with the handle. */
  begin(path: string, body: object): Promise<PageAnswer>
  send(href: string, fields?: object, options?: SendOptions): Promise<PageAnswer>
  /** Follows the link under a path of keys of the answer that is held. */
  follow(link: string, fields?: object, options?: SendOptions): Promise<PageAnswer>
  /** Follows the verify link of the factor of this type. */
  verify(factorType: string, fields?: object, options?: SendOptions): Promise<PageAnswer>
  /** What `sessions/me` says; undefined when there is no session. */
  session(): Promise<JsonObject | undefined>
}

export interface SendOptions {
  /** Appended as the vendor's library does: `?rememberDevice=true`. */
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
    if (held === undefined) throw new Error('this page has not begun a sign-in')
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
      if (handle === undefined) throw new Error('this page holds no handle')
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
