import type { AppliedRule } from 'gatehouse-client/messages'

interface Names {
  readonly login?: string | null
  readonly firstName?: string | null
  readonly lastName?: string | null
}

/**
 * Whether a new password follows a rule. Undefined if only Okta can tell, such as whether it was
 * used before. Okta has the last word.
 */
export function isMet({ key, count = 1 }: AppliedRule, password: string, user: Names): boolean | undefined {
  const has = (pattern: RegExp) => (password.match(pattern)?.length ?? 0) >= count
  switch (key) {
    case 'minLength':
      return password.length >= count
    case 'minLowerCase':
      return has(/\p{Ll}/gu)
    case 'minUpperCase':
      return has(/\p{Lu}/gu)
    case 'minNumber':
      return has(/\d/g)
    case 'minSymbol':
      return has(/[^\p{L}\p{N}]/gu)
    case 'excludeUsername':
      return without(password, (user.login ?? '').split(/[^\p{L}\p{N}]+/u))
    case 'excludeFirstName':
      return without(password, [user.firstName])
    case 'excludeLastName':
      return without(password, [user.lastName])
    default:
      return undefined
  }
}

/** A part of less than four characters may be in the password by chance. */
const SHORTEST_PART = 4

function without(password: string, parts: readonly (string | null | undefined)[]): boolean | undefined {
  if (password === '') return false
  const typed = password.toLowerCase()
  return !parts.some((part) => part && part.length >= SHORTEST_PART && typed.includes(part.toLowerCase()))
}
