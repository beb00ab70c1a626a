import type { Replies } from './redis-scripts.ts'
import {
  assertOneSlot,
  assertValidCount,
  newWindowId,
  type OperationName,
  type OperationResult,
  roundUpTtl,
  type Store,
} from './store.ts'

export interface RedisRequest {
  /** All in one slot. */
  readonly keys: readonly string[]
  readonly args: readonly (string | number)[]
  /**
   * Whether it is sent again if the connection breaks. A deletion is not: if it has already run, the second reply would say that
   * there was nothing to delete.
   */
  readonly isRepeatable: boolean
}

export interface RedisOperation<Name extends OperationName> {
  /** Throws a TypeError for parameters that violate the contract. */
  request(...parameters: Parameters<Store[Name]>): RedisRequest
  result(reply: Replies[Name], ...parameters: Parameters<Store[Name]>): OperationResult<Name>
}

export const OPERATIONS: { readonly [Name in OperationName]: RedisOperation<Name> } = {
  get: {
    request: (key) => repeatable([key]),
    result: orUndefined,
  },

  set: {
    request: (key, value, ttlMs, when) => ({
      keys: [key],
      args: [value, roundUpTtl(ttlMs), when === undefined ? '' : CONDITIONS[when]],
      isRepeatable: when !== 'absent',
    }),
    result: isOne,
  },

  swap: {
    request: (key, value, ttlMs) => once([key], value, roundUpTtl(ttlMs)),
    result: orUndefined,
  },

  delete: {
    request: (key) => once([key]),
    result: isOne,
  },

  deleteIf: {
    request: (key, expected) => once([key], expected),
    result: isOne,
  },

  extendIf: {
    request: (key, expected, ttlMs) => repeatable([key], expected, roundUpTtl(ttlMs)),
    result: isOne,
  },

  acquire: {
    request({ lockKey, recordKey, token, lockTtlMs }) {
      assertOneSlot(lockKey, recordKey)
      return repeatable([lockKey, recordKey], token, roundUpTtl(lockTtlMs))
    },
    result: ([holder, record]) => ({ holder, record: record ?? undefined }),
  },

  commit: {
    request({ lockKey, recordKey, token, expected, record, shared }) {
      assertOneSlot(lockKey, recordKey, shared.key)
      const args = [
        token,
        ...(expected === undefined ? ['', '0'] : [expected, '1']),
        ...(typeof record === 'object' ? ['write', record.write, roundUpTtl(record.ttlMs)] : [record, '', 0]),
        shared.value,
        roundUpTtl(shared.ttlMs),
      ]
      return { keys: [lockKey, recordKey, shared.key], args, isRepeatable: record !== 'delete' }
    },
    result: isOne,
  },

  indexPut: {
    request: (key, field, value, ttlMs) => repeatable([key], field, value, roundUpTtl(ttlMs)),
    result: (size) => size,
  },

  indexAll: {
    request: (key) => repeatable([key]),
    result: (fields) => fields,
  },

  indexRemove: {
    request: (key, field) => once([key], field),
    result: isOne,
  },

  countAttempt: {
    request(request) {
      assertValidCount(request)
      const { keyPrefix, windows, override, notAfterMs = '' } = request
      const lists = [windows, override?.windows ?? []].map((list) =>
        list.map((window) => ({ ...window, ttlMs: roundUpTtl(window.ttlMs) })),
      )
      const keys = override ? [keyPrefix, override.ifKeyExists] : [keyPrefix]
      return once(keys, newWindowId(), notAfterMs, JSON.stringify(lists))
    },
    result([overridden, full, leftMs, windowIds, late], { windows, override }) {
      const counted = overridden === 1 ? (override?.windows ?? []) : windows
      return {
        overridden: overridden === 1,
        full: full < 0 ? undefined : { index: full, leftMs },
        ...(late === 1 ? { late: true } : {}),
        countedWindows: windowIds.flatMap((windowId, index) => {
          const window = counted[index]
          return window === undefined ? [] : [{ window, windowId }]
        }),
      }
    },
  },

  refundAttempt: {
    request: (keyPrefix, counted) => once([keyPrefix], JSON.stringify(counted)),
    result: () => {},
  },

  clearWindows: {
    request(keyPrefix, windows, marker) {
      const keys = marker ? [keyPrefix, marker.key] : [keyPrefix]
      assertOneSlot(...keys)
      return once(keys, JSON.stringify(windows), roundUpTtl(marker?.ttlMs ?? 0))
    },
    result: () => {},
  },
}

const CONDITIONS = { absent: 'NX', present: 'XX' } as const

function once(keys: readonly string[], ...args: readonly (string | number)[]): RedisRequest {
  return { keys, args, isRepeatable: false }
}

function repeatable(keys: readonly string[], ...args: readonly (string | number)[]): RedisRequest {
  return { keys, args, isRepeatable: true }
}

function orUndefined(reply: string | null): string | undefined {
  return reply ?? undefined
}

function isOne(reply: number): boolean {
  return reply === 1
}
