import { nextTotpCode } from '../../authn/factors/otp.ts'
import { factorIdIn } from '../authn.ts'
import type { Reply } from '../caller.ts'
import type { Need } from '../check.ts'
import type { Context } from '../context.ts'
import { at, textAt } from '../json.ts'
import type { ProofUser } from '../org.ts'
import { answerIfAsked, lockOut, startOwnRecovery } from '../steps/recoveries.ts'
import { answerQuestion, optionalEnrollment } from '../steps/sign-ins.ts'

/** A step that is sent without the API token, after what leads to it. */
export interface Step {
  /** Of Gatehouse's operations (src/authn/operations.ts). */
  readonly operation: string
  /** One of several ways to use it. */
  readonly variant?: string
  readonly what: string
  readonly needs?: readonly Need[]
  /** Undefined: the org does not lead there. */
  send(context: Context): Promise<Reply | undefined>
}

const PUBLIC = { token: false } as const

const IN_SIGN_IN: readonly Step[] = [
  {
    operation: 'authenticate',
    what: 'primary authentication',
    send: async ({ org, authn }) => authn.signIn(await org.createUser(), {}, PUBLIC),
  },
  {
    operation: 'authenticate',
    variant: 'state',
    what: 'the state of a transaction',
    send: (context) => inSignIn(context, ''),
  },
  { operation: 'introspect', what: 'introspection', send: (context) => inSignIn(context, '/introspect') },
  { operation: 'cancel', what: 'cancelling', send: (context) => inSignIn(context, '/cancel') },
  {
    operation: 'verifyFactor',
    what: 'an answer to a security question',
    async send({ org, authn }) {
      const user = await org.createPromptedUser('ALWAYS')
      return answerQuestion(authn.withoutToken, await authn.signIn(user), user)
    },
  },
  {
    operation: 'previous',
    what: 'going back',
    async send({ org, authn }) {
      const begun = await authn.signIn(await org.createPromptedUser('ALWAYS'))
      await authn.step(begun, `/factors/${factorIdIn(begun, 'question')}/verify`)
      return authn.withoutToken.step(begun, '/previous')
    },
  },
  {
    operation: 'resendChallenge',
    what: 'another email with a code',
    needs: ['mail'],
    async send({ org, authn }) {
      const begun = await authn.signIn(await org.createPromptedUser('ALWAYS', 'email'))
      const path = `/factors/${factorIdIn(begun, 'email')}/verify`
      const sent = await authn.step(begun, path)
      return sent.status === 200 ? authn.withoutToken.step(begun, `${path}/resend`) : undefined
    },
  },
  {
    operation: 'skip',
    what: 'skipping an optional enrollment',
    async send(context) {
      const { withoutToken } = context.authn
      const offered = await optionalEnrollment(context, withoutToken)
      if (at(offered.body, '_links.skip') === undefined) return undefined
      return withoutToken.step(offered, '/skip')
    },
  },
  {
    operation: 'changePassword',
    what: 'changing an expired password',
    async send({ org, authn, unique }) {
      const user = await org.createUser()
      await org.lifecycle(user, 'expire_password')
      const begun = await authn.signIn(user)
      if (begun.body.status !== 'PASSWORD_EXPIRED') return undefined
      const body = { oldPassword: user.password, newPassword: `New-${unique()}` }
      return authn.withoutToken.step(begun, '/credentials/change_password', body)
    },
  },
]

const IN_ENROLLMENT: readonly Step[] = [
  {
    operation: 'enrollFactor',
    what: 'setting up a security question',
    async send(context) {
      const { begun } = await enrollment(context)
      const profile = { question: 'first_award', answer: context.unique() }
      const body = { factorType: 'question', provider: 'OKTA', profile }
      return begun && context.authn.withoutToken.step(begun, '/factors', body)
    },
  },
  {
    operation: 'activateFactor',
    what: 'the first code of an authenticator app',
    async send(context) {
      const enrolled = await enrolledApp(context)
      const secret = textAt(enrolled?.body, '_embedded.factor._embedded.activation.sharedSecret')
      if (enrolled === undefined || secret === '') return undefined
      const path = `/factors/${factorIdIn(enrolled, 'token:software:totp')}/lifecycle/activate`
      const passCode = nextTotpCode({ secret, nowMs: context.now() })
      return context.authn.withoutToken.step(enrolled, path, { passCode })
    },
  },
  {
    operation: 'resendActivation',
    what: 'another text message with the code that sets up the phone',
    needs: ['phone'],
    async send(context) {
      const { authn, phoneTurn, target } = context
      const { begun } = await enrollment(context)
      await phoneTurn()
      const body = { factorType: 'sms', provider: 'OKTA', profile: { phoneNumber: target.phone } }
      const enrolled = begun && (await authn.step(begun, '/factors', body))
      if (enrolled?.body.status !== 'MFA_ENROLL_ACTIVATE') return undefined
      return authn.withoutToken.step(enrolled, `/factors/${factorIdIn(enrolled, 'sms')}/lifecycle/resend`)
    },
  },
  {
    operation: 'getEnrollmentPicture',
    what: 'the QR code of an authenticator app',
    async send(context) {
      const enrolled = await enrolledApp(context)
      const href = textAt(enrolled?.body, '_embedded.factor._embedded.activation._links.qrcode.href')
      return href === '' ? undefined : context.authn.get(new URL(href).pathname, PUBLIC)
    },
  },
  {
    operation: 'listSecurityQuestions',
    what: 'the list of security questions',
    async send(context) {
      const { begun } = await enrollment(context)
      return begun && context.authn.get(questionsPath(begun), PUBLIC)
    },
  },
  {
    operation: 'pollActivation',
    what: 'asking whether Okta Verify is set up',
    send: (context) => inPushEnrollment(context, ({ factor }) => `${factor}/activate/poll`),
  },
  {
    operation: 'mailActivationLink',
    what: 'a link that sets up Okta Verify, by email',
    needs: ['mail'],
    send: (context) => inPushEnrollment(context, ({ factor }) => `${factor}/activate/email`),
  },
  {
    operation: 'textActivationLink',
    what: 'a link that sets up Okta Verify, by text message',
    needs: ['phone'],
    send: (context) => byPhone(context, ({ factor }) => `${factor}/activate/sms`),
  },
  {
    operation: 'activateUserFactor',
    what: 'asking whether Okta Verify is set up, below the user',
    send: (context) => inPushEnrollment(context, ({ userFactor }) => `${userFactor}/activate`),
  },
  {
    operation: 'mailUserActivationLink',
    what: 'a link that sets up Okta Verify, by email, below the user',
    needs: ['mail'],
    send: (context) => inPushEnrollment(context, ({ userFactor }) => `${userFactor}/activate/email`),
  },
  {
    operation: 'textUserActivationLink',
    what: 'a link that sets up Okta Verify, by text message, below the user',
    needs: ['phone'],
    send: (context) => byPhone(context, ({ userFactor }) => `${userFactor}/activate/sms`),
  },
]

const IN_RECOVERY: readonly Step[] = [
  {
    operation: 'recoverPassword',
    what: 'starting a recovery by email',
    needs: ['mail'],
    send: async ({ org, authn }) => startOwnRecovery(authn.withoutToken, await org.createUser(), 'EMAIL'),
  },
  {
    operation: 'unlockAccount',
    what: 'starting to unlock an account by email',
    needs: ['mail'],
    async send(context) {
      const user = await context.org.createUser()
      if (!(await lockOut(context, user))) return undefined
      const body = { username: user.login, factorType: 'EMAIL' }
      return context.authn.withoutToken.post('/recovery/unlock', body)
    },
  },
  {
    operation: 'redeemRecoveryToken',
    what: 'redeeming the token of a recovery',
    send: async (context) => (await redeemed(context)).reply,
  },
  {
    operation: 'answerRecoveryQuestion',
    what: 'the answer to the recovery question',
    async send(context) {
      const { user, reply } = await redeemed(context)
      if (reply.body.status !== 'RECOVERY') return undefined
      return answerIfAsked(context.authn.withoutToken, reply, user)
    },
  },
  {
    operation: 'resetPassword',
    what: 'the new password of a recovery',
    async send(context) {
      const { withoutToken } = context.authn
      const { user, reply } = await redeemed(context)
      const answered = await answerIfAsked(withoutToken, reply, user)
      const newPassword = `New-${context.unique()}`
      return withoutToken.step(answered, '/credentials/reset_password', { newPassword })
    },
  },
  {
    operation: 'verifyRecoveryFactor',
    what: 'the code of a recovery',
    needs: ['phone', 'inbox'],
    async send(context) {
      const { authn, target } = context
      const { user, reply } = await textedRecovery(context)
      const passCode = (await target.person?.inbox.next(user.login, 'sms'))?.code
      if (passCode === undefined) return undefined
      return authn.withoutToken.step(reply, '/recovery/factors/SMS/verify', { passCode })
    },
  },
  {
    operation: 'resendRecoveryFactor',
    what: 'another text message of a recovery',
    needs: ['phone'],
    async send(context) {
      const { reply } = await textedRecovery(context)
      if (reply.body.stateToken === undefined) return undefined
      return context.authn.withoutToken.step(reply, '/recovery/factors/SMS/resend')
    },
  },
]

/** Every step that Gatehouse sends, but Duo's: its frame has ended (S13). */
export const STEPS: readonly Step[] = [...IN_SIGN_IN, ...IN_ENROLLMENT, ...IN_RECOVERY]

async function inSignIn({ org, authn }: Context, path: string): Promise<Reply> {
  const begun = await authn.signIn(await org.createPromptedUser('ALWAYS'))
  return authn.withoutToken.step(begun, path)
}

async function redeemed({ org, authn }: Context): Promise<{ user: ProofUser; reply: Reply }> {
  const user = await org.createUser()
  const recoveryToken = await org.recoveryToken(user)
  return { user, reply: await authn.withoutToken.post('/recovery/token', { recoveryToken }) }
}

async function textedRecovery({ org, authn, target, phoneTurn }: Context) {
  const user = await org.createUser({ phone: target.phone })
  await phoneTurn()
  return { user, reply: await startOwnRecovery(authn.withoutToken, user, 'SMS') }
}

/** A sign-in that asks for a factor of which the user has none; undefined: the org does not ask. */
export async function enrollment({ org, authn }: Context): Promise<{ user: ProofUser; begun?: Reply }> {
  const user = await org.createPromptedUser('ALWAYS', 'none')
  const begun = await authn.signIn(user)
  return begun.body.status === 'MFA_ENROLL' ? { user, begun } : { user }
}

async function enrolledApp(context: Context): Promise<Reply | undefined> {
  const { begun } = await enrollment(context)
  const factor = { factorType: 'token:software:totp', provider: 'GOOGLE' }
  const enrolled = begun && (await context.authn.step(begun, '/factors', factor))
  return enrolled?.body.status === 'MFA_ENROLL_ACTIVATE' ? enrolled : undefined
}

/** The two paths below which Okta sets up a push factor. */
type LifecyclePath = (paths: { factor: string; userFactor: string }) => string

async function inPushEnrollment(
  context: Context,
  path: LifecyclePath,
  body = {},
): Promise<Reply | undefined> {
  const { authn } = context
  const { user, begun } = await enrollment(context)
  const enrolled = begun && (await authn.step(begun, '/factors', { factorType: 'push', provider: 'OKTA' }))
  if (enrolled?.body.status !== 'MFA_ENROLL_ACTIVATE') return undefined
  const factor = `/factors/${factorIdIn(enrolled, 'push')}/lifecycle`
  return authn.withoutToken.step(
    enrolled,
    path({ factor, userFactor: `/api/v1/users/${user.id}${factor}` }),
    body,
  )
}

async function byPhone(context: Context, path: LifecyclePath): Promise<Reply | undefined> {
  await context.phoneTurn()
  return inPushEnrollment(context, path, { profile: { phoneNumber: context.target.phone } })
}

export function questionsPath({ body }: Reply): string {
  return `/api/v1/users/${textAt(body, '_embedded.user.id')}/factors/questions`
}
