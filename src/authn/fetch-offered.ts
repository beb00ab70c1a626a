import { stepNotOffered, upstreamUnavailable } from '../errors.ts'
import { DependencyFailure } from '../observability/dependency-failure.ts'
import type { UpstreamResponse } from '../upstream/http-api.ts'
import type { Client } from './browser/client.ts'
import { carriesApiToken, OFFERED_OPERATIONS } from './operations.ts'
import type { Sanitizer } from './sanitize/sanitize.ts'
import type { Throttling } from './throttling/throttling.ts'
import type { OfferedResource, OfferedResources } from './transaction/offered-resources.ts'
import { createAnswer, type StepAnswer } from './transaction/step-outcome.ts'
import type { AuthnUpstream } from './upstream/authn-upstream.ts'
import { toReply } from './upstream/read-answer.ts'

export interface Picture {
  readonly kind: 'picture'
  readonly type: string
  readonly bytes: Buffer
}

export interface FetchOfferedDeps {
  readonly upstream: Pick<AuthnUpstream, 'fetch'>
  readonly resources: Pick<OfferedResources, 'find'>
  readonly throttling: Pick<Throttling, 'reserve'>
  readonly sanitizer: Pick<Sanitizer, 'resource'>
}

const MAX_PICTURE_BYTES = 262_144

/** Formats without scripts and links. */
const PICTURE_TYPE = /^image\/(?:png|jpeg|gif|webp)$/

export type FetchOffered = ReturnType<typeof createFetchOffered>

/** Fetches resources that were offered to this device. */
export function createFetchOffered(deps: FetchOfferedDeps) {
  const { resources, sanitizer } = deps

  const find = async (publicPath: string, { device }: Client): Promise<OfferedResource> => {
    const resource = device.returned ? await resources.find(device.id, publicPath) : undefined
    if (resource === undefined) throw stepNotOffered()
    return resource
  }

  /** An Error object of the API; throws 502 for anything else. */
  const toErrorAnswer = (answer: UpstreamResponse, resource: OfferedResource, client: Client): StepAnswer => {
    const { status, body, headers, errorCode, isError } = toReply(answer)
    if (!isError) throw unusableResource(status)
    return createAnswer(sanitizer.resource(body, resource, client), { status, headers, errorCode })
  }

  return {
    async questions(publicPath: string, client: Client): Promise<StepAnswer> {
      const resource = await find(publicPath, client)
      const answer = await fetchCounted(deps, resource, QUESTIONS, client)
      const { json: list, status } = answer
      if (!Array.isArray(list) || status !== 200) return toErrorAnswer(answer, resource, client)
      return createAnswer(sanitizer.resource(list, resource, client))
    },

    /** The picture, or Okta's error, for example if Okta no longer has it. */
    async picture(publicPath: string, client: Client): Promise<Picture | StepAnswer> {
      const resource = await find(publicPath, client)
      const answer = await fetchCounted(deps, resource, PICTURE, client)
      if (answer.status >= 400) return toErrorAnswer(answer, resource, client)
      return toPicture(answer)
    },
  }
}

const QUESTIONS = {
  operation: 'questions',
  accept: 'application/json',
  carriesApiToken: carriesApiToken(OFFERED_OPERATIONS.listSecurityQuestions),
}
const PICTURE = {
  operation: 'picture',
  accept: 'image/*',
  carriesApiToken: carriesApiToken(OFFERED_OPERATIONS.getEnrollmentPicture),
}

/**
 * Counts the call in the limits of the user it was offered to. Throws 502 for a 401: the call
 * carries no API token and no state token, so it says nothing about them, and a client that gets a
 * 401 forgets its transaction.
 */
async function fetchCounted(
  { upstream, throttling }: FetchOfferedDeps,
  { path, user }: OfferedResource,
  { operation, ...call }: typeof QUESTIONS,
  client: Client,
): Promise<UpstreamResponse> {
  const attempt = throttling.reserve({ kind: 'call', operation }, client)
  try {
    await attempt.enforce({ kind: 'call', operation, ...user })
    const answer = await upstream.fetch({ path, ...call, client })
    if (answer.status === 401) throw unusableResource(answer.status)
    attempt.consumeOrRefund({ outcome: createAnswer('', { status: answer.status }) })
    return answer
  } catch (error) {
    attempt.consumeOrRefundOnError(error)
    throw error
  }
}

function toPicture({ status, headers, bytes }: UpstreamResponse): Picture {
  const [type = ''] = String(headers['content-type'] ?? '').split(';')
  const name = type.trim().toLowerCase()
  if (status !== 200 || !PICTURE_TYPE.test(name) || bytes.length > MAX_PICTURE_BYTES)
    throw unusableResource(status)
  return { kind: 'picture', type: name, bytes }
}

const unusableResource = (upstreamStatus: number) =>
  upstreamUnavailable(new DependencyFailure('invalid_response', { upstreamStatus }))
