import { factorIdIn } from '../authn.ts'
import { outcomeOf } from '../caller.ts'
import { type Check, holds, notTestable, unclear } from '../check.ts'
import type { Context } from '../context.ts'
import { at, textAt } from '../json.ts'
import type { ProofUser } from '../org.ts'
import type { Person } from '../person.ts'
import { oktaReplyIn, type Portal, type PortalReply } from '../portal.ts'

/** What needs a person: a phone with Okta Verify, and the agents of a directory. */
export const PERSON_CHECKS: readonly Check[] = [
  {
    id: 'F2',
    belief: 'The choice `autoPush` is not remembered for a trusted application, which has no cookie.',
    where: 'connect-your-okta-org.md#remembered-devices',
    change: 'Nothing: the page may offer the choice.',
    needs: ['person'],
    async run(context) {
      const user = await enrollPush(context)
      if (user === undefined) return notTestable('Okta Verify was not set up')
      const portal = await context.openPortal()
      const approved = await signInByPush(context, portal, user)
      if (approved.body.status !== 'SUCCESS') return unclear(`no push was approved: ${outcomeOf(approved)}`)
      const again = oktaReplyIn(await portal.signIn(user))
      const policy = Object.values(Object(at(again?.body, '_embedded.policy.factorsPolicyInfo')))
      const isRemembered = policy.some((each) => at(each, 'autoPushEnabled') === true)
      return holds(
        !isRemembered,
        `sign-in by push ${outcomeOf(approved)}; at the next one ${isRemembered ? 'remembered' : 'not remembered'}`,
      )
    },
  },
  {
    id: 'S4',
    belief:
      'While no agent of Active Directory answers, the correct password looks like a wrong one, or is 502 E0000240 or 504 E0000241.',
    where: 'connect-your-okta-org.md#active-directory-and-ldap',
    change: 'Report the code, so that users get the right message.',
    needs: ['person'],
    async run(context) {
      const { setAgents, directoryUser } = personOf(context)
      const user = await directoryUser()
      if (user === undefined) return notTestable('there is no test user of Active Directory')
      const before = await (await context.openPortal()).signIn(user)
      if (before.status !== 200) return unclear(`with the agents ${outcomeOf(before)}`)
      if (!(await setAgents('stopped'))) return notTestable('the agents cannot be stopped')
      const stopped = oktaReplyIn(await (await context.openPortal()).signIn(user))
      await setAgents('started')
      const seen = stopped === undefined ? 'no answer' : outcomeOf(stopped)
      return holds(WITHOUT_AGENT.includes(seen), `with the agents ${outcomeOf(before)}, without ${seen}`)
    },
  },
]

const WITHOUT_AGENT = ['401 E0000004', '401 E0000207', '502 E0000240', '504 E0000241']
const POLLS = 5

function personOf({ target }: Context): Person {
  if (target.person === undefined) throw new Error('no person')
  return target.person
}

/** A user with Okta Verify; undefined if it was not set up. */
async function enrollPush(context: Context): Promise<ProofUser | undefined> {
  const { org, authn, wait } = context
  const user = await org.createPromptedUser('ALWAYS', 'none')
  const begun = await authn.signIn(user)
  if (begun.body.status !== 'MFA_ENROLL') return undefined
  const enrolled = await authn.step(begun, '/factors', { factorType: 'push', provider: 'OKTA' })
  const picture = textAt(enrolled.body, '_embedded.factor._embedded.activation._links.qrcode.href')
  if (picture === '' || !(await personOf(context).scan(user.login, picture))) return undefined
  const path = `/factors/${factorIdIn(enrolled, 'push')}/lifecycle/activate/poll`
  for (let poll = 0; poll < POLLS; poll += 1) {
    const { body } = await authn.step(begun, path)
    if (body.status === 'SUCCESS') return user
    await wait()
  }
  return undefined
}

async function signInByPush(context: Context, portal: Portal, user: ProofUser): Promise<PortalReply> {
  const begun = await portal.signIn(user)
  const path = `/factors/${factorIdIn(begun, 'push')}/verify?autoPush=true`
  let reply = await portal.step(begun, path)
  const number = at(reply.body, '_embedded.factor._embedded.challenge.correctAnswer')
  await personOf(context).approve(user.login, typeof number === 'number' ? number : undefined)
  for (let poll = 0; poll < POLLS && reply.body.status === 'MFA_CHALLENGE'; poll += 1) {
    await context.wait()
    reply = await portal.step(begun, path)
  }
  return reply
}
