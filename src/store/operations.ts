import type { Store } from './store.ts'

export type OperationName = Exclude<keyof Store, 'keepsOrder' | 'ping' | 'close'>

export type OperationResult<Name extends OperationName> = Store[Name] extends (
  ...parameters: never[]
) => Promise<infer Result>
  ? Result
  : never

type Perform = <Name extends OperationName>(
  name: Name,
  parameters: Parameters<Store[Name]>,
) => Promise<OperationResult<Name>>

/** The operations of a store that carries all of them out in the same way. */
export function createOperations(perform: Perform): Pick<Store, OperationName> {
  return {
    get: (...parameters) => perform('get', parameters),
    set: (...parameters) => perform('set', parameters),
    swap: (...parameters) => perform('swap', parameters),
    delete: (...parameters) => perform('delete', parameters),
    deleteIf: (...parameters) => perform('deleteIf', parameters),
    acquire: (...parameters) => perform('acquire', parameters),
    commit: (...parameters) => perform('commit', parameters),
    indexPut: (...parameters) => perform('indexPut', parameters),
    indexAll: (...parameters) => perform('indexAll', parameters),
    indexRemove: (...parameters) => perform('indexRemove', parameters),
    count: (...parameters) => perform('count', parameters),
    uncount: (...parameters) => perform('uncount', parameters),
    endCounts: (...parameters) => perform('endCounts', parameters),
  }
}
