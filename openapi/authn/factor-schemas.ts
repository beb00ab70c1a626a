import { z } from 'zod'
import { openEnum, openUnion, unknownValue, valuesOf } from '../open-values.ts'
import { expiresAt, factorResult, link } from './link-schemas.ts'

/**
 * A second factor: offered to be enrolled, enrolled, or in use. `factorType` says which members it
 * has.
 */

const text = z.string().optional()
const flag = z.boolean().optional()

const factorStatus = openEnum(
  ['NOT_SETUP', 'PENDING_ACTIVATION', 'ENROLLED', 'ACTIVE', 'INACTIVE', 'EXPIRED'],
  { id: 'FactorStatus', description: '`NOT_SETUP`: can be enrolled.' },
)
const enrollment = openEnum(['OPTIONAL', 'REQUIRED'], { id: 'FactorEnrollment' })

/**
 * `status` and `enrollment` only in a list of factors to enroll; `id` only if the factor is
 * enrolled.
 */
const common = {
  id: z.string().optional().meta({ description: 'Missing if the factor is not enrolled yet.' }),
  provider: z
    .string()
    .optional()
    .meta({ examples: ['OKTA', 'GOOGLE', 'RSA', 'SYMANTEC', 'YUBICO', 'DUO', 'FIDO'] }),
  vendorName: text,
  status: factorStatus.optional(),
  enrollment: enrollment.optional(),
  _links: z
    .looseObject({
      verify: link.optional().meta({ description: 'In `MFA_REQUIRED`: uses the factor.' }),
      enroll: link.optional().meta({ description: 'In `MFA_ENROLL`: enrolls the factor.' }),
      questions: link.optional().meta({ description: 'For `question`: lists the questions.' }),
    })
    .optional(),
}

const factor = (
  id: string,
  types: readonly [string, ...string[]],
  { profile = {}, embedded }: { profile?: z.ZodRawShape; embedded?: z.ZodRawShape } = {},
) =>
  z
    .looseObject({
      factorType: types.length === 1 ? z.literal(types[0]) : z.enum(types),
      ...common,
      profile: z.looseObject({ ...PROFILE, ...profile }).optional(),
      ...(embedded && { _embedded: z.looseObject(embedded).optional() }),
    })
    .meta({ id })

const PROFILE = { credentialId: text }

const phone = factor('PhoneFactor', ['sms', 'call'], {
  profile: {
    phoneNumber: text.meta({ description: 'Masked, such as `+1 XXX-XXX-0003`.' }),
    phoneExtension: text,
  },
})
const email = factor('EmailFactor', ['email'], { profile: { email: text.meta({ description: 'Masked.' }) } })
const question = factor('QuestionFactor', ['question'], { profile: { question: text, questionText: text } })
const token = factor('TokenFactor', ['token', 'token:hardware', 'token:hotp'])
const password = factor('PasswordFactor', ['password'])
const signedNonce = factor('SignedNonceFactor', ['signed_nonce'])
const identityProvider = factor(
  'IdentityProviderFactor',
  ['claims_provider', 'assertion:saml2', 'assertion:oidc'],
  { profile: { user: text } },
)

const totp = factor('TotpFactor', ['token:software:totp'], {
  embedded: {
    activation: z
      .looseObject({
        sharedSecret: text.meta({ description: 'For users who cannot scan the QR image.' }),
        encoding: text,
        timeStep: z.number().optional(),
        keyLength: z.number().optional(),
        _links: z.looseObject({ qrcode: link.optional() }).optional(),
      })
      .optional(),
  },
})

const push = factor('PushFactor', ['push'], {
  profile: { deviceType: text, name: text, platform: text, version: text },
  embedded: {
    challenge: z
      .looseObject({
        correctAnswer: z
          .number()
          .optional()
          .meta({ description: 'Number matching: show it. It may appear only while the page polls.' }),
      })
      .optional(),
    activation: z
      .looseObject({
        expiresAt: expiresAt.optional(),
        factorResult: factorResult.optional(),
        _links: z
          .looseObject({
            qrcode: link.optional(),
            send: z.array(link).optional().meta({ description: 'Links by email and text message.' }),
            activate: link.optional().meta({ description: 'After a time-out: a new activation.' }),
          })
          .optional(),
      })
      .optional(),
  },
})

const credential = z.looseObject({ type: z.string(), id: text })
export const webauthnChallenge = z
  .looseObject({ challenge: z.string(), userVerification: text, extensions: z.looseObject({}).nullish() })
  .meta({
    id: 'WebauthnChallenge',
    description: 'Options for `navigator.credentials.get`, with base64url text.',
  })

const webauthn = factor('WebauthnFactor', ['webauthn'], {
  profile: { authenticatorName: text },
  embedded: {
    challenge: webauthnChallenge.optional(),
    activation: z
      .looseObject({
        challenge: z.string(),
        attestation: text,
        authenticatorSelection: z
          .looseObject({ userVerification: text, requireResidentKey: flag })
          .optional(),
        excludeCredentials: z.array(credential).optional(),
        pubKeyCredParams: z.array(z.looseObject({ type: z.string(), alg: z.number() })).optional(),
        rp: z.looseObject({ name: text }).optional(),
        u2fParams: z.looseObject({ appid: text }).optional(),
        user: z.looseObject({ id: text, name: text, displayName: text }).optional(),
      })
      .optional()
      .meta({ description: 'Options for `navigator.credentials.create`, with base64url text.' }),
  },
})

const u2fRequest = { nonce: text, timeoutSeconds: z.number().optional() }
const u2f = factor('U2fFactor', ['u2f'], {
  profile: { appId: text, version: text },
  embedded: {
    challenge: z.looseObject(u2fRequest).optional(),
    activation: z.looseObject({ ...u2fRequest, appId: text, version: text }).optional(),
  },
})

const duoFrame = z
  .looseObject({
    host: text,
    signature: text,
    factorResult: factorResult.optional(),
    _links: z.looseObject({ complete: link.optional(), script: link.optional() }).optional(),
  })
  .meta({ id: 'DuoFrame', description: 'Parameters for Duo’s script.' })
const duo = factor('DuoFactor', ['web'], {
  embedded: { verification: duoFrame.optional(), activation: duoFrame.optional() },
})

const FACTORS = [
  totp,
  push,
  phone,
  email,
  question,
  webauthn,
  token,
  duo,
  identityProvider,
  password,
  signedNonce,
  u2f,
]

const FACTOR_TYPES = FACTORS.flatMap((one) => valuesOf(one, 'factorType'))

const unknownFactor = z
  .looseObject({ factorType: unknownValue(FACTOR_TYPES), ...common, profile: z.looseObject({}).optional() })
  .meta({ id: 'UnknownFactor', description: 'A factor type that this document does not know.' })

export const anyFactor = openUnion('factorType', FACTORS, unknownFactor, { id: 'Factor' })
