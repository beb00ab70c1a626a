import { AUTHN } from '../authn.ts'
import { outcomeOf, type Reply } from '../caller.ts'
import { type Check, holds, type Need, notTestable } from '../check.ts'
import type { Context } from '../context.ts'
import { textAt } from '../json.ts'
import type { ProofUser } from '../org.ts'

const FACTORS = ['EMAIL', 'SMS', 'CALL'] as const
type RecoveryFactor = (typeof FACTORS)[number]

const API_TOKEN = 'connect-your-okta-org.md#2-api-token'
const needsOf = (factor: RecoveryFactor): Need[] => (factor === 'EMAIL' ? ['mail'] : ['phone'])

export const RECOVERY_CHECKS: readonly Check[] = [
  ...FACTORS.map(
    (factorType): Check => ({
      id: `R1.token-${factorType.toLowerCase()}`,
      belief: `A recovery by ${factorType} that is started with an API token is an administrator’s reset: the user is in RECOVERY and cannot sign in.`,
      where: API_TOKEN,
      change: 'Nothing: Gatehouse starts recoveries without the token in any case.',
      needs: needsOf(factorType),
      async run(context) {
        const { reply, before, after, signIn } = await recoveryStarted(context, factorType, true)
        if (reply.status >= 400) return notTestable(`the org refuses it: ${outcomeOf(reply)}`)
        return holds(
          after.status === 'RECOVERY' && signIn.status === 401,
          `${outcomeOf(reply)}; status ${before.status}, then ${after.status}; the old password: ${outcomeOf(signIn)}`,
        )
      },
    }),
  ),
  ...FACTORS.map(
    (factorType): Check => ({
      id: `R1.own-${factorType.toLowerCase()}`,
      belief: `A recovery by ${factorType} that is started without an API token changes nothing until the user completes it.`,
      where: API_TOKEN,
      change: 'Set RECOVERY=off: any visitor could keep any user from signing in.',
      needs: needsOf(factorType),
      async run(context) {
        const { reply, before, after, signIn } = await recoveryStarted(context, factorType, false)
        if (reply.status >= 400) return notTestable(`the org refuses it: ${outcomeOf(reply)}`)
        return holds(
          isSame(before, after) && signIn.body.status === 'SUCCESS',
          `${outcomeOf(reply)}; status ${before.status}, then ${after.status}; the old password: ${outcomeOf(signIn)}`,
        )
      },
    }),
  ),
  {
    id: 'R1.gatehouse',
    belief:
      'A recovery by EMAIL that is started through Gatehouse changes nothing until the user completes it.',
    where: API_TOKEN,
    change: 'Set RECOVERY=off, and report it: any visitor could keep any user from signing in.',
    needs: ['mail'],
    async run({ org, authn, gatehouse }) {
      const user = await org.createUser()
      const before = await org.read(user)
      const browser = gatehouse.newBrowser()
      await browser({ method: 'GET', path: '/api/v1/sessions/me' })
      const reply = await browser({
        method: 'POST',
        path: `${AUTHN}/recovery/password`,
        body: { username: user.login, factorType: 'EMAIL' },
      })
      const after = await org.read(user)
      const signIn = await authn.signIn(user)
      return holds(
        reply.status === 200 && isSame(before, after) && signIn.body.status === 'SUCCESS',
        `${outcomeOf(reply)}; status ${after.status}; the old password: ${outcomeOf(signIn)}`,
      )
    },
  },
  {
    id: 'R2',
    belief: 'Without an API token, a recovery without factorType is 403 E0000006.',
    where: API_TOKEN,
    change: 'Nothing: Gatehouse requires a factorType.',
    needs: [],
    async run({ org, authn }) {
      const user = await org.createUser()
      const reply = await authn.post('/recovery/password', { username: user.login }, { token: false })
      return holds(outcomeOf(reply) === '403 E0000006', outcomeOf(reply))
    },
  },
  ...Object.entries(notRecoverable()).map(
    ([status, prepare]): Check => ({
      id: `R4.${status.toLowerCase().replaceAll('_', '-')}`,
      belief: `A user who is ${status} cannot recover the password: the status stays, and no link arrives.`,
      where: 'sandbox.md#behaviour-to-know',
      change: 'Tell users and the service desk which messages to expect.',
      needs: ['mail', 'inbox'],
      run: (context) => refusedRecovery(context, prepare),
    }),
  ),
  {
    id: 'R4.password-expired',
    belief: 'A user whose password has expired can recover it.',
    where: 'sandbox.md#behaviour-to-know',
    change: 'Let the page lead such users to the sign-in instead, which asks for a new password.',
    needs: ['mail', 'inbox'],
    async run({ org, authn, target }) {
      const user = await org.createUser()
      await org.lifecycle(user, 'expire_password')
      await authn.post('/recovery/password', { username: user.login, factorType: 'EMAIL' }, { token: false })
      const message = await target.inbox?.next(user.login, 'mail')
      return holds(message?.link !== undefined, message === undefined ? 'no message' : 'a message')
    },
  },
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
      if (cookie === undefined) return notTestable('the org gives no session cookie for a session token')
      const reset = await resetByRecovery(context, await org.recoveryToken(user), user)
      const session = await context.authn.browse('/api/v1/sessions/me', cookie)
      return holds(
        reset.status === 200 && session.status === 404,
        `reset ${outcomeOf(reset)}; session ${session.status}`,
      )
    },
  },
  {
    id: 'R6',
    belief: 'A recovery token can be redeemed again until the password is set, and not after it.',
    where: 'sandbox.md#behaviour-to-know',
    change: 'Tell users not to reload the page with the link.',
    needs: [],
    async run(context) {
      const { seen, statuses } = await redemptions(context)
      return holds(statuses[0] === 200 && statuses[1] === 200 && Number(statuses[2]) >= 400, seen)
    },
  },
  {
    id: 'R7',
    belief: 'A used link is 403 E0000105 or E0000006.',
    where: 'build-your-sign-in-page.md#errors',
    change: 'Report the code, so that users get the right message.',
    needs: [],
    async run(context) {
      const { last } = await redemptions(context)
      return holds(['403 E0000105', '403 E0000006'].includes(outcomeOf(last)), outcomeOf(last))
    },
  },
  {
    id: 'R8',
    belief: 'Wrong recovery answers lock the user, at the fifth one.',
    where: 'sandbox.md#behaviour-to-know',
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
    id: 'R9',
    belief: 'A recovery finds the user by the secondary email, too.',
    where: 'security.md#throttling',
    change: 'Nothing: limits count each typed name.',
    needs: [],
    async run({ org, authn }) {
      const user = await org.createUser()
      const reply = await authn.post('/recovery/password', { username: user.secondEmail })
      const found = textAt(reply.body, '_embedded.user.id')
      return holds(found === user.id, found === user.id ? 'the user was found' : outcomeOf(reply))
    },
  },
  {
    id: 'R10',
    belief: 'In recovery, a relayState that is not a Trusted Origin is 400 E0000001.',
    where: 'sandbox.md#behaviour-to-know',
    change: 'Nothing: Gatehouse sends none.',
    needs: [],
    async run({ authn, unique }) {
      const relayState = 'https://not-trusted.example.com/'
      const body = { username: `nobody-${unique()}@example.com`, factorType: 'EMAIL', relayState }
      const reply = await authn.post('/recovery/password', body, { token: false })
      return holds(outcomeOf(reply) === '400 E0000001', outcomeOf(reply))
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
    async run({ org, authn, target }) {
      const user = await org.createUser()
      await authn.post('/recovery/password', { username: user.login, factorType: 'EMAIL' }, { token: false })
      const message = await target.inbox?.next(user.login, 'mail')
      const recoveryToken = message?.link?.split(/[/=]/).at(-1)
      if (recoveryToken === undefined) return notTestable('no link arrived')
      const reply = await authn.post('/recovery/token', { recoveryToken }, { token: false })
      return holds(reply.status === 200, `what the link ends with: ${outcomeOf(reply)}`)
    },
  },
  {
    id: 'U1',
    belief:
      'The open sign-in of a user who is suspended meanwhile ends (401 E0000011), and a recovery with the API token is refused (403 E0000034).',
    where: 'sandbox.md#behaviour-to-know',
    change: 'Report the codes, so that users get the right message.',
    needs: [],
    async run({ org, authn }) {
      const user = await org.createPromptedUser('ALWAYS')
      const begun = await authn.signIn(user)
      await org.lifecycle(user, 'suspend')
      const state = await authn.step(begun, '')
      const recovery = await authn.post('/recovery/password', { username: user.login })
      return holds(
        outcomeOf(state) === '401 E0000011' && outcomeOf(recovery) === '403 E0000034',
        `sign-in ${outcomeOf(state)}; recovery ${outcomeOf(recovery)}`,
      )
    },
  },
]

/** Brings a user into a status in which Okta recovers no password. */
type Prepare = (context: Context) => Promise<ProofUser>

function notRecoverable(): Readonly<Record<string, Prepare>> {
  return {
    STAGED: ({ org }) => org.createUser({ activate: false }),
    PROVISIONED: ({ org }) => org.createUser({ hasPassword: false }),
    SUSPENDED: ({ org }) => inStatus(org, 'suspend'),
    RECOVERY: ({ org }) => inStatus(org, 'reset_password', '?sendEmail=false'),
    LOCKED_OUT: async ({ org, authn }) => {
      const user = await org.createUser()
      await lockOut({ org, authn }, user)
      return user
    },
  }
}

async function inStatus(org: Context['org'], operation: string, query?: string): Promise<ProofUser> {
  const user = await org.createUser()
  await org.lifecycle(user, operation, query)
  return user
}

/** Wrong passwords until the org locks the user; false if it does not. */
export async function lockOut(
  { org, authn }: Pick<Context, 'org' | 'authn'>,
  user: ProofUser,
): Promise<boolean> {
  for (let count = 1; count <= 12; count += 1) {
    await authn.signIn({ ...user, password: `Wrong-Password-${count}` })
    if ((await org.read(user)).status === 'LOCKED_OUT') return true
  }
  return false
}

async function recoveryStarted({ org, authn, target }: Context, factorType: RecoveryFactor, token: boolean) {
  const user = await org.createUser(factorType === 'EMAIL' ? {} : { phone: target.phone })
  const before = await org.read(user)
  const reply = await authn.post('/recovery/password', { username: user.login, factorType }, { token })
  const after = await org.read(user)
  const signIn = await authn.signIn(user)
  return { reply, before, after, signIn }
}

function isSame(before: { status: string; passwordChanged: string }, after: typeof before): boolean {
  return before.status === after.status && before.passwordChanged === after.passwordChanged
}

async function refusedRecovery(context: Context, prepare: Prepare) {
  const { org, authn, target } = context
  const user = await prepare(context)
  const before = await org.read(user)
  const body = { username: user.login, factorType: 'EMAIL' }
  const reply = await authn.post('/recovery/password', body, { token: false })
  const after = await org.read(user)
  const message = await target.inbox?.next(user.login, 'mail')
  const arrived =
    message === undefined ? 'no message' : message.link === undefined ? 'a message without a link' : 'a link'
  return holds(
    before.status === after.status && message?.link === undefined,
    `${outcomeOf(reply)}; status ${before.status}, then ${after.status}; ${arrived}`,
  )
}

/** Redeems a recovery token, answers the question, and sets a new password. */
export async function resetByRecovery(
  { authn, unique }: Pick<Context, 'authn' | 'unique'>,
  recoveryToken: string,
  user: ProofUser,
  options = {},
): Promise<Reply> {
  const redeemed = await authn.post('/recovery/token', { recoveryToken, options }, { token: false })
  const answered = await answerIfAsked(authn, redeemed, user)
  const newPassword = `New-${unique()}`
  return authn.step(answered, '/credentials/reset_password', { newPassword }, { token: false })
}

export async function answerIfAsked(
  authn: Context['authn'],
  redeemed: Reply,
  user: ProofUser,
): Promise<Reply> {
  if (redeemed.body.status !== 'RECOVERY') return redeemed
  return authn.step(redeemed, '/recovery/answer', { answer: user.answer }, { token: false })
}

/** Twice before the reset, and once after it. */
async function redemptions(context: Context) {
  const { org, authn } = context
  const user = await org.createUser()
  const recoveryToken = await org.recoveryToken(user)
  const redeem = () => authn.post('/recovery/token', { recoveryToken }, { token: false })
  const first = await redeem()
  const second = await redeem()
  const reset = await resetByRecovery(context, recoveryToken, user)
  const last = await redeem()
  const statuses = [first, second, last].map(({ status }) => status)
  return {
    last,
    statuses,
    seen: `${statuses[0]}, ${statuses[1]}; reset ${outcomeOf(reset)}; then ${outcomeOf(last)}`,
  }
}

/** Signs in, and redeems the session token as a browser does. */
export async function openOktaSession(
  { authn, target }: Pick<Context, 'authn' | 'target'>,
  user: ProofUser,
  cookie?: string,
) {
  const signIn = await authn.signIn(user)
  const query = new URLSearchParams({
    token: textAt(signIn.body, 'sessionToken'),
    redirectUrl: `${target.orgUrl}/`,
  })
  const redeemed = await authn.browse(`/login/sessionCookieRedirect?${query}`, cookie)
  const set = redeemed.headers.getSetCookie().map((line) => line.split(';')[0] ?? '')
  return { redeemed, cookie: set.find((pair) => /^sid=./.test(pair)) }
}
