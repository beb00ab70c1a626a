import { statSync } from 'node:fs'
import type { Config } from './load-config.ts'
import type { VariableName } from './variables.ts'

export interface NotesOptions {
  readonly nowMs: number
  /** The mode of a file; undefined when it cannot be read. */
  readonly modeOf?: (path: string) => number | undefined
}

/** What is sound, but seldom intended. Each note begins with the variable's name and holds no value. */
export function notesOn(config: Config, { nowMs, modeOf = fileMode }: NotesOptions): string[] {
  const readableFiles = config.secretFiles.flatMap(({ variables, paths }) =>
    variables.filter((_, index) => isOpenToOthers(modeOf(paths[index] ?? ''))),
  )
  return [
    ...config.notes,
    ...RULES.filter(({ applies }) => applies(config, nowMs)).map(({ name, note }) => `${name}: ${note}`),
    ...readableFiles.map((name) => `${name}: every user of this machine can read the file, or write to it`),
  ]
}

/** A role of `PAM_DIRECTORY` that is none of these may be a typing mistake; PAM may also have gained one. */
export const KNOWN_PAM_ROLES: readonly string[] = [
  'pam_admin',
  'resource_admin',
  'delegated_resource_admin',
  'security_admin',
  'delegated_security_admin',
  'end_user',
]

/** NIST SP 800-63B-4, section 2.2.3. */
const AAL2 = { idleMinutes: 60, absoluteHours: 24 }

interface Rule {
  readonly name: VariableName
  readonly applies: (config: Config, nowMs: number) => boolean
  readonly note: string
}

const RULES: readonly Rule[] = [
  {
    name: 'LOGIN_DOMAINS',
    applies: ({ authn }) => authn.loginDomains.length === 0,
    note: 'is not set. If the org takes a short name for a full one, each has a limit of its own for wrong passwords',
  },
  {
    name: 'LOGIN_DOMAINS',
    applies: ({ authn }) => authn.loginDomains.length > 1,
    note: "has several domains. The same local part in two of them shares its limits per day and shorter, even if the org has two users of that name. Only known browsers and failures in a row are each user's own",
  },
  {
    name: 'AUTHN_BASE_URL',
    applies: ({ authn }) => /^[^.]*-admin\./.test(new URL(authn.baseUrl).hostname),
    note: "names the org's admin console. Sign-in is at the same host without -admin",
  },
  {
    name: 'TRUST_PROXY',
    applies: ({ publicUrl, trustProxy }) => publicUrl.secure && trustProxy.length === 0,
    note: "is not set, but PUBLIC_URL is https, so a proxy is in front. All users then share the proxy's address, in limits, in logs and at the org",
  },
  {
    name: 'OPS_TOKEN',
    applies: ({ ops }) => new Set(ops.token?.current()).size === 1,
    note: 'is one character, repeated. Use a random token',
  },
  {
    name: 'SESSION_IDLE_MINUTES',
    applies: ({ session }) => session.idleMinutes > AAL2.idleMinutes,
    note: `is more than ${AAL2.idleMinutes}, the limit of NIST SP 800-63B for two factors (AAL2)`,
  },
  {
    name: 'SESSION_ABSOLUTE_HOURS',
    applies: ({ session }) => session.absoluteHours > AAL2.absoluteHours,
    note: `is more than ${AAL2.absoluteHours}, the limit of NIST SP 800-63B for two factors (AAL2)`,
  },
  {
    name: 'PAM_KEY_EXPIRES_AT',
    applies: ({ pam }, nowMs) => pam?.keyExpiresAtMs !== undefined && pam.keyExpiresAtMs <= nowMs,
    note: 'is past',
  },
  {
    name: 'PAM_DIRECTORY',
    applies: ({ pam }) =>
      pam?.directory.kind === 'rules' && pam.directory.roles.some((role) => !KNOWN_PAM_ROLES.includes(role)),
    note: `has a role that is not known. Known roles: ${KNOWN_PAM_ROLES.join(', ')}`,
  },
]

const isOpenToOthers = (mode: number | undefined) => mode !== undefined && (mode & 0o006) !== 0

function fileMode(path: string): number | undefined {
  try {
    return statSync(path).mode
  } catch {
    return undefined // it was read a moment ago; nothing to say about it any more
  }
}
