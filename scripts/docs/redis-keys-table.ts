import { KEYS, type KeyKind } from '../../src/store/keys.ts'
import { markdownTable } from './markdown.ts'

/** Every key in Redis, after the prefix. */
export function redisKeysTable(): string {
  const kinds: readonly KeyKind[] = Object.values(KEYS)
  return markdownTable(
    ['key', '`*`', 'content', 'kept for'],
    kinds.map(({ pattern, names, content, life }) => [`\`${pattern}\``, names.join('; '), content, life]),
  )
}
