import type { PamUserName } from '../pam/pam-user-name.ts'
import type { EnvReader } from './env-reader.ts'
import { directory, instant, teamName, tokenPath, userDomains } from './pam-values.ts'
import { oneOf } from './plain-values.ts'
import { currentAndStandby } from './secret-values.ts'
import { upstreamBaseUrl } from './url-values.ts'
import { VARIABLE_NAMES } from './variables.ts'

/** Undefined without `PAM_BASE_URL`, or if a PAM variable is not valid, which is reported as a problem. */
export function loadPam(reader: EnvReader) {
  if (!reader.isSet('PAM_BASE_URL')) {
    const names = VARIABLE_NAMES.filter((name) => name.startsWith('PAM_') && reader.isSet(name))
    for (const name of names) reader.refuse(name, 'is set, but PAM_BASE_URL is not')
    return undefined
  }
  const baseUrl = reader.read('PAM_BASE_URL', upstreamBaseUrl)
  const team = reader.read('PAM_TEAM', teamName)
  const keys = reader.secret(['PAM_KEY_ID', 'PAM_KEY_SECRET'], readKeys)
  const rest = {
    keyExpiresAtMs: reader.read('PAM_KEY_EXPIRES_AT', instant),
    tokenPath: reader.read('PAM_TOKEN_PATH', tokenPath) ?? '/v1/teams/{team_name}/service_token',
    userName: readUserName(reader),
    directory: reader.read('PAM_DIRECTORY', directory) ?? ({ kind: 'none' } as const),
  }
  if (baseUrl === undefined || team === undefined || keys === undefined) return undefined
  return { baseUrl, team, keys, ...rest }
}

/** The current key and, optionally, a standby. Ids and secrets are in the same order. */
function readKeys(reader: EnvReader): readonly { id: string; secret: string }[] | undefined {
  const ids = reader.read('PAM_KEY_ID', currentAndStandby)
  const secrets = reader.read('PAM_KEY_SECRET', currentAndStandby)
  if (ids === undefined || secrets === undefined) return undefined
  if (ids.length !== secrets.length) {
    reader.refuse('PAM_KEY_SECRET', 'must have as many values as PAM_KEY_ID')
    return undefined
  }
  return ids.map((id, index) => ({ id, secret: secrets[index] ?? '' }))
}

function readUserName(reader: EnvReader): PamUserName {
  const kind = reader.read('PAM_USER_NAME', oneOf('login', 'login-local-part'))
  const domains = reader.read('PAM_USER_DOMAINS', userDomains)
  if (kind === 'login-local-part') {
    if (!reader.isSet('PAM_USER_DOMAINS')) {
      reader.refuse('PAM_USER_DOMAINS', 'is required with PAM_USER_NAME=login-local-part')
    }
    return { kind, domains: domains ?? [] }
  }
  if (reader.isSet('PAM_USER_DOMAINS') && !(reader.isSet('PAM_USER_NAME') && kind === undefined)) {
    reader.refuse('PAM_USER_DOMAINS', 'requires PAM_USER_NAME=login-local-part')
  }
  return { kind: 'login' }
}
