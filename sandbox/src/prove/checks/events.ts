import { outcomeOf } from '../caller.ts'
import { type Check, holds, unclear } from '../check.ts'
import { at, type Json, listOf, textAt } from '../json.ts'
import type { ProofUser } from '../org.ts'
import { resetByRecovery, startOwnRecovery } from '../steps/recoveries.ts'
import { eventOfSignIn } from '../steps/sign-in-events.ts'

const ENDING = 'connect-your-okta-org.md#10-ending-sessions'
const RESET = 'user.account.reset_password'
const CHANGED = 'user.account.update_password'

export const EVENT_CHECKS: readonly Check[] = [
  {
    id: 'A4',
    belief:
      'A user’s own recovery is logged as user.account.reset_password with the actor SystemPrincipal, or the user.',
    where: ENDING,
    change: 'Leave user.account.reset_password out of the event hook: a stranger could sign users out.',
    needs: ['mail'],
    async run(context) {
      const user = await context.org.createUser()
      const portal = await context.openPortal()
      await startOwnRecovery(portal, user, 'EMAIL')
      await resetByRecovery(portal, user, { recoveryToken: await context.org.recoveryToken(user) })
      const actors = actorsOf(await context.org.eventsAbout(user, RESET), RESET, user)
      if (actors.length === 0) return unclear('no such event was logged')
      return holds(
        actors.every((actor) => actor !== 'someone else'),
        `by ${actors.join(', ')}`,
      )
    },
  },
  {
    id: 'A4.time',
    belief: 'user.account.reset_password is logged when a recovery starts.',
    where: ENDING,
    change: 'Nothing: Gatehouse ignores it by its actor.',
    needs: ['mail'],
    async run(context) {
      const user = await context.org.createUser()
      await startOwnRecovery(await context.openPortal(), user, 'EMAIL')
      const atStart = actorsOf(await context.org.eventsAbout(user, RESET), RESET, user).length
      return holds(atStart > 0, atStart > 0 ? 'at its start' : 'not at its start')
    },
  },
  {
    id: 'A4.update',
    belief: 'A completed recovery is logged as user.account.update_password.',
    where: ENDING,
    change: 'Set SESSION_RECHECK_MINUTES: no event ends the sessions after a recovery elsewhere.',
    needs: [],
    async run(context) {
      const user = await context.org.createUser()
      const recoveryToken = await context.org.recoveryToken(user)
      const reset = await resetByRecovery(await context.openPortal(), user, { recoveryToken })
      if (reset.status !== 200) return unclear(`reset ${outcomeOf(reset)}`)
      const actors = actorsOf(await context.org.eventsAbout(user, CHANGED), CHANGED, user)
      return holds(actors.length > 0, actors.length > 0 ? `by ${actors.join(', ')}` : 'no such event')
    },
  },
  {
    id: 'V1',
    belief: 'Events that end access name the user as a target of the type User.',
    where: ENDING,
    change: 'Set SESSION_RECHECK_MINUTES, and report the event: Gatehouse does not find the user in it.',
    needs: [],
    async run({ org }) {
      const user = await org.createUser()
      const eventTypes = ['user.session.clear', 'user.lifecycle.suspend', 'user.lifecycle.deactivate']
      await org.clearSessions(user)
      await org.lifecycle(user, 'suspend')
      await org.lifecycle(user, 'deactivate')
      const missing: string[] = []
      for (const eventType of eventTypes) {
        const events = await org.eventsAbout(user, eventType)
        const named = events
          .filter((event) => event.eventType === eventType)
          .flatMap(({ target }) => listOf(target))
        if (!named.some((each) => at(each, 'type') === 'User' && at(each, 'id') === user.id))
          missing.push(eventType)
      }
      return holds(
        missing.length === 0,
        missing.length === 0 ? eventTypes.join(', ') : `not ${missing.join(', ')}`,
      )
    },
  },
  {
    id: 'D1',
    belief: 'X-Okta-Request-Id of a response is the transaction.id of its System Log events.',
    where: 'operations.md#doctor',
    change: 'Compare times and addresses in the System Log instead.',
    needs: [],
    async run(context) {
      const { event, requestId } = await eventOfSignIn(context)
      if (requestId === null) return holds(false, 'the response has no such header')
      return holds(event !== undefined, event === undefined ? 'no event has it' : textAt(event, 'eventType'))
    },
  },
  {
    id: 'D2',
    belief: 'dtHash in the System Log depends on the device token alone.',
    where: 'operations.md#doctor',
    change: 'Do not tell devices apart by dtHash.',
    needs: [],
    async run(context) {
      const [one, other] = [await context.openPortal(), await context.openPortal()]
      const hashes: string[] = []
      for (const portal of [one, one, other])
        hashes.push(dtHashOf((await eventOfSignIn(context, portal)).event))
      if (hashes.includes('')) return unclear('no dtHash in the events')
      return holds(
        hashes[0] === hashes[1] && hashes[0] !== hashes[2],
        `two users, one device: ${hashes[0] === hashes[1] ? 'the same' : 'different'}; another device: ${hashes[0] === hashes[2] ? 'the same' : 'different'}`,
      )
    },
  },
  {
    id: 'T2',
    belief:
      'System Log events of a call with an API token have its id in transaction.detail.requestApiTokenId.',
    where: 'connect-your-okta-org.md#2-api-token',
    change: 'Tell calls of Gatehouse apart by their address.',
    needs: [],
    async run(context) {
      const id = textAt((await eventOfSignIn(context)).event, 'transaction.detail.requestApiTokenId')
      return holds(id !== '', id === '' ? 'no such member' : 'an id')
    },
  },
]

function actorsOf(events: readonly Json[], eventType: string, user: ProofUser): string[] {
  return events
    .filter((event) => event.eventType === eventType)
    .map(({ actor }) => {
      if (at(actor, 'type') === 'SystemPrincipal') return 'SystemPrincipal'
      return at(actor, 'id') === user.id ? 'the user' : 'someone else'
    })
}

const dtHashOf = (event: unknown) => textAt(event, 'debugContext.debugData.dtHash')
