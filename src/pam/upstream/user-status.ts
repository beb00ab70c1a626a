import { isDeleted, malformed } from './group.ts'
import { fieldsOf } from './pam-errors.ts'

/** `other`: not in Okta's reference, which lists ACTIVE, DISABLED and DELETED. */
export type UserStatus = 'active' | 'disabled' | 'deleted' | 'other'

const STATUSES: ReadonlyMap<string, UserStatus> = new Map([
  ['ACTIVE', 'active'],
  ['DISABLED', 'disabled'],
  ['DELETED', 'deleted'],
])

/**
 * Parses the response to `GET /v1/teams/{team}/users/{user}`.
 *
 * @throws PamFailure if it is not a user
 */
export function parseUserStatus(json: unknown): UserStatus {
  const { status, deleted_at } = fieldsOf(json)
  if (typeof status !== 'string') throw malformed('status', 'user')
  return isDeleted(deleted_at, 'user') ? 'deleted' : (STATUSES.get(status) ?? 'other')
}
