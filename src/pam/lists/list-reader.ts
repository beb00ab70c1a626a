import type { UpstreamClock } from '../../upstream/answer-headers.ts'
import type { Group, ListOf } from '../upstream/group.ts'
import type { OnAccountOf } from '../upstream/pam-call.ts'
import { PamFailure } from '../upstream/pam-errors.ts'
import type { GroupLists, KnownList } from './group-lists.ts'
import type { ListBackoff, LostPages } from './list-backoff.ts'
import { newPageRead, type PageRead } from './pages.ts'
import type { PamClient } from './pam-client.ts'
import type { PausedReads } from './paused-reads.ts'
import { refreshIntervalMs } from './refresh-interval.ts'
import type { TeamSwitch } from './team-switch.ts'

/** Reads a list from the API and stores the result for all replicas. A read that was interrupted is continued. */
export interface ListReader {
  /** Throws `PamFailure`. Continues only what began after that time. */
  read(list: ListOf, account: OnAccountOf, beganAfterMs: number): Promise<KnownList>
}

export interface ListReaderParts {
  readonly client: PamClient
  readonly lists: GroupLists
  readonly paused: PausedReads
  readonly backoff: ListBackoff
  readonly team: TeamSwitch
  readonly clock: UpstreamClock
  readonly monotonic: () => number
}

export function createListReader(parts: ListReaderParts): ListReader {
  const { client, lists, paused, backoff, team, clock, monotonic } = parts

  return {
    async read(list, account, beganAfterMs) {
      const name = lists.nameOf(list)
      backoff.check(name)
      const startedAt = monotonic()
      const generation = await lists.generation(list)
      const pausedName = `${name} ${generation}`
      const found = await paused.find(pausedName, beganAfterMs)
      const read = found ?? newPageRead()
      const pagesBefore = read.asked.length
      try {
        const groups = await client.groups(list, account, read)
        const stored = await lists.put(list, {
          groups: sorted(groups),
          // A list is as old as its first page: whatever changed since may be missing.
          fetchedAtMs: read.beganAtMs,
          generation,
          refreshAfterMs: refreshIntervalMs(read.asked.length, read.rate),
        })
        if (found !== undefined) await paused.drop(pausedName)
        backoff.succeeded(name)
        return stored
      } catch (error) {
        if (!(error instanceof PamFailure)) throw error
        if (!error.rule.keepsPages) await paused.drop(pausedName)
        else if (read.asked.length !== pagesBefore) await paused.keep(pausedName, read)
        if (error.trouble === 'unknown_person') backoff.succeeded(name)
        else if (!error.gaveWay) backoff.failed(name, error, lostBy(error, read))
        await afterFailure(list, error, read, {
          generation,
          fetchedAtMs: clock.now() - (monotonic() - startedAt),
        })
        throw error
      }
    },
  }

  async function afterFailure(
    list: ListOf,
    { trouble, rule }: PamFailure,
    { rate }: PageRead,
    begun: Pick<KnownList, 'generation' | 'fetchedAtMs'>,
  ): Promise<void> {
    if (trouble === 'unknown_person')
      await lists.putUnknown(list, { ...begun, refreshAfterMs: refreshIntervalMs(1, rate) })
    if (rule.purges === 'list') await lists.remove(list)
    if (rule.purges === 'team') {
      await team.switchOff()
      lists.clearMemory()
    }
  }
}

function lostBy({ rule }: PamFailure, { asked, rate }: PageRead): LostPages {
  const pages = rule.keepsPages ? 0 : asked.length
  return { pages, intervalMs: refreshIntervalMs(pages, rate) }
}

/** By id, so that a cursor is a place in the list whatever comes and goes. */
function sorted(groups: Group[]): Group[] {
  return groups.sort((one, other) => (one.id < other.id ? -1 : 1))
}
