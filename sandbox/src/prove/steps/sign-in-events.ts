import type { Reply } from '../caller.ts'
import type { Context } from '../context.ts'
import type { Json } from '../json.ts'
import { oktaReplyIn, type Portal } from '../portal.ts'

interface LoggedSignIn {
  readonly requestId: string | null
  readonly event: Json | undefined
}

/** A sign-in of a new user at the portal, and its event in the System Log. */
export async function eventOfSignIn(context: Context, portal?: Portal): Promise<LoggedSignIn> {
  const user = await context.org.createUser()
  const signIn = await (portal ?? (await context.openPortal())).signIn(user)
  return eventOf(context, oktaReplyIn(signIn))
}

export async function eventOf({ org }: Context, reply: Reply | undefined): Promise<LoggedSignIn> {
  const requestId = reply?.headers.get('x-okta-request-id') ?? null
  const events = requestId === null ? [] : await org.eventsOf(requestId)
  const isSignIn = ({ eventType }: Json) => eventType === 'user.session.start'
  return { requestId, event: events.find(isSignIn) ?? events[0] }
}
