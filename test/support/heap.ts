import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void
setFlagsFromString('--no-expose-gc')

/** The used bytes of V8's heap after garbage collection. */
export function usedHeapBytes(): number {
  collect()
  return process.memoryUsage().heapUsed
}
