import type { Response } from 'express'
import type { ClientContext } from './client-context.ts'
import type { User } from './user.ts'

/**
 * Okta keeps the user's choice in a cookie (its Authentication API reference, "Verify Push
 * Factor"). The name is made up.
 */
const nameOf = ({ id }: User) => `auto_push_${id}`

export function isAutoPushEnabled({ cookies = '' }: ClientContext, user: User): boolean {
  return cookies.split(/; */).includes(`${nameOf(user)}=true`)
}

export function saveAutoPush(res: Response, user: User, isEnabled: boolean): void {
  res.cookie(nameOf(user), String(isEnabled), { httpOnly: true })
}
