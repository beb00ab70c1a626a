import { KEY_PREFIX, KEYS, type KeyKind } from '../../src/store/keys.ts'

/** The patterns of `KEYS` that a key in Redis has: one, or none if the key is unknown. */
export function kindsOf(key: string, prefix = KEY_PREFIX): string[] {
  const patterns = Object.values<KeyKind>(KEYS).map(({ pattern }) => pattern)
  return patterns.filter(
    (pattern) => key.startsWith(prefix) && toRegExp(pattern).test(key.slice(prefix.length)),
  )
}

function toRegExp(pattern: string): RegExp {
  const source = pattern.replace(/[{}]/g, '\\$&').replaceAll('*', '[\\w-]+')
  return new RegExp(`^${source}$`)
}
