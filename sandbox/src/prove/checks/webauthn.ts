import {
  createVirtualAuthenticator,
  type VirtualAuthenticator,
} from '../../authn/factors/virtual-authenticator.ts'
import { type AuthnApi, factorIdIn } from '../authn.ts'
import { outcomeOf, type Reply } from '../caller.ts'
import { type Check, holds, notTestable } from '../check.ts'
import type { Context } from '../context.ts'
import { type Json, textAt } from '../json.ts'
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
      const { signIn: begin, step } = context.authn
      const origin = portalOf(context)
      const withOrigin = {
        signIn: (user: ProofUser) => begin(user, {}, { origin }),
        step: (from: Reply, path: string, body?: Json) => step(from, path, body, { origin }),
      }
      const signIn = await signInWithKey(withOrigin, enrolled, origin)
      return holds(
        signIn.body.status === 'SUCCESS',
        `set up ${outcomeOf(enrolled.reply)}; sign-in ${outcomeOf(signIn)}`,
      )
    },
  },
  {
    id: 'F4',
    belief: 'A security key works through Gatehouse as it is by default, without an `Origin` header.',
    where: WEBAUTHN,
    change: 'Set AUTHN_FORWARD_ORIGIN=on.',
    needs: ['portal'],
    async run(context) {
      const enrolled = await enrollKey(context)
      if (enrolled === undefined) return notTestable(NOT_OFFERED)
      const signIn = await signInWithKey(await context.openPortal(), enrolled, portalOf(context))
      return holds(signIn.body.status === 'SUCCESS', `without the header ${outcomeOf(signIn)}`)
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
      if ((await enrollKey(context))?.reply.status !== 200)
        return notTestable('the org refuses the host itself, too')
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

/** @param api at the portal, or directly with the header `Origin` */
async function signInWithKey(
  api: Pick<AuthnApi, 'step'> & { signIn(user: ProofUser): Promise<Reply> },
  { user, key }: Enrolled,
  origin: string,
): Promise<Reply> {
  const begun = await api.signIn(user)
  const path = `/factors/${factorIdIn(begun, 'webauthn')}/verify`
  const challenged = await api.step(begun, path)
  const challenge = textAt(challenged.body, '_embedded.factor._embedded.challenge.challenge')
  return api.step(begun, path, key.signWebauthn(challenge, origin))
}
