import { outcomeOf } from '../caller.ts'
import { type Check, holds, type Need, notTestable, unclear } from '../check.ts'
import type { Context } from '../context.ts'
import type { ProofUser } from '../org.ts'
import { NO_SESSION, openOktaSession, ownerOfSession } from '../steps/okta-sessions.ts'
import { mailedLink, resetByRecovery } from '../steps/recoveries.ts'

const API_TOKEN = 'connect-your-okta-org.md#2-api-token'
const RECOVERY = 'sandbox.md#behaviour-to-know'

/** How a token gets to a user. */
interface Link {
  readonly name?: string
  readonly what: string
  readonly needs: readonly Need[]
  /** An empty token: no link arrived. */
  issue(context: Context): Promise<{ user: ProofUser; token: string }>
}

const LINKS: readonly Link[] = [
  { what: 'a user’s own recovery', needs: [], issue: ownLink },
  {
    name: 'email',
    what: 'a recovery email',
    needs: ['mail', 'inbox'],
    issue: (context) => mailedLink(context),
  },
  {
    name: 'administrator',
    what: 'an administrator’s reset',
    needs: [],
    async issue({ org }) {
      const user = await org.createUser()
      return { user, token: await org.resetToken(user) }
    },
  },
  {
    name: 'activation',
    what: 'an activation',
    needs: [],
    async issue({ org }) {
      const user = await org.createUser({ activate: false, hasPassword: false })
      return { user, token: await org.activationToken(user) }
    },
  },
]

export const RECOVERY_LINK_CHECKS: readonly Check[] = [
  {
    id: 'R5',
    belief: 'A completed reset of a forgotten password ends all Okta sessions of the user.',
    where: 'connect-your-okta-org.md#10-ending-sessions',
    change: 'Clear the sessions of users who recovered a password at the org.',
    needs: [],
    async run(context) {
      const { org } = context
      const user = await org.createUser()
      const { cookie } = await openOktaSession(context, user)
      if (cookie === undefined || (await ownerOfSession(context, cookie)) !== user.id)
        return notTestable(NO_SESSION)
      const recoveryToken = await org.recoveryToken(user)
      const reset = await resetByRecovery(await context.openPortal(), user, { recoveryToken })
      if (reset.status !== 200) return unclear(`reset ${outcomeOf(reset)}`)
      const session = await context.authn.browse('/api/v1/sessions/me', cookie)
      return holds(session.status === 404, `reset ${outcomeOf(reset)}; session ${session.status}`)
    },
  },
  ...LINKS.map(
    ({ name, what, needs, issue }): Check => ({
      id: name === undefined ? 'R6' : `R6.${name}`,
      belief: `The token of ${what} can be redeemed again until the password is set, and not after it.`,
      where: RECOVERY,
      change: 'Tell users not to reload the page with the link.',
      needs,
      async run(context) {
        const redeemed = await redemptions(context, issue)
        if (redeemed === undefined) return notTestable('no link arrived')
        const [first, second, last] = redeemed.replies
        if (redeemed.reset.status !== 200) return unclear(redeemed.seen)
        return holds(
          first?.status === 200 && second?.status === 200 && Number(last?.status) >= 400,
          redeemed.seen,
        )
      },
    }),
  ),
  {
    id: 'R7',
    belief: 'A used link is 403 E0000105 or E0000006.',
    where: 'build-your-sign-in-page.md#errors',
    change: 'Report the code, so that users get the right message.',
    needs: [],
    async run(context) {
      const redeemed = await redemptions(context, ownLink)
      if (redeemed?.reset.status !== 200) return unclear(redeemed?.seen ?? 'no link')
      const [last = ''] = redeemed.replies.slice(-1).map(outcomeOf)
      return holds(['403 E0000105', '403 E0000006'].includes(last), last)
    },
  },
  {
    id: 'R8',
    belief: 'Wrong recovery answers lock the user, at the fifth one.',
    where: RECOVERY,
    change: 'Set the limit on recovery answers below what was seen.',
    needs: [],
    async run({ org, authn }) {
      const user = await org.createUser()
      const recoveryToken = await org.recoveryToken(user)
      const redeemed = await authn.post('/recovery/token', { recoveryToken }, { token: false })
      if (redeemed.body.status !== 'RECOVERY')
        return notTestable(`no question is asked: ${outcomeOf(redeemed)}`)
      for (let count = 1; count <= 8; count += 1) {
        await authn.step(redeemed, '/recovery/answer', { answer: `wrong answer ${count}` }, { token: false })
        const { status } = await org.read(user)
        if (status === 'LOCKED_OUT') return holds(count === 5, `locked at answer ${count}`)
      }
      return holds(false, 'not locked after 8 wrong answers')
    },
  },
  {
    id: 'R13',
    belief: 'A recovery token can be redeemed with `context`.',
    where: API_TOKEN,
    change: 'Nothing: Gatehouse sends the context at primary authentication only.',
    needs: [],
    async run({ org, authn, unique }) {
      const recoveryToken = await org.recoveryToken(await org.createUser())
      const reply = await authn.post('/recovery/token', { recoveryToken, context: { deviceToken: unique() } })
      return holds(reply.status === 200, outcomeOf(reply))
    },
  },
  {
    id: 'M1',
    belief: 'The link in a recovery email ends with the recovery token.',
    where: 'connect-your-okta-org.md#6-email-templates',
    change: 'Edit the email template so that the link ends with the token.',
    needs: ['mail', 'inbox'],
    async run(context) {
      const { token } = await mailedLink(context)
      if (token === '') return notTestable('no link arrived')
      const reply = await (await context.openPortal()).post('/recovery/token', { recoveryToken: token })
      return holds(reply.status === 200, `what the link ends with: ${outcomeOf(reply)}`)
    },
  },
]

/** Twice before the reset, and once after it. Undefined: no link arrived. */
async function redemptions(context: Context, issue: Link['issue']) {
  const { user, token: recoveryToken } = await issue(context)
  if (recoveryToken === '') return undefined
  const redeem = async () => (await context.openPortal()).post('/recovery/token', { recoveryToken })
  const first = await redeem()
  const second = await redeem()
  const reset = await resetByRecovery(await context.openPortal(), user, { recoveryToken })
  const replies = [first, second, await redeem()]
  const [one, two, last] = replies.map(outcomeOf)
  return { reset, replies, seen: `${one}, ${two}; reset ${outcomeOf(reset)}; then ${last}` }
}

async function ownLink({ org }: Context) {
  const user = await org.createUser()
  return { user, token: await org.recoveryToken(user) }
}
