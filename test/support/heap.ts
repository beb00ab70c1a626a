import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void
setFlagsFromString('--no-expose-gc')

/** How many bytes of V8's heap are in use once garbage is collected. */
export function usedHeapBytes(): number {
  collect()
  return process.memoryUsage().heapUsed
}
