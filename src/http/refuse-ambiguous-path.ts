import { invalidField } from '../errors.ts'
import type { Guard } from './compose-guards.ts'

/**
 * Refuses a path that servers read differently: some decode `%2f` and remove dot segments before
 * they compare a path, and then pass on the original. Such a proxy takes
 * `/app/v1/pam/users/..%2f..%2f..%2f..%2fapi%2fv1%2fx` for a path under `/api/v1/`. The query is
 * not part of the path.
 */
export const refuseAmbiguousPath: Guard = ({ url }, _res, next) => {
  if (AMBIGUOUS.test(url)) throw invalidField('path: has an encoded slash, a backslash or a dot segment')
  return next()
}

/**
 * A dot segment may be percent-encoded (WHATWG URL), and end with parameters (RFC 3986, section
 * 3.3).
 */
const AMBIGUOUS = /^[^?]*?(?:%2f|%5c|\\|\/(?:\.|%2e){1,2}(?:[/?#;]|$))/i
