import type { VariableName } from './variables.ts'

/** Codes of Node for an address that this machine does not have, or a name that it cannot find. */
const OF_ADDRESS: ReadonlySet<unknown> = new Set([
  'EADDRNOTAVAIL',
  'EAFNOSUPPORT',
  'EAI_AGAIN',
  'EINVAL',
  'ENOTFOUND',
])

/** The variable to change if a listener cannot bind to its address and port. */
export function listenVariable(listener: 'public' | 'ops', error: unknown): VariableName {
  const isOfAddress = OF_ADDRESS.has(Object(error).code)
  if (listener === 'ops') return isOfAddress ? 'OPS_HOST' : 'OPS_PORT'
  return isOfAddress ? 'HOST' : 'PORT'
}
