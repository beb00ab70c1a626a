import type { Link, Session, SignInAnswer } from './answers.ts'
import { GatehouseError, notOffered } from './gatehouse-error.ts'
import type { KeptItem } from './kept-item.ts'
import { type PollOptions, poll } from './poll.ts'
import type { SignInStep } from './sign-in-step.ts'
import { type Transport, withQuery } from './transport.ts'

interface Linked {
  readonly _links?: { readonly [relation: string]: Link | readonly Link[] | undefined } | undefined
}

/** The members that an answer may have, whatever its status. */
interface AnyAnswer extends Linked {
  readonly status: string
  readonly stateToken?: string
  readonly factorResult?: string
  readonly recoveryType?: string
  readonly _embedded?: {
    /** The chosen one. In some orgs the list has this name. */
    readonly factor?: AnyFactor | readonly AnyFactor[]
    readonly factors?: readonly AnyFactor[]
    readonly factorTypes?: readonly (Linked & { readonly factorType: string })[]
    readonly session?: Session
    readonly [member: string]: unknown
  }
}

/** The members that a factor may have, whatever its type. */
interface AnyFactor extends Linked {
  readonly factorType: string
  readonly id?: string
  readonly provider?: string
  readonly _embedded?: {
    readonly challenge?: { readonly correctAnswer?: number; readonly [member: string]: unknown }
    readonly verification?: Frame
    readonly activation?: Frame
  }
}

/** The members of an activation or a verification, whatever the factor type. */
interface Frame extends Linked {
  readonly host?: string
  readonly signature?: string
  readonly factorResult?: string
  readonly [member: string]: unknown
}

type LinkOptions = Readonly<Record<string, boolean | undefined>>

interface Dependencies extends Pick<Transport, 'origin' | 'request'> {
  /** The handle of the sign-in in this tab. Is kept after each step, for `resume`. */
  readonly handle: KeptItem
  /** Is called with the session that an answer has opened. */
  readonly onSession: (session: Session) => void
}

interface Context extends Dependencies {
  readonly answer: AnyAnswer
  /** Those of the challenge: they also apply to its polls and to its proof. */
  readonly options: LinkOptions
  /** The factors to choose from, or the chosen one. Some orgs name the list `factor`. */
  readonly factors: readonly AnyFactor[]
  /** Posts the body and the handle to a link. */
  post(
    link: Link | undefined,
    body?: object,
    options?: LinkOptions,
    signal?: AbortSignal,
  ): Promise<SignInStep>
}

/** @returns the step of an answer: an object with exactly the moves that the answer offers */
export function createStep(answer: SignInAnswer, deps: Dependencies, options: LinkOptions = {}): SignInStep {
  const { status, stateToken, _embedded }: AnyAnswer = answer
  if (!status) throw new GatehouseError(undefined) // such as the JSON of a proxy
  deps.handle.set(status === 'SUCCESS' ? undefined : stateToken)
  if (status === 'SUCCESS' && _embedded?.session) deps.onSession(_embedded.session)
  const factors = [_embedded?.factor ?? _embedded?.factors ?? []].flat()
  const context: Context = {
    answer,
    options,
    factors,
    ...deps,
    async post(link, body, chosen, signal) {
      const next: SignInAnswer = await deps.request('POST', hrefOf(link, chosen), {
        body: { ...body, stateToken },
        signal,
      })
      return createStep(next, deps, next.status === 'MFA_CHALLENGE' ? { ...options, ...chosen } : {})
    },
  }
  const moves = Object.hasOwn(MOVES, status) ? MOVES[status] : undefined
  // each status has the members of its interface: client/test compares them for every answer of the
  // journeys
  return { status, answer, stateToken, ...commonMoves(context), ...moves?.(context) } as SignInStep
}

/** The moves that depend on the answer's links alone. */
function commonMoves({ answer, factors, request, handle, post }: Context): object {
  const { stateToken } = answer
  const { factorType, provider } = factors[0] ?? {}
  const cancel = linkOf(answer, 'cancel')
  return {
    async cancel() {
      handle.set(undefined)
      if (cancel) await request('POST', hrefOf(cancel), { body: { stateToken } })
    },
    ...move(linkOf(answer, 'prev'), (link) => ({ previous: () => post(link) })),
    ...move(linkOf(answer, 'skip'), (link) => ({ skip: () => post(link) })),
    ...move(linkOf(answer, 'resend'), (link) => ({
      resend: (details?: object, options?: LinkOptions) =>
        post(link, { factorType, provider, ...details }, options),
    })),
  }
}

const MOVES: Readonly<Record<string, (context: Context) => object>> = {
  UNAUTHENTICATED: (context) => ({ signIn: next(context) }),
  PASSWORD_WARN: passwordChange,
  PASSWORD_EXPIRED: passwordChange,
  PASSWORD_RESET: (context) => ({ resetPassword: next(context) }),
  RECOVERY: (context) => ({ answerQuestion: (answer: string) => next(context)({ answer }) }),
  RECOVERY_CHALLENGE: (context) => move(linkOf(context.answer, 'next'), () => ({ verify: next(context) })),
  LOCKED_OUT: (context) => move(linkOf(context.answer, 'next'), () => ({ unlock: next(context) })),
  MFA_REQUIRED({ answer, factors, post }) {
    const keys = answer._embedded?.factorTypes?.find(({ factorType }) => factorType === 'webauthn')
    return {
      factors,
      verify: (factor: Linked, proof?: object, options?: LinkOptions) =>
        post(linkOf(factor, 'verify'), proof, options),
      ...move(linkOf(keys, 'next'), (link) => ({
        challengeAllKeys: (options?: LinkOptions) => post(link, {}, options),
      })),
    }
  },
  MFA_CHALLENGE: (context) => challenge(context, 'verify'),
  MFA_ENROLL: ({ factors, request, post }) => ({
    factors,
    enroll: (factor: AnyFactor, details?: object, options?: LinkOptions) => {
      const { factorType, provider } = factor
      return post(linkOf(factor, 'enroll'), { factorType, provider, ...details }, options)
    },
    questions: async (factor: Linked) => request('GET', hrefOf(linkOf(factor, 'questions'))),
  }),
  MFA_ENROLL_ACTIVATE(context) {
    const { post } = context
    const { activation } = context.factors[0]?._embedded ?? {}
    return {
      ...challenge(context, 'activate'),
      qrCode: linkOf(activation, 'qrcode')?.href,
      ...move(linkOf(activation, 'activate'), (link) => ({ restart: () => post(link) })),
      ...move(linkOf(activation, 'send'), () => ({
        sendLink: (by: string, details?: object) =>
          post(
            linksOf(activation, 'send').find(({ name }) => name === by),
            details,
          ),
      })),
    }
  },
  SUCCESS: ({ answer }) => ({
    session: answer._embedded?.session,
    redirectUrl: linkOf(answer, 'next')?.href,
    unlocked: answer.recoveryType === 'UNLOCK',
  }),
}

/** Okta's link to another site has a title. Its hints say GET or POST, but it is always a page. */
function passwordChange(context: Context): object {
  const { href, title } = linkOf(context.answer, 'next') ?? {}
  const isElsewhere = href !== undefined && (title !== undefined || !href.startsWith(`${context.origin()}/`))
  if (isElsewhere) return { next: 'redirect', redirectUrl: href, site: title }
  return { next: 'changePassword', changePassword: next(context) }
}

/**
 * The `next` link of a challenge or an activation polls, leads to another site, or takes the proof.
 */
function challenge(context: Context, verify: 'verify' | 'activate'): object {
  const { answer, factors, post, options: chosen } = context
  const [factor] = factors
  const { challenge, verification, activation } = factor?._embedded ?? {}
  const link = linkOf(answer, 'next')
  const state = {
    factor,
    result: answer.factorResult ?? activation?.factorResult,
    ...move(verification ?? activation, (duo) => duoOf(duo, context)),
  }
  // when enrolling, the link to another identity provider has the name `activate`
  if (link?.name === 'redirect' || link?.hints?.allow?.[0] === 'GET')
    return { ...state, next: 'redirect', redirectUrl: link.href }
  if (!link) return { ...state, next: undefined }
  if (link.name !== 'poll') return { ...state, next: verify, [verify]: next(context) }
  const polls = (options: PollOptions = {}) => {
    const changed = () => (verify === 'verify' ? options.verifyOptions?.() : undefined)
    return poll((signal) => post(link, {}, { ...chosen, ...changed() }, signal), options)
  }
  const number = verify === 'verify' && { correctAnswer: challenge?.correctAnswer }
  return { ...state, ...number, next: 'poll', poll: polls }
}

function duoOf(
  duo: Linked & { readonly host?: string; readonly signature?: string },
  context: Context,
): object {
  const { answer, factors, request } = context
  const { host, signature } = duo
  const link = linkOf(duo, 'complete')
  if (!host || !signature || !link) return {}
  const complete = async (sig_response: string) => {
    const form = { id: factors[0]?.id ?? '', stateToken: answer.stateToken ?? '', sig_response }
    await request('POST', hrefOf(link), { body: new URLSearchParams(form) })
  }
  return { duo: { host, signature, complete } }
}

function next({
  answer,
  post,
  options: chosen,
}: Context): (body?: object, options?: LinkOptions) => Promise<SignInStep> {
  return (body, options) => post(linkOf(answer, 'next'), body, { ...chosen, ...options })
}

/** The moves, if what they need is there. */
function move<Needed>(needed: Needed | undefined, moves: (needed: Needed) => object): object {
  return needed === undefined ? {} : moves(needed)
}

/**
 * The links of a relation: `resend` and `send` may be lists. A page would run `javascript:` if it
 * followed such a link.
 */
function linksOf(holder: Linked | undefined, relation: string): readonly Link[] {
  return [holder?._links?.[relation] ?? []].flat().filter(({ href }) => /^https?:\/\//i.test(href))
}

function linkOf(holder: Linked | undefined, relation: string): Link | undefined {
  return linksOf(holder, relation)[0]
}

/** `rememberDevice`, `autoPush` and `updatePhone` go into the link's query. */
function hrefOf(link: Link | undefined, options: LinkOptions = {}): string {
  if (!link?.href) throw notOffered()
  return withQuery(link.href, options)
}
