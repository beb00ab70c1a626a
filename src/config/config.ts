import type { Secret } from './secret.ts'
import type { Tunables } from './tunables.ts'

/**
 * The whole configuration, checked and deeply frozen. Only `main`, `wiring` and `demo` see it as a whole; a module
 * gets the part that it needs as a parameter.
 */
export interface Config {
  /** `NODE_ENV=production` */
  readonly production: boolean
  readonly publicUrl: PublicUrl
  readonly listen: Listener
  readonly ops: OpsListener
  /** Origins as a browser writes them (lower case, no default port), `publicUrl.origin` not among them. */
  readonly allowedOrigins: readonly string[]
  /** Absolute URL; may have a query and a fragment. */
  readonly signInUrl: string
  /** CIDRs, a single address as `/32` or `/128`. */
  readonly trustProxy: readonly string[]
  readonly authn: AuthnConfig
  /** Missing when `PAM_BASE_URL` is not set: `/api/v1/pam/*` answers 404 then. */
  readonly pam?: PamConfig | undefined
  readonly redis: RedisConfig
  readonly egress: EgressConfig
  /** The first key seals and signs, all open and verify. Each has 32 bytes. */
  readonly secretKeys: Secret<readonly Buffer[]>
  readonly session: SessionConfig
  readonly logLevel: LogLevel
  readonly tunables: Tunables
  /** What was noticed while the variables were read: sound, but seldom intended. `notesOn` adds the rest. */
  readonly notes: readonly string[]
  /** The secrets that came from files; for `watchSecretFiles`. */
  readonly secretFiles: readonly SecretFile[]
}

export interface PublicUrl {
  readonly origin: string
  /** https: the cookies are Secure and bear the `__Host-` prefix. */
  readonly secure: boolean
}

export interface Listener {
  /** 0 lets the system choose. */
  readonly port: number
  readonly host: string
}

export interface OpsListener extends Listener {
  /** Missing: the admin routes answer 404. */
  readonly token?: Secret<string> | undefined
}

export interface AuthnConfig {
  /** An origin, without a slash at the end. */
  readonly baseUrl: string
  /** One or two SSWS tokens: the current one, and a standby that is tried when the current one is refused. */
  readonly apiTokens: Secret<readonly string[]>
  readonly linkOrigins: readonly string[]
  readonly stepUp: boolean
  /** None: no session hand-over. */
  readonly ssoRedirects: readonly RedirectPrefix[]
  /** Lower case. */
  readonly loginDomains: readonly string[]
  /** Factor types that are shown to nobody. */
  readonly hiddenFactors: readonly string[]
}

/** A `redirectUrl` is allowed when its origin is this one and its path is this one or lies under it. */
export interface RedirectPrefix {
  readonly origin: string
  /** Begins with a slash, ends with none unless it is the root. Compare whole path segments. */
  readonly pathPrefix: string
}

export interface PamConfig {
  /** An origin, without a slash at the end. */
  readonly baseUrl: string
  readonly team: string
  /** One or two service-user keys: the current one and a standby. */
  readonly keys: Secret<readonly PamKey[]>
  /** When the current key ends, in milliseconds since 1970. */
  readonly keyExpiresAtMs?: number | undefined
  /** A path with the placeholder `{team_name}`. */
  readonly tokenPath: string
  readonly userName: PamUserName
  readonly directory: PamDirectory
}

export interface PamKey {
  readonly id: string
  readonly secret: string
}

/** How a signed-in user maps to a PAM user name. */
export type PamUserName =
  | { readonly kind: 'login' }
  | { readonly kind: 'login-local-part'; readonly domains: readonly PamUserDomain[] }

/** The PAM user name of `ada@<domain>` is `<prefix>ada`. No two have the same domain, or the same prefix in any case. */
export interface PamUserDomain {
  /** Lower case. */
  readonly domain: string
  /** May be empty. */
  readonly prefix: string
}

/** Who may list groups: nobody, every signed-in person, or who has one of the roles or is in one of the groups. */
export type PamDirectory =
  | { readonly kind: 'none' }
  | { readonly kind: 'all' }
  | { readonly kind: 'rules'; readonly roles: readonly string[]; readonly groups: readonly string[] }

export interface RedisConfig {
  /** A URL that the store's `parseRedisUrl` takes; `memory:` means the embedded store. */
  readonly url: Secret<string>
  /** PEM certificates. */
  readonly ca?: string | undefined
}

export interface EgressConfig {
  /** PEM certificates, trusted beside the public ones when calling upstream. */
  readonly ca?: string | undefined
  /** The proxy's URL; held as a secret because it may carry a user and a password. */
  readonly httpsProxy?: Secret<string> | undefined
  /** As written in `NO_PROXY`, one entry an item, lower case. */
  readonly noProxy: readonly string[]
}

export interface SessionConfig {
  readonly idleMinutes: number
  readonly absoluteHours: number
  readonly sameSite: SameSite
}

export type SameSite = 'lax' | 'strict'

export type LogLevel = 'error' | 'warn' | 'info' | 'debug'

/** One secret and the file, or files, that it came from. */
export interface SecretFile {
  /** The variables that name the files, such as `AUTHN_API_TOKEN_FILE`, in the order of `paths`. */
  readonly variables: readonly string[]
  readonly paths: readonly string[]
  /**
   * Reads the files again and swaps the secret's value if it is sound and another; keeps the old value
   * otherwise. Problems begin with the variable's name and hold no value.
   */
  reload(): SecretReload
}

export interface SecretReload {
  readonly changed: boolean
  readonly problems: readonly string[]
}
