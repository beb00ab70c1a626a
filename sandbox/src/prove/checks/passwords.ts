import { readOktaError } from 'gatehouse/broker'
import { outcomeOf, type Reply } from '../caller.ts'
import { type Check, holds, notTestable, unclear } from '../check.ts'
import type { Context } from '../context.ts'
import { at, listOf, textAt } from '../json.ts'
import type { ProofUser } from '../org.ts'
import { oktaReplyIn, type PortalReply } from '../portal.ts'
import { answerIfAsked, lockOut } from '../steps/recoveries.ts'

const DAY_MINUTES = 24 * 60
const ERRORS = 'build-your-sign-in-page.md#errors'

/** A kind of wrong password, and the message that users are to get. */
type Wrong = {
  id: string
  what: string
  operation: string
  message: string
  provoke(context: Context): Promise<(Reply & { how?: string }) | undefined>
}

const WRONG: readonly Wrong[] = [
  {
    id: 'S2',
    what: 'A wrong password',
    operation: 'primary',
    message: 'wrongCredentials',
    async provoke({ org, openPortal }) {
      const user = await org.createUser()
      const portal = await openPortal()
      if ((await portal.signIn(user)).status !== 200) return undefined
      return portal.signIn({ ...user, password: 'Wrong-Password-1' })
    },
  },
  {
    id: 'S2.unknown',
    what: 'An unknown user name',
    operation: 'primary',
    message: 'wrongCredentials',
    provoke: async ({ openPortal, unique }) =>
      (await openPortal()).signIn({ login: `nobody-${unique()}@example.com`, password: 'Wrong-Password-1' }),
  },
  {
    id: 'S2.suspended',
    what: 'The correct password of a suspended user',
    operation: 'primary',
    message: 'wrongCredentials',
    async provoke({ org, openPortal }) {
      const user = await org.createUser()
      await org.lifecycle(user, 'suspend')
      return (await openPortal()).signIn(user)
    },
  },
  {
    id: 'S2.staged',
    what: 'The correct password of a user who is not activated',
    operation: 'primary',
    message: 'wrongCredentials',
    provoke: async ({ org, openPortal }) =>
      (await openPortal()).signIn(await org.createUser({ activate: false })),
  },
  {
    id: 'S5.message',
    what: 'A wrong old password',
    operation: 'change_password',
    message: 'wrongOldPassword',
    provoke: (context) => changedPassword(context, { oldPassword: 'Wrong-Password-1' }),
  },
  {
    id: 'S7.change',
    what: 'A new password that breaks the rules, in a change,',
    operation: 'change_password',
    message: 'passwordRules',
    provoke: (context) => changedPassword(context, { newPassword: 'short' }),
  },
  {
    id: 'S7.age',
    what: 'A new password, while the old one is younger than the policy’s minimum age,',
    operation: 'change_password',
    message: 'passwordTooNew',
    async provoke(context) {
      const user = await context.org.createUserWithMinimumAge(DAY_MINUTES)
      const reply = await changedPassword(context, {}, user)
      if (reply !== undefined && reply.status >= 400) return reply
      // the org may let users change an expired password at any age
      const changed = { ...user, password: reply === undefined ? user.password : `New-${user.password}` }
      const strict = await context.org.changePassword(changed, `Other-${user.password}`)
      return strict.status >= 400 ? { ...strict, how: ', to an administrator' } : undefined
    },
  },
  {
    id: 'S7',
    what: 'A new password that breaks the rules, in a reset,',
    operation: 'reset_password',
    message: 'passwordRules',
    async provoke({ org, openPortal }) {
      const user = await org.createUser()
      const portal = await openPortal()
      const redeemed = await portal.post('/recovery/token', { recoveryToken: await org.recoveryToken(user) })
      const answered = await answerIfAsked(portal, redeemed, user)
      return portal.step(answered, '/credentials/reset_password', { newPassword: 'short' })
    },
  },
]

export const PASSWORD_CHECKS: readonly Check[] = [
  ...WRONG.map(
    ({ id, what, operation, message, provoke }): Check => ({
      id,
      belief: `${what} gets an error that Gatehouse and its client show as “${message}”.`,
      where: ERRORS,
      change: 'Report the code and the text, so that users get the right message.',
      needs: [],
      async run(context) {
        const reply = await provoke(context)
        if (reply === undefined) return notTestable('the org does not lead there')
        const { how = '' } = reply
        const understood = messageOf(reply, operation)
        return holds(
          understood === message,
          `${outcomeOf(reply)} “${textsOf(reply)}”${how}, shown as “${understood}”`,
        )
      },
    }),
  ),
  {
    id: 'S5',
    belief: 'A wrong old password is 400 with the text “Old password is not correct”.',
    where: ERRORS,
    change: 'Nothing, if S5.message is proved.',
    needs: [],
    async run(context) {
      const reply = await changedPassword(context, { oldPassword: 'Wrong-Password-1' })
      if (reply === undefined) return notTestable('the password does not expire')
      const seen = `${outcomeOf(reply)} “${textsOf(reply)}”`
      return holds(reply.status === 400 && /old password is not correct/i.test(textsOf(reply)), seen)
    },
  },
  {
    id: 'S6',
    belief: 'The texts of errors of this org are English.',
    where: 'connect-your-okta-org.md#language-of-the-brand',
    change: 'Set the language of the brand to English: some messages are told apart by their text only.',
    needs: [],
    async run({ org, authn }) {
      const reply = await authn.signIn({ ...(await org.createUser()), password: 'Wrong-Password-1' })
      return holds(/authentication failed|username|password/i.test(textsOf(reply)), `“${textsOf(reply)}”`)
    },
  },
  {
    id: 'S1',
    belief: 'LOCKED_OUT, where the policy shows it, has a link to cancel and no state token.',
    where: 'build-your-sign-in-page.md#each-status',
    change: 'Report it: a page could not leave the status.',
    needs: [],
    async run(context) {
      const user = await context.org.createUser()
      if (!(await lockOut(context, user))) return notTestable('12 wrong passwords do not lock the user')
      // Gatehouse shows such an answer without its links
      const reply = oktaReplyIn(await (await context.openPortal()).signIn(user))
      if (reply === undefined) return unclear('Gatehouse sent nothing')
      if (reply.body.status !== 'LOCKED_OUT')
        return notTestable(`the policy does not show it: ${outcomeOf(reply)}`)
      const hasCancel = at(reply.body, '_links.cancel') !== undefined
      const hasToken = reply.body.stateToken !== undefined
      return holds(hasCancel && !hasToken, `cancel: ${hasCancel}, state token: ${hasToken}`)
    },
  },
]

/** A change of an expired password at the portal; undefined if it does not expire. */
async function changedPassword(
  { org, openPortal }: Context,
  fields: { oldPassword?: string; newPassword?: string },
  existing?: ProofUser,
): Promise<PortalReply | undefined> {
  const user = existing ?? (await org.createUser())
  await org.lifecycle(user, 'expire_password')
  const portal = await openPortal()
  const begun = await portal.signIn(user)
  if (begun.body.status !== 'PASSWORD_EXPIRED') return undefined
  const body = { oldPassword: user.password, newPassword: `New-${user.password}`, ...fields }
  return portal.step(begun, '/credentials/change_password', body)
}

/** The key of the message that Gatehouse's table, and with it the client's, has for an error. */
export function messageOf({ status, body }: Reply, operation: string): string {
  return readOktaError({ status, errorCode: textAt(body, 'errorCode'), body }, operation).message
}

function textsOf({ body }: Reply): string {
  const causes = listOf(body.errorCauses).map((cause) => textAt(cause, 'errorSummary'))
  return [textAt(body, 'errorSummary'), ...causes].join(' / ')
}
