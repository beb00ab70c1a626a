import { statSync } from 'node:fs'
import { ROLES } from '../pam/roles.ts'
import type { Config } from './load-config.ts'
import type { VariableName } from './variables.ts'

export interface NotesOptions {
  readonly nowMs: number
  /** The mode of a file; undefined if it cannot be read. */
  readonly modeOf?: (path: string) => number | undefined
}

/** Notes on valid but unusual settings. Each begins with the variable's name and contains no value. */
export function configNotes(config: Config, { nowMs, modeOf = fileMode }: NotesOptions): string[] {
  const readableFiles = config.secretFiles.flatMap(({ variables, paths }) =>
    variables.filter((_, index) => isOpenToOthers(modeOf(paths[index] ?? ''))),
  )
  return [
    ...config.notes,
    ...notesOnValues(config, nowMs),
    ...readableFiles.map((name) => `${name}: every user of this machine can read or write the file`),
  ]
}

/** Other roles in `PAM_DIRECTORY` may be typos, or new in PAM. */
const KNOWN_ROLES: ReadonlySet<string> = new Set(ROLES)

/** NIST SP 800-63B-4, section 2.2.3. */
const AAL2 = { idleMinutes: 60, absoluteHours: 24 }

function* notesOnValues(
  { authn, ops, pam, publicUrl, session, trustProxy }: Config,
  nowMs: number,
): Generator<`${VariableName}: ${string}`> {
  if (authn.loginDomains.length === 0)
    yield 'LOGIN_DOMAINS: is not set. If the org accepts short and full names, set it; otherwise each form has its own limit for wrong passwords'
  if (authn.loginDomains.length > 1)
    yield 'LOGIN_DOMAINS: has several domains. Users with the same local part in two of them share the limits of a day and shorter. Limits of known devices and of failures in a row are per user'
  if (/^[^.]*-admin\./.test(new URL(authn.baseUrl).hostname))
    yield "AUTHN_BASE_URL: names the org's admin console. Sign-in is at the same host without -admin"
  if (publicUrl.secure && trustProxy.length === 0)
    yield "TRUST_PROXY: is not set, but PUBLIC_URL is https, so a proxy is in front. All users then share the proxy's address, in limits, in logs and at the org"
  if (new Set(ops.token?.current()).size === 1)
    yield 'OPS_TOKEN: is one repeated character. Use a random token'
  if (session.idleMinutes > AAL2.idleMinutes)
    yield `SESSION_IDLE_MINUTES: is more than ${AAL2.idleMinutes}, the limit of NIST SP 800-63B for two factors (AAL2)`
  if (session.absoluteHours > AAL2.absoluteHours)
    yield `SESSION_ABSOLUTE_HOURS: is more than ${AAL2.absoluteHours}, the limit of NIST SP 800-63B for two factors (AAL2)`
  if (pam?.keyExpiresAtMs !== undefined && pam.keyExpiresAtMs <= nowMs)
    yield 'PAM_KEY_EXPIRES_AT: is in the past'
  if (pam?.directory.kind === 'rules' && pam.directory.roles.some((role) => !KNOWN_ROLES.has(role)))
    yield `PAM_DIRECTORY: has an unknown role. Known roles: ${ROLES.join(', ')}`
}

const isOpenToOthers = (mode: number | undefined) => mode !== undefined && (mode & 0o006) !== 0

function fileMode(path: string): number | undefined {
  try {
    return statSync(path).mode
  } catch {
    return undefined // deleted since it was read: the reload reports it
  }
}
