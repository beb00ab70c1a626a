import { outcomeOf } from '../caller.ts'
import { type Check, holds, type Need, notTestable, type Seen, unclear } from '../check.ts'
import type { Context } from '../context.ts'
import { textAt } from '../json.ts'
import { NotTestable } from '../not-testable.ts'
import type { NewUser, ProofUser } from '../org.ts'
import { carriesToken, oktaReplyIn } from '../portal.ts'
import {
  lockOut,
  mailedLink,
  RECOVERY_FACTORS,
  type RecoveryFactor,
  startOwnRecovery,
} from '../steps/recoveries.ts'

const DAY_MINUTES = 24 * 60
const API_TOKEN = 'connect-your-okta-org.md#2-api-token'
const STATUSES = 'sandbox.md#behaviour-to-know'
const NOBODY_RECOVERS = 'the org lets no user recover a password by EMAIL'
const needsOf = (factor: RecoveryFactor): Need[] => (factor === 'EMAIL' ? ['mail'] : ['phone'])

/** A state of a user, whether Okta recovers passwords in it, and how a user gets into it. */
interface State {
  /** In ids. */
  readonly name: string
  /** `A user …` */
  readonly who: string
  readonly isRecoverable: boolean
  prepare(context: Context): Promise<ProofUser>
  /** Whose password policy applies. */
  readonly policy: 'org' | 'run'
}

/** Users under the same policy in no such state. */
const CONTROLS: Readonly<Record<State['policy'], State['prepare']>> = {
  org: ({ org }) => org.createUser(),
  run: ({ org }) => org.createUserWithMinimumAge(0),
}

const STATES: readonly State[] = [
  inStatus('PASSWORD_EXPIRED', (context) => after(context, 'expire_password'), true),
  inStatus('STAGED', (context) => withPhone(context, { activate: false })),
  inStatus('PROVISIONED', (context) => withPhone(context, { hasPassword: false })),
  inStatus('SUSPENDED', (context) => after(context, 'suspend')),
  inStatus('RECOVERY', (context) => after(context, 'reset_password', '?sendEmail=false')),
  inStatus('LOCKED_OUT', async (context) => {
    const user = await withPhone(context)
    if (await lockOut(context, user)) return user
    throw new NotTestable('12 wrong passwords do not lock the user')
  }),
  {
    name: 'too-young',
    who: 'whose password is younger than the policy’s minimum age',
    isRecoverable: false,
    prepare: ({ org, target }) => org.createUserWithMinimumAge(DAY_MINUTES, { phone: target.phone }),
    policy: 'run',
  },
]

function inStatus(status: string, prepare: State['prepare'], isRecoverable = false): State {
  const name = status.toLowerCase().replaceAll('_', '-')
  return { name, who: `who is ${status}`, isRecoverable, prepare, policy: 'org' }
}

function withPhone({ org, target }: Context, more: NewUser = {}): Promise<ProofUser> {
  return org.createUser({ phone: target.phone, ...more })
}

async function after(context: Context, operation: string, query?: string): Promise<ProofUser> {
  const user = await withPhone(context)
  await context.org.lifecycle(user, operation, query)
  return user
}

export const RECOVERY_START_CHECKS: readonly Check[] = [
  ...RECOVERY_FACTORS.map(
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
  ...RECOVERY_FACTORS.map(
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
    const { name, who, isRecoverable, prepare } = state
    const can = isRecoverable ? 'can' : 'cannot'
    return [
      {
        id: `R4.${name}`,
        belief: `A user ${who} ${can} recover the password by EMAIL: ${isRecoverable ? 'a link arrives' : 'no link arrives'}, and the status stays.`,
        where: STATUSES,
        change: isRecoverable
          ? 'Let the page lead such users to the sign-in instead, which asks for a new password.'
          : 'Tell users and the service desk which messages to expect.',
        needs: ['mail', 'inbox'],
        async run(context) {
          const user = await prepare(context)
          const { reply, before, after } = await ownRecoveryOf(context, user, 'EMAIL')
          if (reply === undefined) return unclear('Gatehouse sent nothing')
          if (!isRecoverable && !(await canRecover(context, state))) return notTestable(NOBODY_RECOVERS)
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
        belief: `A user ${who} keeps the status after a recovery by SMS or CALL without an API token.`,
        where: STATUSES,
        change: 'Set RECOVERY=off: any visitor could keep such users from signing in.',
        needs: ['phone'],
        run: async (context) => byPhone(context, await prepare(context), isRecoverable),
      },
      {
        id: `R1.token-${name}`,
        belief: isRecoverable
          ? `A recovery with an API token puts a user ${who} into RECOVERY.`
          : `A recovery with an API token is refused for a user ${who}, and the status stays.`,
        where: API_TOKEN,
        change: 'Nothing: Gatehouse starts recoveries without the token in any case.',
        needs: ['mail', 'phone'],
        async run(context) {
          if (!isRecoverable && !(await canRecoverWithToken(context, state)))
            return notTestable(NOBODY_RECOVERS)
          return withToken(context, state)
        },
      },
    ]
  }),
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

function isSame(before: { status: string; passwordChanged: string }, after: typeof before): boolean {
  return before.status === after.status && before.passwordChanged === after.passwordChanged
}

async function createUserFor({ org, target }: Context, factorType: RecoveryFactor): Promise<ProofUser> {
  return org.createUser(factorType === 'EMAIL' ? {} : { phone: target.phone })
}

/** Directly, with the API token. */
async function recoveryStarted(context: Context, factorType: RecoveryFactor, existing?: ProofUser) {
  const { org, authn, phoneTurn } = context
  const user = existing ?? (await createUserFor(context, factorType))
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
  for (const factorType of RECOVERY_FACTORS) {
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

/** Whether the control gets a link: else nothing follows from the state. */
function canRecover(context: Context, { policy }: State): Promise<boolean> {
  return context.once(`own recovery by EMAIL, policy of the ${policy}`, async () => {
    const { token } = await mailedLink(context, await CONTROLS[policy](context))
    return token !== ''
  })
}

function canRecoverWithToken(context: Context, { policy }: State): Promise<boolean> {
  return context.once(`recovery by EMAIL with the API token, policy of the ${policy}`, async () => {
    const { reply } = await recoveryStarted(context, 'EMAIL', await CONTROLS[policy](context))
    return reply.status < 400
  })
}
