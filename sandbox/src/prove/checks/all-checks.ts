import type { Check } from '../check.ts'
import { EVENT_HOOK_CHECKS } from './event-hook.ts'
import { EVENT_CHECKS } from './events.ts'
import { LIMIT_CHECKS } from './limits.ts'
import { MFA_CHECKS } from './mfa.ts'
import { PAM_CHECKS } from './pam.ts'
import { PASSWORD_CHECKS } from './passwords.ts'
import { RECOVERY_LINK_CHECKS } from './recovery-links.ts'
import { RECOVERY_START_CHECKS } from './recovery-starts.ts'
import { SESSION_CHECKS } from './sessions.ts'
import { TOKEN_CHECKS } from './token-per-call.ts'
import { WEBAUTHN_CHECKS } from './webauthn.ts'
import { PERSON_CHECKS } from './with-person.ts'
import { ZONE_CHECKS } from './zones.ts'

export const ALL_CHECKS: readonly Check[] = [
  ...RECOVERY_START_CHECKS,
  ...RECOVERY_LINK_CHECKS,
  ...EVENT_CHECKS,
  ...EVENT_HOOK_CHECKS,
  ...SESSION_CHECKS,
  ...ZONE_CHECKS,
  ...MFA_CHECKS,
  ...PASSWORD_CHECKS,
  ...LIMIT_CHECKS,
  ...TOKEN_CHECKS,
  ...WEBAUTHN_CHECKS,
  ...PAM_CHECKS,
  ...PERSON_CHECKS,
]
