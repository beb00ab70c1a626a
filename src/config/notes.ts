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
    ...RULES.filter(([, applies]) => applies(config, nowMs)).map(([name, , note]) => `${name}: ${note}`),
    ...readableFiles.map((name) => `${name}: every user of this machine can read or write the file`),
  ]
}

/** Other roles in `PAM_DIRECTORY` may be typos, or new in PAM. */
const KNOWN_ROLES: ReadonlySet<string> = new Set(ROLES)

/** NIST SP 800-63B-4, section 2.2.3. */
const AAL2 = { idleMinutes: 60, absoluteHours: 24 }

type Rule = readonly [name: VariableName, applies: (config: Config, nowMs: number) => boolean, note: string]

const RULES: readonly Rule[] = [
  [
    'LOGIN_DOMAINS',
    ({ authn }) => authn.loginDomains.length === 0,
    'is not set. If the org accepts short and full names, set it; otherwise each form has its own limit for wrong passwords',
  ],
  [
    'LOGIN_DOMAINS',
    ({ authn }) => authn.loginDomains.length > 1,
    'has several domains. Users with the same local part in two of them share the limits of a day and shorter. Limits of known devices and of failures in a row are per user',
  ],
  [
    'AUTHN_BASE_URL',
    ({ authn }) => /^[^.]*-admin\./.test(new URL(authn.baseUrl).hostname),
    "names the org's admin console. Sign-in is at the same host without -admin",
  ],
  [
    'TRUST_PROXY',
    ({ publicUrl, trustProxy }) => publicUrl.secure && trustProxy.length === 0,
    "is not set, but PUBLIC_URL is https, so a proxy is in front. All users then share the proxy's address, in limits, in logs and at the org",
  ],
  [
    'OPS_TOKEN',
    ({ ops }) => new Set(ops.token?.current()).size === 1,
    'is one repeated character. Use a random token',
  ],
  [
    'SESSION_IDLE_MINUTES',
    ({ session }) => session.idleMinutes > AAL2.idleMinutes,
    `is more than ${AAL2.idleMinutes}, the limit of NIST SP 800-63B for two factors (AAL2)`,
  ],
  [
    'SESSION_ABSOLUTE_HOURS',
    ({ session }) => session.absoluteHours > AAL2.absoluteHours,
    `is more than ${AAL2.absoluteHours}, the limit of NIST SP 800-63B for two factors (AAL2)`,
  ],
  [
    'PAM_KEY_EXPIRES_AT',
    ({ pam }, nowMs) => pam?.keyExpiresAtMs !== undefined && pam.keyExpiresAtMs <= nowMs,
    'is in the past',
  ],
  [
    'PAM_DIRECTORY',
    ({ pam }) =>
      pam?.directory.kind === 'rules' && pam.directory.roles.some((role) => !KNOWN_ROLES.has(role)),
    `has an unknown role. Known roles: ${ROLES.join(', ')}`,
  ],
]

const isOpenToOthers = (mode: number | undefined) => mode !== undefined && (mode & 0o006) !== 0

function fileMode(path: string): number | undefined {
  try {
    return statSync(path).mode
  } catch {
    return undefined // deleted since it was read: the reload reports it
  }
}
