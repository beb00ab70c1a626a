import type { FaultKind } from '../../src/sandbox/fault-rules.ts'
import { loadSandboxConfig } from '../../src/sandbox/sandbox-config.ts'
import { inCell, markdownTable } from './markdown.ts'

export function sandboxUsersTable(): string {
  const { users } = loadSandboxConfig('config/sandbox.json')
  const rows = users.map(({ login, description }) => [`\`${login}\``, inCell(description)])
  return markdownTable(['login', 'what happens'], rows)
}

export function sandboxRoutesTable(): string {
  return markdownTable(['request', 'effect'], CONTROL_ROUTES)
}

export function sandboxFaultsTable(): string {
  const rows = Object.entries(FAULTS).map(([kind, [effect, members]]) => [`\`${kind}\``, effect, members])
  return markdownTable(['kind', 'effect', 'further fields'], rows)
}

const CONTROL_ROUTES: readonly (readonly [request: string, effect: string])[] = [
  ['`GET /users`, `GET /users/{login}`', 'id, login, password, current TOTP code and description'],
  [
    '`POST /users/{login}/push` `{"answer": "approve"}`',
    'answers the pending push: `approve`, `reject`, `cancel` or `error`',
  ],
  ['`POST /users/{login}/duo`', "`{sig_response}`: the result of Duo's frame after the user approves"],
  [
    '`POST /users/{login}/key` `{"challenge", "origin", "credentialId"?}`',
    "the signature of the user's security key: the fields for verify",
  ],
  ['`POST /users/{login}/activation-token`', '`{token}`: a new activation token, for one use'],
  ['`POST /users/{login}/recovery-token`', '`{token}`: a new recovery token, for one use'],
  ['`GET /tokens/{serial}`', '`{code}`: the current code of this hardware or enterprise token'],
  [
    '`POST /step-up` `{"app": "payroll", "login"?, "signInPage"?}`',
    '`{stateToken, redirectUrl}`: a step-up that an app starts; with `login`, the user has an Okta session',
  ],
  ['`GET /outbox`', 'emails, text messages and calls, with codes and links'],
  [
    '`GET /sign-ins`',
    'each primary authentication: outcome, and the address, device token, fingerprint and browser received',
  ],
  ['`GET /requests?api=authn`', 'the requests received, with headers and bodies; `api=pam` for PAM'],
  ['`POST /faults` `{"api": "authn", "rules": […]}`', 'replaces the fault rules'],
  ['`DELETE /faults`', 'removes all fault rules of both APIs'],
  [
    '`POST /pam/{operation}` `{"args": […]}`',
    'runs an operation of `src/sandbox/pam/pam-control.ts`, such as `expireTokens` or `failNext`',
  ],
  [
    '`POST /settings` `{"pipeline"?, "globalSessionPolicy"?, "classicRecovery"?, "redeemsSessionTokens"?}`',
    '`pipeline`: `v1`, or `idx` for an [Identity Engine](identity-engine.md) org. Only with `idx`: `false` for one of the others simulates an org without it',
  ],
  [
    '`POST /settings` `{"factorListName"?, "resetPasswordName"?, "refusedCodes"?}`',
    '`factorListName`: `factors`, or `factor` as in the specification; `resetPasswordName`: `resetPassword` or `password`, the name of that link; `refusedCodes`: how a reused or late code is refused, with a `factorResult` or an `error` (E0000082, E0000083)',
  ],
  ['`POST /expire`', 'expires every state token issued so far'],
  ['`POST /reset`', 'restores the configuration and empties logs and faults'],
]

const FAULTS: Readonly<Record<FaultKind, readonly [effect: string, members: string]>> = {
  delay: ['the response is delayed', '`ms`'],
  status: ['this status is returned', '`status`, `body?`, `headers?`'],
  'rate-limited': ['429 in the format of this API', '`retrySeconds?`, `body?`, `headers?`'],
  html: ['an HTML page is returned', '`status?` (500)'],
  cut: ['the connection is closed before a response', ''],
  half: ['the connection is closed after half of the response', '`body?`'],
  'wrong-length': ['`Content-Length` is larger than the body', '`body?`, `extraBytes?`'],
  huge: ['a very large response', '`bytes`'],
  drip: ['the response is sent byte by byte', '`everyMs`, `body?`'],
  'wrong-type': ['JSON is sent as `text/plain`', '`body?`'],
  'error-rate': ['this share of the requests fails', '`share`, `status?`, `body?`, `headers?`'],
}
