import { type Check, holds, unclear } from '../check.ts'
import type { Context } from '../context.ts'
import { at, listOf, textAt } from '../json.ts'
import type { ProofUser } from '../org.ts'
import type { Portal } from '../portal.ts'
import { resetByRecovery, startOwnRecovery } from '../steps/recoveries.ts'

const ENDING = 'connect-your-okta-org.md#10-ending-sessions'
const REFUSED = 'the sign-in at the portal opened no session'

/** What the org's event hook does at Gatehouse. */
export const EVENT_HOOK_CHECKS: readonly Check[] = [
  {
    id: 'V1.hook',
    belief: 'A delivery about a user who is suspended names the user, and ends the sessions at the portal.',
    where: ENDING,
    change: 'Set SESSION_RECHECK_MINUTES: suspended users stay signed in until their sessions end.',
    needs: ['eventHook'],
    async run(context) {
      const eventType = 'user.lifecycle.suspend'
      const { user, portal } = await signedIn(context)
      if (!(await portal.isSignedIn())) return unclear(REFUSED)
      await context.org.lifecycle(user, 'suspend')
      const event = await delivered(context, user, eventType)
      if (event === undefined) return holds(false, `no delivery of ${eventType}`)
      const isSignedIn = await portal.isSignedIn()
      const isNamed = listOf(event.target).some((each) => at(each, 'type') === 'User')
      return holds(
        isNamed && !isSignedIn,
        `delivered, ${isNamed ? 'with' : 'without'} the user; the session ${isSignedIn ? 'stays' : 'ends'}`,
      )
    },
  },
  {
    id: 'A4.hook',
    belief: 'A recovery that a stranger starts for a user ends no session of the user at the portal.',
    where: ENDING,
    change: 'Leave user.account.reset_password out of the event hook: a stranger could sign users out.',
    needs: ['eventHook', 'mail'],
    async run(context) {
      const eventType = 'user.account.reset_password'
      const { user, portal } = await signedIn(context)
      if (!(await portal.isSignedIn())) return unclear(REFUSED)
      await startOwnRecovery(await context.openPortal(), user, 'EMAIL')
      const event = await delivered(context, user, eventType)
      const seen = event === undefined ? 'no delivery' : `delivered, by ${textAt(event, 'actor.type')}`
      const isSignedIn = await portal.isSignedIn()
      return holds(isSignedIn, `${seen}; the session ${isSignedIn ? 'stays' : 'ends'}`)
    },
  },
  {
    id: 'A4.hook-reset',
    belief: 'A password that is reset elsewhere ends the sessions of the user at the portal.',
    where: ENDING,
    change: 'Set SESSION_RECHECK_MINUTES: no event ends the sessions after a recovery elsewhere.',
    needs: ['eventHook'],
    async run(context) {
      const eventType = 'user.account.update_password'
      const { user, portal } = await signedIn(context)
      if (!(await portal.isSignedIn())) return unclear(REFUSED)
      const recoveryToken = await context.org.recoveryToken(user)
      const reset = await resetByRecovery(context.authn.withoutToken, user, { recoveryToken })
      if (reset.status !== 200) return unclear(`reset ${reset.status}`)
      const event = await delivered(context, user, eventType)
      const isSignedIn = await portal.isSignedIn()
      return holds(
        !isSignedIn,
        `${event === undefined ? `no delivery of ${eventType}` : 'delivered'}; the session ${isSignedIn ? 'stays' : 'ends'}`,
      )
    },
  },
]

/** A user with a session at the portal, whose events are delivered from now on. */
async function signedIn(context: Context): Promise<{ user: ProofUser; portal: Portal }> {
  await hookOf(context).listen()
  const user = await context.org.createUser()
  const portal = await context.openPortal()
  await portal.signIn(user)
  return { user, portal }
}

async function delivered(context: Context, user: ProofUser, eventType: string) {
  const events = await hookOf(context).eventsAbout(user, eventType)
  return events.find((event) => event.eventType === eventType)
}

function hookOf({ eventHook }: Context) {
  if (eventHook === undefined) throw new Error('no event hook')
  return eventHook
}
