import { type AuthnApi, sessionCookieIn } from '../authn.ts'
import { outcomeOf, type Reply } from '../caller.ts'
import { type Check, holds, type Need, notTestable, type Seen, unclear } from '../check.ts'
import type { Context } from '../context.ts'
import { type Json, textAt } from '../json.ts'
import { NotTestable } from '../not-testable.ts'
import type { NewUser, ProofUser } from '../org.ts'
import { carriesToken, oktaReplyIn } from '../portal.ts'

const FACTORS = ['EMAIL', 'SMS', 'CALL'] as const
type RecoveryFactor = (typeof FACTORS)[number]

const API_TOKEN = 'connect-your-okta-org.md#2-api-token'
const STATUSES = 'sandbox.md#behaviour-to-know'
const NOBODY_RECOVERS = 'the org lets no user recover a password by EMAIL'
export const NO_SESSION = 'the org gives no session for a session token, or does not show it'
const needsOf = (factor: RecoveryFactor): Need[] => (factor === 'EMAIL' ? ['mail'] : ['phone'])

/** A status, whether Okta recovers passwords in it, and how a user gets into it. */
interface State {
  readonly status: string
  readonly isRecoverable: boolean
  prepare(context: Context): Promise<ProofUser>
}

const STATES: readonly State[] = [
  {
    status: 'PASSWORD_EXPIRED',
    isRecoverable: true,
    prepare: (context) => after(context, 'expire_password'),
  },
  { status: 'STAGED', isRecoverable: false, prepare: (context) => withPhone(context, { activate: false }) },
  {
    status: 'PROVISIONED',
    isRecoverable: false,
    prepare: (context) => withPhone(context, { hasPassword: false }),
  },
  { status: 'SUSPENDED', isRecoverable: false, prepare: (context) => after(context, 'suspend') },
  {
    status: 'RECOVERY',
    isRecoverable: false,
    prepare: (context) => after(context, 'reset_password', '?sendEmail=false'),
  },
  {
    status: 'LOCKED_OUT',
    isRecoverable: false,
    async prepare(context) {
      const user = await withPhone(context)
      if (await lockOut(context, user)) return user
      throw new NotTestable('12 wrong passwords do not lock the user')
    },
  },
]

const withPhone = ({ org, target }: Context, more: NewUser = {}) =>
  org.createUser({ phone: target.phone, ...more })

async function after(context: Context, operation: string, query?: string): Promise<ProofUser> {
  const user = await withPhone(context)
  await context.org.lifecycle(user, operation, query)
  return user
}

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
  { name: 'email', what: 'a recovery email', needs: ['mail', 'inbox'], issue: mailedLink },
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

export const RECOVERY_CHECKS: readonly Check[] = [
  ...FACTORS.map(
    (factorType): Check => ({
      id: `R1.token-${factorType.toLowerCase()}`,
      belief: `A recovery by ${factorType} that is started with an API token is an administrator’s reset: the user is in RECOVERY and cannot sign in.`,
      where: API_TOKEN,
      change: 'Nothing: Gatehouse starts recoveries without the token in any case.',
      needs: needsOf(factorType),
      async run(context) {
        const { reply, before, after, signIn } = await recoveryStarted(context, factorType)
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
      belief: `A recovery by ${factorType} that a user starts through Gatehouse has no API token, and changes nothing until the user completes it.`,
      where: API_TOKEN,
      change: 'Set RECOVERY=off: any visitor could keep any user from signing in.',
      needs: needsOf(factorType),
      async run(context) {
        const { sent, reply, before, after, signIn } = await ownRecoveryStarted(context, factorType)
        if (reply === undefined) return unclear('Gatehouse sent nothing')
        if (reply.status >= 400) return notTestable(`the org refuses it: ${outcomeOf(reply)}`)
        return holds(
          !sent.some(carriesToken) && isSame(before, after) && signIn.body.status === 'SUCCESS',
          `${outcomeOf(reply)}; status ${before.status}, then ${after.status}; the old password: ${outcomeOf(signIn)}`,
        )
      },
    }),
  ),
  {
    id: 'R2',
    belief: 'Without an API token, a recovery without factorType is 403 E0000006.',
    where: API_TOKEN,
    change: 'Nothing: Gatehouse requires a factorType.',
    needs: [],
    async run({ org, authn }) {
      const { login: username } = await org.createUser()
      const { post } = authn.withoutToken
      const reply = await post('/recovery/password', { username })
      const named = await post('/recovery/password', { username: `not-${username}`, factorType: 'EMAIL' })
      return holds(
        outcomeOf(reply) === '403 E0000006' && named.status === 200,
        `${outcomeOf(reply)}; with it ${outcomeOf(named)}`,
      )
    },
  },
  ...STATES.flatMap((state): Check[] => {
    const { status, isRecoverable, prepare } = state
    const name = status.toLowerCase().replaceAll('_', '-')
    const can = isRecoverable ? 'can' : 'cannot'
    return [
      {
        id: `R4.${name}`,
        belief: `A user who is ${status} ${can} recover the password by EMAIL: ${isRecoverable ? 'a link arrives' : 'no link arrives'}, and the status stays.`,
        where: STATUSES,
        change: isRecoverable
          ? 'Let the page lead such users to the sign-in instead, which asks for a new password.'
          : 'Tell users and the service desk which messages to expect.',
        needs: ['mail', 'inbox'],
        async run(context) {
          const user = await prepare(context)
          const { reply, before, after } = await ownRecoveryOf(context, user, 'EMAIL')
          if (reply === undefined) return unclear('Gatehouse sent nothing')
          if (!isRecoverable && !(await canRecover(context))) return notTestable(NOBODY_RECOVERS)
          const message = await context.target.person?.inbox.next(user.login, 'mail')
          const hasLink = message?.link !== undefined
          const arrived = hasLink ? 'a link' : message ? 'a message without a link' : 'no message'
          return holds(
            isSame(before, after) && hasLink === isRecoverable,
            `${outcomeOf(reply)}; status ${before.status}, then ${after.status}; ${arrived}`,
          )
        },
      },
      {
        id: `R4.${name}-phone`,
        belief: `A user who is ${status} keeps the status after a recovery by SMS or CALL without an API token.`,
        where: STATUSES,
        change: 'Set RECOVERY=off: any visitor could keep such users from signing in.',
        needs: ['phone'],
        run: async (context) => byPhone(context, await prepare(context), isRecoverable),
      },
      {
        id: `R1.token-${name}`,
        belief: isRecoverable
          ? `A recovery with an API token puts a user who is ${status} into RECOVERY.`
          : `A recovery with an API token is refused for a user who is ${status}, and the status stays.`,
        where: API_TOKEN,
        change: 'Nothing: Gatehouse starts recoveries without the token in any case.',
        needs: ['mail', 'phone'],
        async run(context) {
          if (!isRecoverable && !(await canRecoverWithToken(context))) return notTestable(NOBODY_RECOVERS)
          return withToken(context, state)
        },
      },
    ]
  }),
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
      where: STATUSES,
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
    where: STATUSES,
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
    where: STATUSES,
    change: 'Nothing: Gatehouse sends none.',
    needs: [],
    async run({ authn, unique }) {
      const relayState = 'https://not-trusted.example.com/'
      const body = { username: `nobody-${unique()}@example.com`, factorType: 'EMAIL' }
      const reply = await authn.withoutToken.post('/recovery/password', { ...body, relayState })
      const none = await authn.withoutToken.post('/recovery/password', body)
      return holds(
        outcomeOf(reply) === '400 E0000001' && none.status === 200,
        `${outcomeOf(reply)}; without it ${outcomeOf(none)}`,
      )
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
  {
    id: 'U1',
    belief:
      'The open sign-in of a user who is suspended meanwhile ends (401 E0000011), and a recovery with the API token is refused (403 E0000034).',
    where: STATUSES,
    change: 'Report the codes, so that users get the right message.',
    needs: [],
    async run({ org, authn, openPortal }) {
      const user = await org.createPromptedUser('ALWAYS')
      const portal = await openPortal()
      const begun = await portal.signIn(user)
      if (begun.body.status !== 'MFA_REQUIRED') return notTestable(`no open sign-in: ${outcomeOf(begun)}`)
      await org.lifecycle(user, 'suspend')
      const state = await portal.step(begun, '')
      const recovery = await authn.post('/recovery/password', { username: user.login })
      return holds(
        outcomeOf(state) === '401 E0000011' && outcomeOf(recovery) === '403 E0000034',
        `sign-in ${outcomeOf(state)}; recovery ${outcomeOf(recovery)}`,
      )
    },
  },
]

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

function isSame(before: { status: string; passwordChanged: string }, after: typeof before): boolean {
  return before.status === after.status && before.passwordChanged === after.passwordChanged
}

async function createUserFor({ org, target }: Context, factorType: RecoveryFactor): Promise<ProofUser> {
  return org.createUser(factorType === 'EMAIL' ? {} : { phone: target.phone })
}

/** Directly, with the API token. */
async function recoveryStarted(context: Context, factorType: RecoveryFactor) {
  const { org, authn, phoneTurn } = context
  const user = await createUserFor(context, factorType)
  const before = await org.read(user)
  if (factorType !== 'EMAIL') await phoneTurn()
  const reply = await authn.post('/recovery/password', { username: user.login, factorType })
  return { reply, before, after: await org.read(user), signIn: await authn.signIn(user) }
}

/** By a user at the portal. */
async function ownRecoveryStarted(context: Context, factorType: RecoveryFactor) {
  const user = await createUserFor(context, factorType)
  const recovery = await ownRecoveryOf(context, user, factorType)
  return { ...recovery, signIn: await (await context.openPortal()).signIn(user) }
}

/** `reply`: the org's, as Gatehouse shows a refusal to nobody. */
async function ownRecoveryOf(context: Context, user: ProofUser, factorType: RecoveryFactor) {
  const { org, openPortal, phoneTurn } = context
  const before = await org.read(user)
  if (factorType !== 'EMAIL') await phoneTurn()
  const started = await startOwnRecovery(await openPortal(), user, factorType)
  return { sent: started.sent, reply: oktaReplyIn(started), before, after: await org.read(user) }
}

export function startOwnRecovery<Answer extends Reply>(
  api: AuthnApi<Answer>,
  { login }: ProofUser,
  factorType: RecoveryFactor,
): Promise<Answer> {
  return api.post('/recovery/password', { username: login, factorType })
}

/** A user who cannot recover gets no message, so nothing is waited for. */
async function byPhone(
  { org, authn, phoneTurn }: Context,
  user: ProofUser,
  isRecoverable: boolean,
): Promise<Seen> {
  const before = await org.read(user)
  const seen: string[] = []
  for (const factorType of ['SMS', 'CALL']) {
    if (isRecoverable) await phoneTurn()
    const body = { username: user.login, factorType }
    const reply = await authn.post('/recovery/password', body, { token: false })
    const after = await org.read(user)
    seen.push(`${factorType} ${outcomeOf(reply)}, then ${after.status}`)
    if (reply.status >= 400) return notTestable(`the org refuses it: ${seen.join('; ')}`)
    if (!isSame(before, after)) return holds(false, seen.join('; '))
  }
  return holds(true, seen.join('; '))
}

async function withToken(context: Context, { isRecoverable, prepare }: State): Promise<Seen> {
  const { org, authn, phoneTurn } = context
  const seen: string[] = []
  for (const factorType of FACTORS) {
    const user = await prepare(context)
    const before = await org.read(user)
    if (isRecoverable && factorType !== 'EMAIL') await phoneTurn()
    const reply = await authn.post('/recovery/password', { username: user.login, factorType })
    const after = await org.read(user)
    seen.push(`${factorType} ${outcomeOf(reply)}, ${before.status} then ${after.status}`)
    if (reply.status >= 500) return unclear(seen.join('; '))
    const isReset = reply.status < 400 && after.status === 'RECOVERY'
    const isRefused = reply.status >= 400 && isSame(before, after)
    if (isRecoverable ? !isReset : !isRefused) return holds(false, seen.join('; '))
  }
  return holds(true, seen.join('; '))
}

/** Redeems a recovery token, answers the question, and sets a new password. */
export async function resetByRecovery<Answer extends Reply>(
  api: AuthnApi<Answer>,
  user: ProofUser,
  body: { recoveryToken: string; options?: Json },
): Promise<Answer> {
  const redeemed = await api.post('/recovery/token', body)
  const answered = await answerIfAsked(api, redeemed, user)
  return api.step(answered, '/credentials/reset_password', { newPassword: `New-${user.password}` })
}

export async function answerIfAsked<Answer extends Reply>(
  api: AuthnApi<Answer>,
  redeemed: Answer,
  user: ProofUser,
): Promise<Answer> {
  if (redeemed.body.status !== 'RECOVERY') return redeemed
  return api.step(redeemed, '/recovery/answer', { answer: user.answer })
}

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

async function mailedLink({ org, openPortal, target }: Context) {
  const user = await org.createUser()
  await startOwnRecovery(await openPortal(), user, 'EMAIL')
  const message = await target.person?.inbox.next(user.login, 'mail')
  return { user, token: message?.link?.split(/[/=]/).at(-1) ?? '' }
}

/** Whether a user in the status ACTIVE gets a link: else nothing follows from other statuses. */
function canRecover(context: Context): Promise<boolean> {
  return context.once('own recovery by EMAIL', async () => (await mailedLink(context)).token !== '')
}

function canRecoverWithToken(context: Context): Promise<boolean> {
  return context.once('recovery by EMAIL with the API token', async () => {
    const { reply } = await recoveryStarted(context, 'EMAIL')
    return reply.status < 400
  })
}

/** The id of the user whose Okta session this cookie is; undefined: nobody's. */
export async function ownerOfSession(
  { authn }: Pick<Context, 'authn'>,
  cookie: string,
): Promise<string | undefined> {
  const { status, body } = await authn.browse('/api/v1/sessions/me', cookie)
  return status === 200 ? textAt(body, 'userId') : undefined
}

/** Signs in at the portal, and redeems the session token as the browser does. */
export async function openOktaSession(
  { authn, target, openPortal }: Pick<Context, 'authn' | 'target' | 'openPortal'>,
  user: ProofUser,
  cookie?: string,
) {
  const portal = await openPortal()
  const signIn = await portal.signIn(user)
  const path = await portal.redemption(signIn, `${target.orgUrl}/`)
  if (path === undefined) throw new Error(`Gatehouse leads to no redemption after ${outcomeOf(signIn)}`)
  const redeemed = await authn.browse(path, cookie)
  return { portal, path, redeemed, cookie: sessionCookieIn(redeemed) }
}
