import { LRUCache } from 'lru-cache'
import { z } from 'zod'
import { createLogThrottle } from '../observability/log-throttle.ts'
import { inTime } from '../upstream/start-timer.ts'
import type { UpstreamResponse } from '../upstream/upstream-client.ts'
import type { LookupOptions } from './lists/group-cache.ts'
import { readPages } from './lists/pages.ts'
import { isOneSegment } from './pam-user-name.ts'
import type { Coalescing, SharedFetch } from './shared/coalescing.ts'
import type { PamRecords } from './shared/pam-records.ts'
import { type Group, GroupAttributes, hasAttributes, parseAttributes } from './upstream/group.ts'
import type { CallContext } from './upstream/pam-call.ts'
import type { PamDeps } from './upstream/pam-deps.ts'
import { fieldsOf, PamFailure } from './upstream/pam-errors.ts'

/** As stored. Times are by the API's clock. */
export const StoredAttributes = z.object({
  attributes: GroupAttributes,
  fetchedAtMs: z.number(),
  /** Later than `fetchedAtMs` if the last read failed. */
  checkedAtMs: z.number(),
})
export type StoredAttributes = Readonly<z.output<typeof StoredAttributes>>

export interface FoundAttributes extends Pick<StoredAttributes, 'attributes' | 'fetchedAtMs'> {
  readonly ageMs: number
  readonly stale: boolean
}

/** undefined: the group contains its attributes, or PAM does not show them. It never fails because of PAM. */
export type FindAttributes = (group: Group, options: LookupOptions) => Promise<FoundAttributes | undefined>

export interface GroupAttributesOptions extends Omit<PamDeps, 'store' | 'random' | 'sleep'> {
  readonly records: PamRecords<StoredAttributes>
  readonly coalescing: Coalescing<StoredAttributes>
  /** Sends a GET request with the service user's token, which a refusal does not discard. @throws PamFailure */
  readonly get: (path: string, context: CallContext) => Promise<UpstreamResponse>
}

const MAX_IN_MEMORY = 1000
const MAX_CLOCK_SKEW_MS = 5000
const LOG_THROTTLE = { periodMs: 3_600_000, maxLines: 10 }

/**
 * Finds the attributes of one group, which PAM lists apart from groups. They are cached like a list, in memory and in the store,
 * and read once over all replicas. A failure is cached for as long as attributes are fresh.
 */
export function createGroupAttributes(options: GroupAttributesOptions): FindAttributes {
  const { names, scope, clock, monotonic, tunables, coalescing } = options
  const { freshMs, staleMs, onErrorMs } = tunables.lists
  const cache = createCache(options)

  return async function findAttributes(group, { requestId, maxAgeMs = Number.POSITIVE_INFINITY }) {
    if (hasAttributes(group) || !isOneSegment(group.name)) return undefined
    const calledAt = monotonic()
    const isAtMost = (ms: number, atMs: number) => {
      const ageMs = clock.now() - (monotonic() - calledAt) - atMs // at the time of the call
      return ageMs <= Math.min(ms, maxAgeMs) && ageMs > -MAX_CLOCK_SKEW_MS // else a wrong clock has dated it
    }
    const isFresh = ({ checkedAtMs }: StoredAttributes) => isAtMost(freshMs, checkedAtMs)
    const lockKey = `gatehouse:lock:pam-groups:${names.sign(recordName(group, scope))}`
    const fetch = (background: boolean): SharedFetch<StoredAttributes> => ({
      background,
      read: () => cache.readStored(group, isFresh),
      fetch: () => cache.readFromPam(group, { background, requestId }),
    })

    const known = cache.inMemory(group)
    const isUsable = known !== undefined && (isFresh(known) || isAtMost(staleMs, known.fetchedAtMs))
    if (isUsable && !isFresh(known)) coalescing.refresh(lockKey, fetch(true))?.catch(() => {}) // it is reported
    const found = isUsable ? known : await coalescing.run(lockKey, fetch(false))
    if (!isAtMost(onErrorMs, found.fetchedAtMs)) return undefined
    const ageMs = Math.max(0, clock.now() - found.fetchedAtMs)
    return { ...found, ageMs, stale: ageMs > freshMs }
  }
}

function createCache(options: GroupAttributesOptions) {
  const { records, scope, clock, monotonic, tunables, log, metrics } = options
  const memory = new LRUCache<string, StoredAttributes>({ max: MAX_IN_MEMORY })
  const mayLog = createLogThrottle({ ...LOG_THROTTLE, now: monotonic })

  function report({ outcome: name, wasDeferred }: PamFailure, { requestId }: CallContext): void {
    if (wasDeferred) return
    metrics.pamAttributeFailures.inc({ name })
    if (mayLog(name)) log.warn('pam_attributes_unavailable', { requestId, upstream: 'pam', name })
  }

  return {
    inMemory: ({ id }: Group) => memory.get(id),

    /** undefined: another replica has not stored any that are fresh. */
    async readStored(
      group: Group,
      isFresh: (stored: StoredAttributes) => boolean,
    ): Promise<StoredAttributes | undefined> {
      const stored = await records.find(recordName(group, scope))
      if (stored !== undefined) memory.set(group.id, stored)
      return stored !== undefined && isFresh(stored) ? stored : undefined
    },

    /** After a failure, the last attributes are used if its policy allows that. Otherwise there are none. */
    async readFromPam(group: Group, context: CallContext): Promise<StoredAttributes> {
      const startedAt = monotonic()
      const result = await readInTime(group, context, options)
      const checkedAtMs = clock.now() - (monotonic() - startedAt)
      if (result instanceof PamFailure) report(result, context)
      const last = result instanceof PamFailure && result.policy.stale ? memory.get(group.id) : undefined
      const attributes = result instanceof PamFailure ? {} : result
      const read = { attributes, fetchedAtMs: checkedAtMs, ...last, checkedAtMs }
      memory.set(group.id, read)
      await records.write(recordName(group, scope), read, tunables.lists.onErrorMs)
      return read
    },
  }
}

const recordName = ({ id }: Group, scope: string) => JSON.stringify([scope, 'attributes', id])

async function readInTime(
  group: Group,
  context: CallContext,
  options: GroupAttributesOptions,
): Promise<GroupAttributes | PamFailure> {
  const { teamPath, get, startTimer, tunables } = options
  const path = `${teamPath}/groups/${encodeURIComponent(group.name)}/attributes`
  const pages = { ...options, limits: tunables.lists, parse: parseAttribute }
  const reading = readPages(path, (page) => get(page, context), pages)
  try {
    const found = await inTime(reading, tunables.rateLimit.maxWaitMs, startTimer)
    if (found === undefined) return new PamFailure('no_answer', { reason: 'out of time' })
    return parseAttributes(Object.fromEntries(found.map(({ id, value }) => [id, value])))
  } catch (error) {
    if (error instanceof PamFailure) return error
    throw error
  }
}

/** An attribute, whose name is its id: of two with the same name, the later one is used. */
function parseAttribute(data: unknown): { readonly id: string; readonly value: unknown } | undefined {
  const { attribute_name, attribute_value } = fieldsOf(data)
  return typeof attribute_name === 'string' ? { id: attribute_name, value: attribute_value } : undefined
}
