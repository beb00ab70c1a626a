import { stepNotOffered, upstreamUnavailable } from '../errors.ts'
import type { UpstreamAnswer } from '../upstream/upstream-client.ts'
import { type AuthnUpstream, toReply } from './authn-upstream.ts'
import type { Client } from './client.ts'
import { PICTURE, rewriteAnswer } from './links.ts'
import type { Offers } from './offers.ts'
import type { StepAnswer } from './step-outcome.ts'
import { cutTokens } from './tokens.ts'

/** GETs of a sign-in: security questions and enrolment pictures, for the device that they were offered to. */
export interface OfferedGets {
  questions(publicPath: string, client: Client): Promise<StepAnswer>
  /** The picture, or the upstream's error: it is gone once the factor is set up. */
  picture(publicPath: string, client: Client): Promise<Picture | StepAnswer>
}

export interface Picture {
  readonly kind: 'picture'
  readonly type: string
  readonly bytes: Buffer
}

export interface OfferedGetsParts {
  readonly upstream: AuthnUpstream
  readonly offers: Offers
  readonly upstreamOrigins: readonly [string, ...string[]]
  readonly publicOrigin: string
  readonly ownSecrets: () => readonly string[]
  readonly maxPictureBytes: number
}

/** Pictures that hold nothing but pixels. */
const PICTURE_TYPE = /^image\/(?:png|jpeg|gif|webp)$/

export function createOfferedGets(parts: OfferedGetsParts): OfferedGets {
  const { upstream, offers, upstreamOrigins, publicOrigin, ownSecrets, maxPictureBytes } = parts

  const offeredPath = async (publicPath: string, client: Client): Promise<string> => {
    const path = client.device.returned ? await offers.find(client.device.id, publicPath) : undefined
    if (path === undefined) throw stepNotOffered()
    return path
  }

  /** An Error object of the API as it is; throws 502 for anything else. */
  const errorIn = (answer: UpstreamAnswer, tokens: readonly string[], what: string): StepAnswer => {
    const { status, body, headers, errorCode, isError } = toReply(answer)
    if (!isError) throw upstreamUnavailable(new Error(`${what} is not what was offered`))
    return answerOf(status, cutTokens(JSON.stringify(body), [...tokens, ...ownSecrets()]).text, {
      headers,
      errorCode,
    })
  }

  return {
    questions: walked(async (publicPath, client) => {
      const path = await offeredPath(publicPath, client)
      const answer = await upstream.fetch(path, 'application/json', client)
      if (!Array.isArray(answer.json) || answer.status !== 200) return errorIn(answer, [], 'the list')
      const { body } = rewriteAnswer(
        { list: answer.json },
        { upstreamOrigins, publicOrigin, handle: '', knownTokens: [], pictureHandle: () => '' },
      )
      return answerOf(200, cutTokens(JSON.stringify(body.list), ownSecrets()).text)
    }),

    picture: walked(async (publicPath, client) => {
      const path = await offeredPath(publicPath, client)
      const answer = await upstream.fetch(path, 'image/*', client)
      const { status, headers, bytes } = answer
      if (status >= 400) return errorIn(answer, [PICTURE.exec(path)?.[2] ?? ''], 'the picture')
      const type = String(headers['content-type'] ?? '')
        .toLowerCase()
        .replace(/;.*$/, '')
        .trim()
      if (status !== 200 || !PICTURE_TYPE.test(type) || bytes.length > maxPictureBytes) {
        throw upstreamUnavailable(new Error(`status ${status} without a picture`))
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
      throw error instanceof RangeError ? upstreamUnavailable(error) : error
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
