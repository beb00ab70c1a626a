/**
 * Okta's user ids are letters and digits (`00u…`). An id of any other form is refused: it would get
 * into the log and into key names at any length, and operators could not end its sessions.
 */
export function isUserId(given: unknown): given is string {
  return typeof given === 'string' && /^[\w-]{1,100}$/.test(given)
}
