import type { Config } from './config.ts'

/** What is sound, and yet seldom meant: each begins with the variable's name and holds no value. */
export function notesOn({ authn, pam }: Config, nowMs: number): string[] {
  const notes: string[] = []
  if (authn.loginDomains.length === 0)
    notes.push(
      'LOGIN_DOMAINS: is not set. If the org takes a short name for a full one, each has a limit of its own for wrong passwords',
    )
  if (pam?.keyExpiresAtMs !== undefined && pam.keyExpiresAtMs <= nowMs)
    notes.push('PAM_KEY_EXPIRES_AT: is past')
  return notes
}
