/**
 * In which status the upstream looks at what a step shows, by operation. In another one it may answer as if nothing had
 * been shown (docs/decisions/0012).
 */
const AWAITED: Readonly<Record<string, ReadonlySet<string | undefined>>> = {
  primary: new Set(['UNAUTHENTICATED']),
  change_password: new Set(['PASSWORD_EXPIRED', 'PASSWORD_WARN']),
  verify: new Set(['MFA_REQUIRED', 'MFA_CHALLENGE', 'FACTOR_REQUIRED', 'FACTOR_CHALLENGE']),
}

/** `status` as an answer names it; undefined where there was an error instead: nothing is awaited then. */
export function isAwaited(operation: string, status: string | undefined): boolean {
  return AWAITED[operation]?.has(status) === true
}
