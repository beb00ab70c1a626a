import { LRUCache } from 'lru-cache'
import type { Seal } from '../../crypto/seal.ts'
import { createPamRecords } from '../shared/pam-records.ts'
import type { PamDeps } from '../upstream/pam-deps.ts'
import { PageRead } from './pages.ts'

/**
 * Lists that were read in part when a failure came, such as a closed rate-limit gate. They are kept in the store, so that any
 * replica can continue them, and in this process's memory if the store is out of reach.
 */
export interface InterruptedReads {
  /** undefined: there is none, or it began too long ago. */
  find(list: string, beganAfterMs: number): Promise<PageRead | undefined>
  keep(list: string, read: PageRead): Promise<void>
  drop(list: string): Promise<void>
}

const MAX_IN_MEMORY = 100

export function createInterruptedReads(
  deps: Pick<PamDeps, 'store' | 'names' | 'log' | 'metrics' | 'tunables'>,
  seal: Seal,
): InterruptedReads {
  const records = createPamRecords<PageRead>({ ...deps, kind: 'pam-groups', seal, schema: PageRead })
  const memory = new LRUCache<string, PageRead>({ max: MAX_IN_MEMORY })

  return {
    async find(list, beganAfterMs) {
      const read = (await records.find(nameOf(list))) ?? memory.get(list)
      return read !== undefined && read.beganAtMs > beganAfterMs ? read : undefined
    },

    async keep(list, read) {
      memory.delete(list)
      if (!(await records.write(nameOf(list), read, deps.tunables.lists.staleMs))) memory.set(list, read)
    },

    async drop(list) {
      memory.delete(list)
      await records.remove(nameOf(list))
    },
  }
}

/** As older versions name it. */
function nameOf(list: string): string {
  return `${list} paused`
}
