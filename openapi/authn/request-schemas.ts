import * as routes from '../../src/authn/schemas.ts'
import { FACTOR_TYPE_NAMES, type FactorType, getFactorType } from '../../src/factor-types.ts'

/** The schemas of the routes, with descriptions of the fields that depend on the factor. */

const factorType = routes.enrollBody.shape.factorType.meta({
  description: 'As in the list of factors. Further types may appear.',
  examples: FACTOR_TYPE_NAMES,
})
export const enrollBody = routes.enrollBody.extend({ factorType })
export const enrollResendBody = routes.enrollResendBody.extend({ factorType: factorType.nullish() })

const { passCode, answer, password, clientData, signatureData, authenticatorData } = routes.verifyBody.shape
const provenBy = (proof: FactorType['proof']) => ({ description: `For ${listFactorTypes('proof', proof)}.` })
export const verifyBody = routes.verifyBody.extend({
  passCode: passCode.meta(provenBy('passCode')),
  answer: answer.meta(provenBy('answer')),
  password: password.meta(provenBy('password')),
  clientData: clientData.meta(provenBy('signatureData')),
  signatureData: signatureData.meta(provenBy('signatureData')),
  authenticatorData: authenticatorData.meta({ description: 'For `webauthn`.' }),
})

const JSON_TEXT = 'For `webauthn`: JSON as text, such as'
export const activateBody = routes.activateBody.extend({
  transports: routes.activateBody.shape.transports.meta({ description: `${JSON_TEXT} \`["usb","nfc"]\`.` }),
  clientExtensions: routes.activateBody.shape.clientExtensions.meta({
    description: `${JSON_TEXT} \`{"credProps":{"rk":true}}\`.`,
  }),
})

/** The names of the types with this proof or challenge, in Markdown. */
export function listFactorTypes<Member extends 'proof' | 'challenge'>(
  member: Member,
  value: FactorType[Member],
): string {
  return FACTOR_TYPE_NAMES.filter((name) => getFactorType(name)[member] === value)
    .map((name) => `\`${name}\``)
    .join(', ')
}
