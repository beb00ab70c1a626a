import type { PamConfig, PamKey, PamUserName } from './config.ts'
import type { EnvReader } from './env-reader.ts'
import { directory, instant, teamName, tokenPath, userDomains } from './pam-values.ts'
import { oneOf } from './plain-values.ts'
import type { WatchedSecrets } from './secret-files.ts'
import { currentAndStandby } from './secret-values.ts'
import { upstreamBaseUrl } from './url-values.ts'
import type { VariableName } from './variables.ts'

/** The PAM side, or undefined when it is not wanted (no `PAM_BASE_URL`) or not sound (there is a problem then). */
export function loadPam(reader: EnvReader, secrets: WatchedSecrets): PamConfig | undefined {
  if (!reader.isSet('PAM_BASE_URL')) {
    for (const name of PAM_VARIABLES.filter(reader.isSet)) {
      reader.refuse(name, 'is set, but PAM_BASE_URL is not')
    }
    return undefined
  }
  const baseUrl = reader.required('PAM_BASE_URL', upstreamBaseUrl)
  const team = reader.required('PAM_TEAM', teamName)
  const keys = secrets.take(['PAM_KEY_ID', 'PAM_KEY_SECRET'], readKeys)
  const rest = {
    keyExpiresAtMs: reader.optional('PAM_KEY_EXPIRES_AT', instant),
    tokenPath: reader.optional('PAM_TOKEN_PATH', tokenPath) ?? '/v1/teams/{team_name}/service_token',
    userName: readUserName(reader),
    directory: reader.optional('PAM_DIRECTORY', directory) ?? ({ kind: 'none' } as const),
  }
  if (baseUrl === undefined || team === undefined || keys === undefined) return undefined
  return { baseUrl, team, keys, ...rest }
}

const PAM_VARIABLES: readonly VariableName[] = [
  'PAM_TEAM',
  'PAM_KEY_ID',
  'PAM_KEY_SECRET',
  'PAM_KEY_EXPIRES_AT',
  'PAM_TOKEN_PATH',
  'PAM_USER_NAME',
  'PAM_USER_DOMAINS',
  'PAM_DIRECTORY',
]

/** The first id goes with the first secret, the second with the second. */
function readKeys(reader: EnvReader): readonly PamKey[] | undefined {
  const ids = reader.required('PAM_KEY_ID', currentAndStandby)
  const secrets = reader.required('PAM_KEY_SECRET', currentAndStandby)
  if (ids === undefined || secrets === undefined) return undefined
  if (ids.length !== secrets.length) {
    reader.refuse('PAM_KEY_SECRET', 'must hold as many values as PAM_KEY_ID')
    return undefined
  }
  return ids.map((id, index) => ({ id, secret: secrets[index] ?? '' }))
}

function readUserName(reader: EnvReader): PamUserName {
  const kind = reader.optional('PAM_USER_NAME', oneOf('login', 'login-local-part'))
  const domains = reader.optional('PAM_USER_DOMAINS', userDomains)
  if (kind === 'login-local-part') {
    if (!reader.isSet('PAM_USER_DOMAINS')) {
      reader.refuse('PAM_USER_DOMAINS', 'is required with PAM_USER_NAME=login-local-part')
    }
    return { kind, domains: domains ?? [] }
  }
  if (reader.isSet('PAM_USER_DOMAINS') && !(reader.isSet('PAM_USER_NAME') && kind === undefined)) {
    reader.refuse('PAM_USER_DOMAINS', 'only goes with PAM_USER_NAME=login-local-part')
  }
  return { kind: 'login' }
}
