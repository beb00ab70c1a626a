import { stepNotOffered, upstreamUnavailable } from '../errors.ts'
import { type AuthnUpstream, toReply } from './authn-upstream.ts'
import type { Client } from './client.ts'
import { cutTokens, rewriteAnswer } from './links.ts'
import type { Offers } from './offers.ts'
import type { StepAnswer } from './step-outcome.ts'

/** GETs of a sign-in: security questions and enrolment pictures, for the device that they were offered to. */
export interface OfferedGets {
  questions(publicPath: string, client: Client): Promise<StepAnswer>
  picture(publicPath: string, client: Client): Promise<{ type: string; bytes: Buffer }>
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

  return {
    async questions(publicPath, client) {
      const path = await offeredPath(publicPath, client)
      const answer = await upstream.fetch(path, 'application/json', client)
      if (!Array.isArray(answer.json)) {
        const { status, body, headers, errorCode, isError } = toReply(answer)
        if (!isError) throw upstreamUnavailable(new Error('the questions are no list'))
        return {
          kind: 'answer',
          status,
          body: JSON.stringify(body),
          headers,
          errorCode,
          sessionId: undefined,
        }
      }
      const { body } = rewriteAnswer(
        { list: answer.json },
        { upstreamOrigins, publicOrigin, handle: '', knownTokens: [], pictureHandle: () => '' },
      )
      const { text } = cutTokens(JSON.stringify(body.list), ownSecrets())
      return {
        kind: 'answer',
        status: 200,
        body: text,
        headers: {},
        errorCode: undefined,
        sessionId: undefined,
      }
    },

    async picture(publicPath, client) {
      const path = await offeredPath(publicPath, client)
      const { status, headers, bytes } = await upstream.fetch(path, 'image/*', client)
      const type = String(headers['content-type'] ?? '')
        .toLowerCase()
        .replace(/;.*$/, '')
        .trim()
      if (status !== 200 || !PICTURE_TYPE.test(type) || bytes.length > maxPictureBytes) {
        throw upstreamUnavailable(new Error(`status ${status} without a picture`))
      }
      return { type, bytes }
    },
  }
}
