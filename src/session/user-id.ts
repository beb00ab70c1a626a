/**
 * An id of the org is letters and digits (`00u…`). One of another form is no user: it could not be ended by an operator, and
 * would go to the log and into names of keys at any length.
 */
export function isUserId(given: unknown): given is string {
  return typeof given === 'string' && /^[\w-]{1,100}$/.test(given)
}
