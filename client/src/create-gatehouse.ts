import type { Access, GroupPage, OwnSession, Session, SignInAnswer } from './answers.ts'
import { createStep } from './create-step.ts'
import { GatehouseError } from './gatehouse-error.ts'
import { createKeptItem } from './kept-item.ts'
import { createSessionWatch, type SessionEnd, type SessionEnding } from './session-watch.ts'
import type { SignInStep } from './sign-in-step.ts'
import type { Credentials, RecoveryRequest } from './step-inputs.ts'
import { createTransport, type Details, type TransportOptions, withQuery } from './transport.ts'

export interface GatehouseOptions extends TransportOptions {
  /**
   * Leaves the page after a sign-out, for the address at Okta that ends the Okta session of this
   * browser and leads to the sign-in page. Not called unless the operator has set `OKTA_SIGN_OUT`.
   * Default: `location.assign`, in a browser.
   */
  readonly navigate?: (address: string) => void
}

export interface SignInOptions {
  /** Answer `PASSWORD_WARN` before a password expires. Default: true. */
  readonly warnBeforePasswordExpired?: boolean
  /** Offer further factors during enrollment. Default: true. */
  readonly multiOptionalFactorEnroll?: boolean
}

/**
 * How a sign-in begins: with a password, with the token of an activation email, or with the handle
 * of a transaction.
 */
export type SignInStart = (Credentials | { readonly token: string } | { readonly stateToken: string }) & {
  readonly options?: SignInOptions
}

export interface GroupQuery {
  /** Part of the name. */
  readonly search?: string
  readonly role?: string
  /** 1 to 1,000. Default: 100. */
  readonly limit?: number
  readonly sort?: 'id' | 'name'
  /** `nextCursor` of the page before, with the other parameters unchanged. */
  readonly cursor?: string
}

/** All methods that send a request reject with a `GatehouseError`. */
export interface Gatehouse {
  signIn(start: SignInStart): Promise<SignInStep>
  /**
   * Sends a message with a code or a link. The answer is the same whether or not the account
   * exists.
   */
  recoverPassword(request: RecoveryRequest): Promise<SignInStep>
  unlockAccount(request: RecoveryRequest): Promise<SignInStep>
  /**
   * @param recoveryToken from the link in a recovery email
   * @param options with `multiOptionalFactorEnroll`, further factors are offered after the new
   * password too. Default: not
   */
  redeemRecoveryToken(
    recoveryToken: string,
    options?: Pick<SignInOptions, 'multiOptionalFactorEnroll'>,
  ): Promise<SignInStep>
  /**
   * After a reload, the button Back or another identity provider: the step of the sign-in that
   * began in this tab. Undefined if there is none, or if it has ended.
   */
  resume(): Promise<SignInStep | undefined>
  /**
   * The session of this browser, if there is one. Call it first: it also sets the device cookie.
   */
  session(): Promise<Session | undefined>
  /** Extends the session. */
  refresh(): Promise<Session>
  /**
   * Ends the session in all tabs, and that at Okta (`navigate`), which may be the only one left.
   */
  signOut(): Promise<void>
  /**
   * Calls the listener when another tab has signed in, and this one has no session. @returns
   * removes the listener
   */
  onSessionStart(listener: (session: Session) => void): () => void
  /**
   * Calls the listener once this long before the session ends, unless it is extended. @returns
   * removes the listener
   */
  onSessionEnding(secondsBefore: number, listener: (ending: SessionEnding) => void): () => void
  /**
   * Calls the listener when the session has ended, in this tab or another. @returns removes the
   * listener
   */
  onSessionEnd(listener: (reason: SessionEnd) => void): () => void
  /** The user's sessions in all browsers. */
  ownSessions(): Promise<readonly OwnSession[]>
  endSession(id: string): Promise<void>
  endOtherSessions(): Promise<void>
  /** The user's groups and roles. */
  groups(): Promise<Access>
  /** All groups, for users who may list them. */
  directory(query?: GroupQuery): Promise<GroupPage>
  /**
   * The broker's time in milliseconds, as far as its answers have told it: times of a session are
   * the broker's.
   */
  now(): number
}

const AUTHN = '/api/v1/authn'
const SESSIONS = '/api/v1/sessions'
const ME = `${SESSIONS}/me`
const REFRESH = `${ME}/lifecycle/refresh`
const OPTIONS = { warnBeforePasswordExpired: true, multiOptionalFactorEnroll: true }

export function createGatehouse(options: GatehouseOptions = {}): Gatehouse {
  const { request, now, origin } = createTransport(options)
  const { navigate = (address) => globalThis.location?.assign(address) } = options
  /** The same in all tabs. None on a server, where each client may have another user. */
  const nameInBrowser = () => (options.cookieJar || !origin() ? undefined : `gatehouse ${origin()}`)
  const watch = createSessionWatch({ channelName: nameInBrowser, now, check: session })
  const handle = createKeptItem(() => globalThis.sessionStorage, nameInBrowser)

  /** The first request of a sign-in. */
  async function begin(path: string, body: object): Promise<SignInStep> {
    const answer = await request<SignInAnswer>('POST', path, { body })
    return createStep(answer, { request, origin, handle, onSession: watch.open })
  }

  async function resume(): Promise<SignInStep | undefined> {
    const stateToken = handle.get()
    if (stateToken === undefined) return undefined
    try {
      return await begin(AUTHN, { stateToken })
    } catch (error) {
      if (!(error instanceof GatehouseError) || error.status !== 401) throw error
      handle.set(undefined) // it has ended
      return undefined
    }
  }

  /** A request for the open session. */
  async function call<Answer>(method: string, path: string, details: Details = {}): Promise<Answer> {
    const { id } = watch
    const headers = id ? { 'x-gatehouse-session': id } : {}
    try {
      return await request<Answer>(method, path, { headers, ...details })
    } catch (error) {
      const { status, code } = error instanceof GatehouseError ? error : {}
      if (id === watch.id && status === 409) watch.end('replaced')
      const isNotFound = status === 404 && code !== 'api_not_proxied'
      const isEnded = code === 'E0000005' || (isNotFound && (path === ME || path === REFRESH))
      if (id === watch.id && isEnded) watch.end()
      throw error
    }
  }

  async function session(): Promise<Session | undefined> {
    const found = await unlessNotFound(request<Session>('GET', ME))
    if (found) watch.open(found)
    else watch.end()
    return found
  }

  return {
    signIn({ options, ...start }) {
      const given = 'stateToken' in start ? start : { ...start, options: { ...OPTIONS, ...options } }
      return begin(AUTHN, given)
    },
    recoverPassword: (given) => begin(`${AUTHN}/recovery/password`, given),
    unlockAccount: (given) => begin(`${AUTHN}/recovery/unlock`, given),
    redeemRecoveryToken: (recoveryToken, given) =>
      begin(`${AUTHN}/recovery/token`, { recoveryToken, ...(given && { options: given }) }),
    resume,
    session,
    async refresh() {
      const extended = await call<Session>('POST', REFRESH)
      watch.open(extended)
      return extended
    },
    async signOut() {
      const okta: { address?: string | null } = {}
      const onHeaders = (headers: Headers) => {
        okta.address = headers.get('x-gatehouse-sign-out')
      }
      await unlessNotFound(call('DELETE', ME, { onHeaders }))
      watch.end('signed-out')
      if (okta.address) navigate(okta.address)
    },
    onSessionStart: watch.onStart,
    onSessionEnding: watch.onEnding,
    onSessionEnd: watch.onEnd,
    ownSessions: async () => (await call<{ sessions: OwnSession[] }>('GET', SESSIONS)).sessions,
    endSession: (id) => call('DELETE', `${SESSIONS}/${encodeURIComponent(id)}`),
    endOtherSessions: () => call('DELETE', SESSIONS),
    groups: () => call('GET', '/api/v1/pam/me'),
    directory: (query = {}) => call('GET', withQuery('/api/v1/pam/groups', query)),
    now,
  }
}

async function unlessNotFound<Answer>(answer: Promise<Answer>): Promise<Answer | undefined> {
  try {
    return await answer
  } catch (error) {
    if (error instanceof GatehouseError && error.status === 404 && error.code !== 'api_not_proxied')
      return undefined
    throw error
  }
}
