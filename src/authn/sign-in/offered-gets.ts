import { stepNotOffered, upstreamUnavailable } from '../../errors.ts'
import { DependencyFailure } from '../../observability/dependency-failure.ts'
import type { Metrics } from '../../observability/metrics.ts'
import type { UpstreamAnswer } from '../../upstream/upstream-client.ts'
import type { Client } from '../browser/client.ts'
import { asNoAnswer, type Guard } from '../sanitize/guard.ts'
import { type Rewritten, rewriteAnswer } from '../sanitize/links.ts'
import type { CallLimit } from '../throttling/call-limit.ts'
import { PICTURE } from '../transaction/offered-steps.ts'
import type { Offer, Offers } from '../transaction/offers.ts'
import type { StepAnswer } from '../transaction/step-outcome.ts'
import type { AuthnUpstream } from '../upstream/authn-upstream.ts'
import { toReply } from '../upstream/read-answer.ts'

/**
 * GETs of a sign-in: security questions and enrolment pictures, for the device that they were offered to, until the
 * transaction is over. They count as calls of the user.
 */
export interface OfferedGets {
  questions(publicPath: string, client: Client): Promise<StepAnswer>
  /** The picture, or the error of the upstream, which may no longer have it. */
  picture(publicPath: string, client: Client): Promise<Picture | StepAnswer>
}

export interface Picture {
  readonly kind: 'picture'
  readonly type: string
  readonly bytes: Buffer
}

export interface OfferedGetsParts {
  readonly upstream: AuthnUpstream
  readonly offers: Pick<Offers, 'find'>
  readonly callLimit: CallLimit
  readonly upstreamOrigins: readonly [string, ...string[]]
  readonly publicOrigin: string
  readonly guard: Guard
  readonly maxPictureBytes: number
  readonly metrics: Metrics
}

/** Pictures that hold nothing but pixels. */
const PICTURE_TYPE = /^image\/(?:png|jpeg|gif|webp)$/

export function createOfferedGets(parts: OfferedGetsParts): OfferedGets {
  const { upstream, offers, callLimit, upstreamOrigins, publicOrigin, guard, maxPictureBytes, metrics } =
    parts

  const offered = async (publicPath: string, client: Client): Promise<Offer> => {
    const offer = client.device.returned ? await offers.find(client.device.id, publicPath) : undefined
    if (offer === undefined) throw stepNotOffered()
    return offer
  }

  const fetch = ({ path, user }: Offer, operation: string, accept: string, client: Client) =>
    callLimit.send(user, operation, client, async () => {
      const answer = await upstream.fetch(path, accept, client)
      return { ...answer, isError: answer.status >= 400 }
    })

  /** As in a step, but that nobody has shown a handle: a state token goes without anything in its place. */
  const rewritten = (said: Readonly<Record<string, unknown>>, { path, stateTokens }: Offer): Rewritten => {
    const pictureToken = PICTURE.exec(path)?.[2] ?? ''
    const made = rewriteAnswer(said, {
      upstreamOrigins,
      publicOrigin,
      handle: undefined,
      knownTokens: [...stateTokens, pictureToken],
      pictureHandle: () => '',
    })
    if (made.cutFromLinks > 0) metrics.tokensCut.inc({ by: 'link' }, made.cutFromLinks)
    return made
  }

  /** An Error object of the API; throws 502 for anything else. */
  const errorIn = (answer: UpstreamAnswer, offer: Offer, client: Client, what: string): StepAnswer => {
    const { status, body: said, headers, errorCode, isError } = toReply(answer)
    if (!isError) throw upstreamUnavailable(new Error(`${what} is not what was offered`))
    const { body, tokens } = rewritten(said, offer)
    return answerOf(status, guard(body, tokens, client), { headers, errorCode })
  }

  return {
    questions: walked(async (publicPath, client) => {
      const offer = await offered(publicPath, client)
      const answer = await fetch(offer, 'questions', 'application/json', client)
      const { json: list, status } = answer
      if (!Array.isArray(list) || status !== 200) return errorIn(answer, offer, client, 'the list')
      const { body, tokens } = rewritten({ list }, offer)
      return answerOf(200, guard(body.list, tokens, client))
    }),

    picture: walked(async (publicPath, client) => {
      const offer = await offered(publicPath, client)
      const answer = await fetch(offer, 'picture', 'image/*', client)
      const { status, headers, bytes } = answer
      if (status >= 400) return errorIn(answer, offer, client, 'the picture')
      const type = String(headers['content-type'] ?? '')
        .toLowerCase()
        .replace(/;.*$/, '')
        .trim()
      if (status !== 200 || !PICTURE_TYPE.test(type) || bytes.length > maxPictureBytes) {
        throw upstreamUnavailable(new DependencyFailure('unusable', { upstreamStatus: status }))
      }
      return { kind: 'picture', type, bytes }
    }),
  }
}

/** What is nested so deep that it can't be walked is no answer of the API. */
function walked<Result>(fetch: (publicPath: string, client: Client) => Promise<Result>): typeof fetch {
  return async (publicPath, client) => {
    try {
      return await fetch(publicPath, client)
    } catch (error) {
      throw asNoAnswer(error)
    }
  }
}

function answerOf(
  status: number,
  body: string,
  { headers, errorCode }: Pick<StepAnswer, 'headers' | 'errorCode'> = { headers: {}, errorCode: undefined },
): StepAnswer {
  return { kind: 'answer', status, body, headers, errorCode, sessionId: undefined }
}
