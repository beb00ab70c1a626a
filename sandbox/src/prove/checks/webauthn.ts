import {
  createVirtualAuthenticator,
  type VirtualAuthenticator,
} from '../../authn/factors/virtual-authenticator.ts'
import { factorIdIn } from '../authn.ts'
import { outcomeOf, type Reply } from '../caller.ts'
import { type Check, holds, notTestable } from '../check.ts'
import type { Context } from '../context.ts'
import { textAt } from '../json.ts'
import type { ProofUser } from '../org.ts'

const WEBAUTHN = 'connect-your-okta-org.md#5-webauthn'
const NOT_OFFERED = 'the org does not offer WebAuthn to a new user'

type Enrolled = { user: ProofUser; key: VirtualAuthenticator; reply: Reply }

export const WEBAUTHN_CHECKS: readonly Check[] = [
  {
    id: 'F3',
    belief: 'A security key of the portal’s origin, which is a Trusted Origin, can be set up and used.',
    where: WEBAUTHN,
    change: 'Give the Trusted Origin the types that are missing.',
    needs: ['portal'],
    async run(context) {
      const enrolled = await enrollKey(context)
      if (enrolled === undefined) return notTestable(NOT_OFFERED)
      const signIn = await signInWithKey(context, enrolled, portalOf(context))
      return holds(
        signIn.body.status === 'SUCCESS',
        `set up ${outcomeOf(enrolled.reply)}; sign-in ${outcomeOf(signIn)}`,
      )
    },
  },
  {
    id: 'F4',
    belief: 'A security key works without an `Origin` header.',
    where: WEBAUTHN,
    change: 'Set AUTHN_FORWARD_ORIGIN=on.',
    needs: ['portal'],
    async run(context) {
      const enrolled = await enrollKey(context)
      if (enrolled === undefined) return notTestable(NOT_OFFERED)
      const without = await signInWithKey(context, enrolled, undefined)
      return holds(without.body.status === 'SUCCESS', `without the header ${outcomeOf(without)}`)
    },
  },
  {
    id: 'F6',
    belief: 'Okta refuses a security key whose relying party id is a domain above the host of the page.',
    where: WEBAUTHN,
    change: 'Keys of several hosts can be used: give `getAssertion` an `rpId`.',
    needs: ['portal'],
    async run(context) {
      const { hostname } = new URL(portalOf(context))
      const above = hostname.split('.').slice(1).join('.')
      if (!above.includes('.')) return notTestable('the host of --portal-origin has no domain above it')
      const enrolled = await enrollKey(context, { rpId: above })
      if (enrolled === undefined) return notTestable(NOT_OFFERED)
      return holds(enrolled.reply.status >= 400, `set up ${outcomeOf(enrolled.reply)}`)
    },
  },
  {
    id: 'S12',
    belief: 'The activation of a security key may have transports and clientExtensions.',
    where: WEBAUTHN,
    change: 'Report it: Gatehouse passes them on.',
    needs: ['portal'],
    async run(context) {
      const enrolled = await enrollKey(context, { more: { transports: '["usb"]', clientExtensions: '{}' } })
      if (enrolled === undefined) return notTestable(NOT_OFFERED)
      return holds(enrolled.reply.status === 200, `set up ${outcomeOf(enrolled.reply)}`)
    },
  },
]

const portalOf = ({ target }: Context) => target.portalOrigin ?? target.orgUrl

async function enrollKey(
  context: Context,
  { rpId, more = {} }: { rpId?: string; more?: object } = {},
): Promise<Enrolled | undefined> {
  const { org, authn, unique } = context
  const user = await org.createPromptedUser('ALWAYS', 'none')
  const origin = portalOf(context)
  const begun = await authn.signIn(user)
  if (begun.body.status !== 'MFA_ENROLL') return undefined
  const started = await authn.step(
    begun,
    '/factors',
    { factorType: 'webauthn', provider: 'FIDO' },
    { origin },
  )
  const challenge = textAt(started.body, '_embedded.factor._embedded.activation.challenge')
  if (challenge === '') return undefined
  const key = createVirtualAuthenticator({ seed: unique() })
  const path = `/factors/${factorIdIn(started, 'webauthn')}/lifecycle/activate`
  const body = { ...key.registerWebauthn(challenge, origin, rpId), ...more }
  return { user, key, reply: await authn.step(started, path, body, { origin }) }
}

/** @param header the header `Origin` */
async function signInWithKey(
  context: Context,
  { user, key }: Enrolled,
  header: string | undefined,
): Promise<Reply> {
  const { authn } = context
  const options = header === undefined ? {} : { origin: header }
  const begun = await authn.signIn(user)
  const path = `/factors/${factorIdIn(begun, 'webauthn')}/verify`
  const challenged = await authn.step(begun, path, {}, options)
  const challenge = textAt(challenged.body, '_embedded.factor._embedded.challenge.challenge')
  return authn.step(begun, path, key.signWebauthn(challenge, portalOf(context)), options)
}
