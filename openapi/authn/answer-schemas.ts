import { z } from 'zod'
import { openEnum, openUnion, unknownValue, valuesOf } from '../open-values.ts'
import { profile, session } from '../session-schema.ts'
import { anyFactor, webauthnChallenge } from './factor-schemas.ts'
import { expiresAt, factorResult, handle, link, never } from './link-schemas.ts'
import { factorPolicy, passwordPolicy } from './policy-schemas.ts'

/**
 * The answers of the sign-in's steps: one schema per status. They are Okta's, without its tokens. A
 * member is required if Okta's answers always have it; the broker passes on what Okta sends, and
 * ensures only the handle and that no token is left.
 */

const text = z.string().nullish()

const user = z
  .looseObject({
    id: z.string(),
    passwordChanged: text,
    profile,
  })
  .meta({ id: 'SignInUser', description: 'The user who signs in.' })

/** Step-up: the app that the user is signing in to. */
const stepUp = {
  target: z
    .looseObject({
      type: text,
      name: text,
      label: text,
      _links: z.looseObject({ logo: link.optional() }).optional(),
    })
    .optional()
    .meta({ description: 'Step-up: the app.' }),
  authentication: z
    .looseObject({ protocol: text, issuer: z.looseObject({ id: text, name: text, uri: text }).optional() })
    .optional()
    .meta({ description: 'Step-up: the app’s protocol.' }),
}

const stateToken = handle.meta({
  description: 'The handle. Send it with every further step. It stays the same for the whole transaction.',
})
const recoveryType = openEnum(['PASSWORD', 'UNLOCK', 'ACCOUNT_ACTIVATION'], { id: 'RecoveryType' }).optional()
const factors = z
  .array(anyFactor)
  .optional()
  .meta({ description: 'The factors to choose from. May be empty. Some orgs call the list `factor`.' })
const factorList = { factors, factor: factors.meta({ description: 'The same list, in some orgs.' }) }

const transactionType = openEnum(['SESSION_STEP_UP'], {
  id: 'TransactionType',
  description: '`SESSION_STEP_UP` in a step-up.',
})

const common = {
  type: transactionType.optional(),
  relayState: z.string().optional().meta({ description: 'As the client sent it.' }),
  recoveryToken: never,
}

const { cancel, prev, skip, next } = {
  cancel: link.meta({ description: 'Cancels the sign-in.' }),
  prev: link.optional().meta({ description: 'Back to the previous step.' }),
  skip: link.meta({ description: 'Skips the optional step.' }),
  next: link.meta({ description: 'The next step.' }),
}
/** Okta may have challenged a hidden factor before the broker received the transaction. */
const HIDDEN = 'Missing if `HIDDEN_FACTORS` hides the factor.'
const nextOfFactor = link.optional().meta({ description: `The next step. ${HIDDEN}` })
const factorInUse = anyFactor.optional().meta({ description: `The factor in use. ${HIDDEN}` })
const resend = z.array(link).optional().meta({ description: 'Sends the code or the push again.' })

/** An answer whose transaction continues. */
const open = (
  id: string,
  status: string,
  embedded: z.ZodRawShape,
  links: z.ZodRawShape,
  more: z.ZodRawShape = {},
) =>
  z
    .looseObject({
      status: z.literal(status),
      stateToken,
      expiresAt,
      ...more,
      ...common,
      _embedded: z.looseObject({ ...embedded, ...stepUp }),
      _links: z.looseObject(links),
    })
    .meta({ id })

const success = z
  .looseObject({
    status: z.literal('SUCCESS'),
    stateToken: stateToken.optional().meta({ description: 'Only in a step-up.' }),
    expiresAt: expiresAt.optional().meta({ description: 'Not the end of the session.' }),
    sessionToken: handle.optional().meta({
      description: 'If `SSO_REDIRECTS` is set: the SSO token, a handle for `/login/sessionCookieRedirect`.',
    }),
    recoveryType,
    ...common,
    _embedded: z
      .looseObject({
        user: user.optional(),
        session: session
          .optional()
          .meta({ description: 'The session that it has opened: what `GET /api/v1/sessions/me` answers.' }),
        ...stepUp,
      })
      .optional(),
    _links: z
      .looseObject({ next: link.optional() })
      .optional()
      .meta({ description: 'Step-up: the page must navigate to `next`.' }),
  })
  .meta({
    id: 'Success',
    description:
      'The sign-in is complete. With a session cookie in `Set-Cookie`, it has opened a session; an unlock opens none.',
  })

const unauthenticated = open('Unauthenticated', 'UNAUTHENTICATED', {}, { next, cancel: cancel.optional() })
const passwordExpired = open(
  'PasswordExpired',
  'PASSWORD_EXPIRED',
  { user, policy: passwordPolicy },
  { next, cancel },
)
const passwordWarn = open(
  'PasswordWarn',
  'PASSWORD_WARN',
  { user, policy: passwordPolicy },
  { next, skip, cancel },
)
const passwordReset = open(
  'PasswordReset',
  'PASSWORD_RESET',
  { user, policy: passwordPolicy },
  { next, cancel },
  { recoveryType },
)
const mfaEnroll = open('MfaEnroll', 'MFA_ENROLL', { user, ...factorList }, { skip: skip.optional(), cancel })
const mfaEnrollActivate = open(
  'MfaEnrollActivate',
  'MFA_ENROLL_ACTIVATE',
  { user, factor: factorInUse },
  { next: nextOfFactor, prev, cancel, resend },
  { factorResult: factorResult.optional() },
)

const byType = z.array(
  z.looseObject({ factorType: z.string(), _links: z.looseObject({ next: link.optional() }).optional() }),
)
const mfaRequired = open(
  'MfaRequired',
  'MFA_REQUIRED',
  {
    user,
    ...factorList,
    factorTypes: byType.optional().meta({ description: 'Challenges all security keys of the user at once.' }),
    policy: factorPolicy.optional(),
  },
  { cancel },
)
const mfaChallenge = open(
  'MfaChallenge',
  'MFA_CHALLENGE',
  {
    user,
    factor: factorInUse,
    factors: factors.meta({
      description: 'Instead of `factor`, if all security keys are challenged at once.',
    }),
    challenge: webauthnChallenge.optional().meta({ description: 'The challenge for `factors`.' }),
    policy: factorPolicy.optional(),
  },
  { next: nextOfFactor, prev, cancel, resend },
  {
    factorResult: factorResult.optional(),
    factorResultMessage: z.string().optional(),
    challengeType: z.string().optional(),
    factorType: z.string().optional(),
  },
)

const recovery = open(
  'Recovery',
  'RECOVERY',
  {
    user: user
      .extend({ recovery_question: z.looseObject({ question: z.string() }).optional() })
      .meta({ id: 'RecoveringUser' }),
  },
  { next, cancel },
  { recoveryType },
)

/** Made from one template for known and unknown users, so it has no further members. */
export const recoveryChallenge = z
  .strictObject({
    status: z.literal('RECOVERY_CHALLENGE'),
    stateToken: stateToken.optional().meta({
      description: 'The handle. Missing for EMAIL, because the link in the email continues the recovery.',
    }),
    expiresAt: expiresAt.optional(),
    relayState: common.relayState,
    factorResult: z.literal('WAITING').optional(),
    factorType: z.enum(['EMAIL', 'SMS', 'call']).meta({ description: 'As Okta spells it.' }),
    recoveryType: z.enum(['PASSWORD', 'UNLOCK']),
    _links: z
      .looseObject({ next, cancel, resend: link })
      .optional()
      .meta({ description: 'Missing for EMAIL.' }),
  })
  .meta({ id: 'RecoveryChallenge', description: 'A message is sent, if the account exists.' })

const lockedOut = z
  .looseObject({
    status: z.literal('LOCKED_OUT'),
    ...common,
    _links: z
      .looseObject({ next: link.optional() })
      .optional()
      .meta({ description: '`next` starts an unlock.' }),
  })
  .meta({ id: 'LockedOut', description: 'The account is locked, and the transaction has ended.' })

const ANSWERS = [
  success,
  unauthenticated,
  passwordExpired,
  passwordWarn,
  passwordReset,
  mfaEnroll,
  mfaEnrollActivate,
  mfaRequired,
  mfaChallenge,
  recovery,
  recoveryChallenge,
  lockedOut,
]

const unknownStatus = z
  .looseObject({
    status: unknownValue(ANSWERS.flatMap((answer) => valuesOf(answer, 'status'))),
    stateToken: stateToken.optional(),
    ...common,
    _embedded: z.looseObject({}).optional(),
    _links: z.looseObject({ next: link.optional(), cancel: link.optional() }).optional(),
  })
  .meta({ id: 'UnknownStatus', description: 'A status that this document does not know. Offer `cancel`.' })

export const signInAnswer = openUnion('status', ANSWERS, unknownStatus, {
  id: 'SignInAnswer',
  description:
    'In generated types, `KnownSignInAnswer` narrows by `status`; this schema also allows a status that is new. The state of the sign-in: the authentication transaction object, without Okta’s tokens. `status` says which members it has. A page can rely on `_links` alone, which list the next steps.',
})
