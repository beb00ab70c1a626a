import { parseArgs } from 'node:util'
import type { PamTarget } from './target.ts'

export interface ProveOptions {
  readonly sandbox: boolean
  /** Undefined only with `sandbox`. */
  readonly org:
    | { readonly url: string; readonly apiToken: string; readonly brokerToken: string | undefined }
    | undefined
  readonly pam: PamTarget | undefined
  readonly output: string
  readonly phone: string | undefined
  readonly mailDomain: string | undefined
  readonly portalOrigin: string | undefined
  readonly eventHook: { readonly url: string; readonly port: number } | undefined
  /** To an org. */
  readonly callsPerMinute: number
  readonly only: readonly string[]
  readonly withPerson: boolean
  readonly clean: boolean
}

export const USAGE = `gatehouse-prove --this-is-a-test-org [options]   checks what Gatehouse believes of Okta against an org (docs/prove.md)

  --this-is-a-test-org     the org is for tests: users, groups and policies are created there, and deleted at the end
  --sandbox                against a sandbox of its own, instead of an org
  --only <id>              only this check, or all whose id begins so (R1); repeatable
  --mail-domain <domain>   emails may go to addresses of this domain
  --phone <number>         text messages and calls may go to this phone, such as +15551234567
  --portal-origin <origin> the origin of the portal's page, a Trusted Origin of the org
  --event-hook-url <url>   the origin, such as of a tunnel, at which the org reaches --event-hook-port on this machine
  --event-hook-port <port> (default: 8189)
  --calls-per-minute <n>   at most so many calls to the org, from 10 to 200 (default: 200)
  --with-person            asks on the terminal for what arrives
  --output <folder>        for the report (default: gatehouse-proof)
  --clean                  deletes what an earlier run left, and runs no check
  --list                   prints the checks, and the beliefs that no run can see
  --help                   prints this text

Variables: PROVE_ORG_URL, PROVE_API_TOKEN (of an administrator), PROVE_BROKER_TOKEN (the one that Gatehouse is to have; default: the
first); PROVE_PAM_BASE_URL, PROVE_PAM_TEAM, PROVE_PAM_KEY_ID, PROVE_PAM_KEY_SECRET, PROVE_PAM_USER. Exit codes: 0 nothing is
disproved, 1 something is, 2 the run ended early or left something behind, 64 a wrong option or variable, 130 interrupted.
`

const FLAGS = {
  'this-is-a-test-org': { type: 'boolean', default: false },
  sandbox: { type: 'boolean', default: false },
  only: { type: 'string', multiple: true },
  'mail-domain': { type: 'string' },
  phone: { type: 'string' },
  'portal-origin': { type: 'string' },
  'event-hook-url': { type: 'string' },
  'event-hook-port': { type: 'string', default: '8189' },
  'calls-per-minute': { type: 'string', default: '200' },
  'with-person': { type: 'boolean', default: false },
  output: { type: 'string', default: 'gatehouse-proof' },
  clean: { type: 'boolean', default: false },
  list: { type: 'boolean', default: false },
  help: { type: 'boolean', default: false },
} as const

export type Parsed =
  | { readonly kind: 'run'; readonly options: ProveOptions }
  | { readonly kind: 'help' | 'list' }
  | { readonly kind: 'wrong'; readonly problems: readonly string[] }

type Env = Readonly<Record<string, string | undefined>>

/** Names every problem. No value is in a message. */
export function parseOptions(args: readonly string[], env: Env, checkIds: readonly string[]): Parsed {
  let flags: ReturnType<typeof parseArgs<{ options: typeof FLAGS }>>['values']
  try {
    flags = parseArgs({ args: [...args], options: FLAGS }).values
  } catch (error) {
    return { kind: 'wrong', problems: [String(Object(error).message)] }
  }
  if (flags.help) return { kind: 'help' }
  if (flags.list) return { kind: 'list' }
  const {
    sandbox,
    only = [],
    phone,
    output,
    clean,
    'mail-domain': mailDomain,
    'portal-origin': portalOrigin,
    'event-hook-url': hookUrl,
    'calls-per-minute': calls,
    'event-hook-port': hookPort,
  } = flags
  const problems = [
    ...(sandbox || flags['this-is-a-test-org']
      ? []
      : ['--this-is-a-test-org is missing: never run this on an org that people use']),
    ...(sandbox ? [] : orgProblems(env)),
    ...(sandbox ? [] : pamProblems(env)),
    ...(sandbox && clean ? ['--clean: a sandbox of its own leaves nothing'] : []),
    ...(mailDomain === undefined || /^[a-z0-9-]+(\.[a-z0-9-]+)+$/i.test(mailDomain)
      ? []
      : ['--mail-domain: expected a domain, such as proof.example.com']),
    ...(phone === undefined || /^\+[1-9]\d{6,14}$/.test(phone)
      ? []
      : ['--phone: expected a number such as +15551234567']),
    ...(portalOrigin === undefined || isOrigin(portalOrigin)
      ? []
      : ['--portal-origin: expected an origin, such as https://portal.example.com']),
    ...(hookUrl === undefined || isOrigin(hookUrl)
      ? []
      : ['--event-hook-url: expected an origin, such as https://tunnel.example.com']),
    ...(/^\d{2,3}$/.test(calls) && Number(calls) >= 10 && Number(calls) <= 200
      ? []
      : ['--calls-per-minute: expected a number from 10 to 200']),
    ...(/^[1-9]\d{0,4}$/.test(hookPort) && Number(hookPort) < 65_536
      ? []
      : ['--event-hook-port: expected a port']),
    ...only
      .filter((id) => !checkIds.some((each) => isNamed(each, id)))
      .map((id) => `--only: there is no check ${JSON.stringify(id)} (--list prints all)`),
  ]
  if (problems.length > 0) return { kind: 'wrong', problems }
  const { PROVE_ORG_URL: url = '', PROVE_API_TOKEN: apiToken = '', PROVE_BROKER_TOKEN: brokerToken } = env
  const options = {
    sandbox,
    org: sandbox ? undefined : { url: new URL(url).origin, apiToken, brokerToken: brokerToken || undefined },
    pam: sandbox ? undefined : pamFrom(env),
    output,
    phone,
    mailDomain,
    portalOrigin,
    eventHook: hookUrl === undefined ? undefined : { url: hookUrl, port: Number(hookPort) },
    callsPerMinute: Number(calls),
    only,
    withPerson: flags['with-person'],
    clean,
  }
  return { kind: 'run', options }
}

/** `R1` names `R1` and `R1.token-sms`. */
export function isNamed(checkId: string, name: string): boolean {
  return checkId === name || checkId.startsWith(`${name}.`)
}

function orgProblems({ PROVE_ORG_URL: url, PROVE_API_TOKEN: token }: Env): string[] {
  return [
    ...(url && isOrigin(url.replace(/\/$/, ''))
      ? []
      : ['PROVE_ORG_URL: expected https://<org>, without a path (http:// on this machine only)']),
    ...(token && /^[!-~]+$/.test(token)
      ? []
      : ['PROVE_API_TOKEN: expected the API token of an administrator']),
  ]
}

const PAM = ['PROVE_PAM_BASE_URL', 'PROVE_PAM_TEAM', 'PROVE_PAM_KEY_ID', 'PROVE_PAM_KEY_SECRET'] as const

function pamProblems(env: Env): string[] {
  if (PAM.every((name) => !env[name])) return []
  const missing = PAM.filter((name) => !env[name]).map((name) => `${name}: is missing`)
  const url = env.PROVE_PAM_BASE_URL
  return url && !URL.canParse(url) ? [...missing, 'PROVE_PAM_BASE_URL: expected a URL'] : missing
}

function pamFrom(env: Env): PamTarget | undefined {
  const [url, team, keyId, keySecret] = PAM.map((name) => env[name])
  if (!url || !team || !keyId || !keySecret) return undefined
  return { url, team, keyId, keySecret, user: env.PROVE_PAM_USER || undefined }
}

/** A token goes there: in the clear on this machine only. */
function isOrigin(text: string): boolean {
  if (!URL.canParse(text)) return false
  const { origin, protocol, hostname } = new URL(text)
  const isLocal = /^(localhost|127(\.\d+){3}|\[::1\])$/.test(hostname)
  return origin === text.toLowerCase() && (protocol === 'https:' || (protocol === 'http:' && isLocal))
}
