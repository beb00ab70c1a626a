import type { Environment } from './env-reader.ts'

/** Of the proxy variables that programs read by convention, the broker reads `HTTPS_PROXY` and `NO_PROXY` only. */
export function ignoredProxies(env: Environment): string[] {
  return Object.keys(env)
    .filter((name) => PROXY.test(name) && name !== 'HTTPS_PROXY' && name !== 'NO_PROXY')
    .filter((name) => (env[name]?.trim() ?? '') !== '')
    .map((name) => `${name}: is ignored. Only HTTPS_PROXY and NO_PROXY are read, in capitals`)
}

const PROXY = /^(https?|all|no|socks[45]?|ftp)_proxy$/i
