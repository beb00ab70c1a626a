import { stepNotOffered, upstreamUnavailable } from '../../errors.ts'
import { DependencyFailure } from '../../observability/dependency-failure.ts'
import type { UpstreamResponse } from '../../upstream/upstream-client.ts'
import type { Client } from '../browser/client.ts'
import type { Sanitizer } from '../sanitize/sanitize.ts'
import type { CallLimit } from '../throttling/call-limits.ts'
import type { OfferedResource, OfferedResources } from '../transaction/offered-resources.ts'
import { createAnswer, type StepAnswer } from '../transaction/step-result.ts'
import type { AuthnUpstream } from '../upstream/authn-upstream.ts'
import { toReply } from '../upstream/read-answer.ts'

/** Fetches resources that were offered to this device. They count as calls of the user. */
export interface FetchOffered {
  questions(publicPath: string, client: Client): Promise<StepAnswer>
  /** The picture, or Okta's error, for example if Okta no longer has it. */
  picture(publicPath: string, client: Client): Promise<Picture | StepAnswer>
}

export interface Picture {
  readonly kind: 'picture'
  readonly type: string
  readonly bytes: Buffer
}

export interface FetchOfferedDeps {
  readonly upstream: Pick<AuthnUpstream, 'fetch'>
  readonly resources: Pick<OfferedResources, 'find'>
  readonly callLimit: CallLimit
  readonly sanitizer: Pick<Sanitizer, 'resource'>
  readonly maxPictureBytes: number
}

/** Formats without scripts and links. */
const PICTURE_TYPE = /^image\/(?:png|jpeg|gif|webp)$/

export function createFetchOffered(deps: FetchOfferedDeps): FetchOffered {
  const { upstream, resources, callLimit, sanitizer, maxPictureBytes } = deps

  const find = async (publicPath: string, { device }: Client): Promise<OfferedResource> => {
    const resource = device.returned ? await resources.find(device.id, publicPath) : undefined
    if (resource === undefined) throw stepNotOffered()
    return resource
  }

  const fetch = ({ path, user }: OfferedResource, operation: string, accept: string, client: Client) =>
    callLimit.send(user, operation, client, async () => {
      const answer = await upstream.fetch(path, accept, client)
      return { ...answer, isError: answer.status >= 400 }
    })

  /** An Error object of the API; throws 502 for anything else. */
  const toErrorAnswer = (answer: UpstreamResponse, resource: OfferedResource, client: Client): StepAnswer => {
    const { status, body, headers, errorCode, isError } = toReply(answer)
    if (!isError) throw unusableAnswer(status)
    return createAnswer(sanitizer.resource(body, resource, client).text, { status, headers, errorCode })
  }

  return {
    async questions(publicPath, client) {
      const resource = await find(publicPath, client)
      const answer = await fetch(resource, 'questions', 'application/json', client)
      const { json: list, status } = answer
      if (!Array.isArray(list) || status !== 200) return toErrorAnswer(answer, resource, client)
      return createAnswer(sanitizer.resource(list, resource, client).text)
    },

    async picture(publicPath, client) {
      const resource = await find(publicPath, client)
      const answer = await fetch(resource, 'picture', 'image/*', client)
      if (answer.status >= 400) return toErrorAnswer(answer, resource, client)
      return toPicture(answer, maxPictureBytes)
    },
  }
}

function toPicture({ status, headers, bytes }: UpstreamResponse, maxBytes: number): Picture {
  const [type = ''] = String(headers['content-type'] ?? '').split(';')
  const name = type.trim().toLowerCase()
  if (status !== 200 || !PICTURE_TYPE.test(name) || bytes.length > maxBytes) throw unusableAnswer(status)
  return { kind: 'picture', type: name, bytes }
}

const unusableAnswer = (upstreamStatus: number) =>
  upstreamUnavailable(new DependencyFailure('invalid_response', { upstreamStatus }))
