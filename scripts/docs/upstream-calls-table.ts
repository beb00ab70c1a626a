import {
  type ApiTokenUse,
  ENTRY_OPERATIONS,
  OFFERED_OPERATIONS,
  STEP_OPERATIONS,
} from '../../src/authn/operations.ts'
import { inCell, markdownTable } from './markdown.ts'

const OKTA_OPERATIONS = { ...ENTRY_OPERATIONS, ...STEP_OPERATIONS, ...OFFERED_OPERATIONS }

interface Risk {
  readonly who: string
  readonly worst: string
  readonly limit: string
}

const CREDENTIALS: Readonly<Record<ApiTokenUse, string>> = {
  always: 'API token',
  never: 'none',
  'not-in-recovery': 'API token; none in a recovery',
}

const CALLS = '`call.perAddress`'
/** A step that is no guess and sends nothing. */
const step = (who: string, worst = 'a call of the rate limit'): Risk => ({ who, worst, limit: CALLS })
const PASSWORD_GIVEN = 'who has given the password'
const TRANSACTION = 'the browser of a transaction'
const RECOVERY = 'anyone, in a recovery'

/** Who can cause each call to Okta, what it costs somebody else at worst, and what limits it. */
const RISKS: Readonly<Record<keyof typeof OKTA_OPERATIONS, Risk>> = {
  authenticate: {
    who: 'anyone',
    worst: 'the org locks the user; a guessed password or activation token',
    limit: '`password.…`, `token.perAddress`, `AUTHN_LOCKOUT_ATTEMPTS`',
  },
  introspect: step(TRANSACTION),
  recoverPassword: {
    who: 'anyone (`RECOVERY`)',
    worst: 'a message to the user; with the API token, it would lock the user out (R1)',
    limit: '`recovery.…`; a code in 31 s',
  },
  unlockAccount: {
    who: 'anyone (`RECOVERY`)',
    worst: 'a message to the user',
    limit: '`recovery.…`; a code in 31 s',
  },
  redeemRecoveryToken: {
    who: 'anyone',
    worst: 'a guessed token: the account',
    limit: '`token.perAddress`',
  },
  cancel: step(TRANSACTION, 'its own transaction ends'),
  previous: step(TRANSACTION),
  skip: step(PASSWORD_GIVEN),
  changePassword: {
    who: PASSWORD_GIVEN,
    worst: 'the org locks the user; a new password',
    limit: '`password.…`',
  },
  resetPassword: {
    who: 'who has a recovery or activation token',
    worst: 'a new password',
    limit: '`code.…`',
  },
  answerRecoveryQuestion: {
    who: 'who has a recovery token or code',
    worst: 'the org locks the user after wrong answers (R8)',
    limit: '`code.…`',
  },
  verifyRecoveryFactor: {
    who: RECOVERY,
    worst: 'a guessed code: the account',
    limit: '`code.…`; four codes in a recovery',
  },
  resendRecoveryFactor: {
    who: RECOVERY,
    worst: 'a message to the user',
    limit: '`message.…`; a code in 31 s',
  },
  enrollFactor: {
    who: PASSWORD_GIVEN,
    worst: 'messages to any number or address; a factor of an attacker, if the user has none',
    limit: '`message.…`, `code.…`',
  },
  verifyFactor: {
    who: PASSWORD_GIVEN,
    worst: 'pushes and messages to the user; the org locks the factor',
    limit: '`code.…`, `push.…`, `message.…`',
  },
  resendChallenge: {
    who: PASSWORD_GIVEN,
    worst: 'pushes and messages to the user',
    limit: '`push.…`, `message.…`',
  },
  activateFactor: { who: PASSWORD_GIVEN, worst: 'a guessed code of the own enrollment', limit: '`code.…`' },
  pollActivation: step(PASSWORD_GIVEN),
  completeDuo: { who: PASSWORD_GIVEN, worst: 'a forged response, which Okta refuses', limit: '`code.…`' },
  resendActivation: {
    who: PASSWORD_GIVEN,
    worst: 'a message to the number that is enrolled',
    limit: '`message.…`',
  },
  mailActivationLink: { who: PASSWORD_GIVEN, worst: 'an email to the user', limit: '`message.…`' },
  textActivationLink: { who: PASSWORD_GIVEN, worst: 'a text message to a number', limit: '`message.…`' },
  activateUserFactor: {
    who: PASSWORD_GIVEN,
    worst: 'a guessed code of the own enrollment',
    limit: '`code.…`',
  },
  mailUserActivationLink: { who: PASSWORD_GIVEN, worst: 'an email to the user', limit: '`message.…`' },
  textUserActivationLink: { who: PASSWORD_GIVEN, worst: 'a text message to a number', limit: '`message.…`' },
  listSecurityQuestions: step(PASSWORD_GIVEN),
  getEnrollmentPicture: step(PASSWORD_GIVEN),
}

/** The calls that are no operation of the sign-in. */
const OTHERS: readonly (readonly string[])[] = [
  [
    '`GET /api/v1/users/{uid}`',
    'API token',
    'a user with a session, with `SESSION_RECHECK_MINUTES`',
    'a call of the rate limit',
    'one for a user in the period; 60 a minute; while they fail, 5 a minute',
  ],
  [
    '`POST` to `PAM_TOKEN_PATH`',
    'PAM key',
    'nobody: the broker, when its token ends or is refused',
    'PAM refuses the key',
    'once in 10 s over all replicas, with growing pauses',
  ],
  [
    '`GET /v1/teams/{team}/users/{user}/groups`',
    'PAM token',
    'a user with a session; a backend with one of `APP_TOKENS`',
    "PAM's rate limit is used up",
    'one for a user in 60 s over all replicas; the rate-limit gate; `app`',
  ],
  [
    '`GET /v1/teams/{team}/groups`',
    'PAM token',
    'users of `PAM_DIRECTORY`; a backend with one of `APP_TOKENS`',
    "PAM's rate limit is used up",
    'one for a page in 60 s over all replicas; the rate-limit gate; `app`',
  ],
]

export function upstreamCallsTable(): string {
  const rows = Object.entries(OKTA_OPERATIONS).map(([name, { method, path, apiToken }]) => {
    // a name of the same object
    const { who, worst, limit } = RISKS[name as keyof typeof OKTA_OPERATIONS]
    return [
      `\`${method} ${path.replace(/:(\w+)/g, '{$1}')}\``,
      CREDENTIALS[apiToken],
      inCell(who),
      inCell(worst),
      limit,
    ]
  })
  return markdownTable(
    ['call', 'credential', 'who can cause it', 'worst effect on others', 'limit'],
    [...rows, ...OTHERS.map((row) => [...row])],
  )
}
