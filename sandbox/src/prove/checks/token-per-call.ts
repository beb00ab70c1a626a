import { nextTotpCode } from '../../authn/factors/otp.ts'
import { factorIdIn } from '../authn.ts'
import { outcomeOf, type Reply } from '../caller.ts'
import { type Check, holds, type Need, notTestable } from '../check.ts'
import type { Context } from '../context.ts'
import { at, textAt } from '../json.ts'
import { answerQuestion, optionalEnrollment } from './mfa.ts'
import { expired } from './passwords.ts'
import { answerIfAsked, lockOut } from './recovery.ts'

const API_TOKEN = 'connect-your-okta-org.md#2-api-token'
const PUBLIC = { token: false } as const

/** A step that is sent without the API token, after what leads to it with the token. */
type Step = {
  name: string
  needs?: readonly Need[]
  /** Undefined: the org does not lead there. */
  send(context: Context): Promise<Reply | undefined>
}

const STEPS: readonly Step[] = [
  {
    name: 'primary authentication',
    send: async ({ org, authn }) => authn.signIn(await org.createUser(), {}, PUBLIC),
  },
  { name: 'introspect', send: (context) => inSignIn(context, '/introspect') },
  { name: 'transaction state', send: (context) => inSignIn(context, '') },
  { name: 'cancel', send: (context) => inSignIn(context, '/cancel') },
  {
    name: 'verify',
    async send({ org, authn }) {
      const user = await org.createPromptedUser('ALWAYS')
      const begun = await authn.signIn(user)
      return authn.step(
        begun,
        `/factors/${factorIdIn(begun, 'question')}/verify`,
        { answer: user.answer },
        PUBLIC,
      )
    },
  },
  {
    name: 'previous',
    async send({ org, authn }) {
      const begun = await authn.signIn(await org.createPromptedUser('ALWAYS'))
      await authn.step(begun, `/factors/${factorIdIn(begun, 'question')}/verify`)
      return authn.step(begun, '/previous', {}, PUBLIC)
    },
  },
  {
    name: 'resend',
    needs: ['mail'],
    async send({ org, authn }) {
      const begun = await authn.signIn(await org.createPromptedUser('ALWAYS', 'email'))
      const path = `/factors/${factorIdIn(begun, 'email')}/verify`
      await authn.step(begun, path)
      const again = await authn.step(begun, `${path}/resend`, {}, PUBLIC)
      // the limit on messages comes after the token
      return again.body.errorCode === 'E0000118' ? { ...again, status: 200 } : again
    },
  },
  {
    name: 'skip',
    async send(context) {
      const enrollment = await optionalEnrollment(context)
      if (at(enrollment.body, '_links.skip') === undefined) return undefined
      return context.authn.step(enrollment, '/skip', {}, PUBLIC)
    },
  },
  {
    name: 'enroll',
    async send(context) {
      const begun = await enrollment(context)
      const profile = { question: 'first_award', answer: context.unique() }
      return (
        begun &&
        context.authn.step(begun, '/factors', { factorType: 'question', provider: 'OKTA', profile }, PUBLIC)
      )
    },
  },
  {
    name: 'activate',
    async send(context) {
      const enrolled = await enrolledApp(context)
      const secret = textAt(enrolled?.body, '_embedded.factor._embedded.activation.sharedSecret')
      if (enrolled === undefined || secret === '') return undefined
      const path = `/factors/${factorIdIn(enrolled, 'token:software:totp')}/lifecycle/activate`
      return context.authn.step(
        enrolled,
        path,
        { passCode: nextTotpCode({ secret, nowMs: context.now() }) },
        PUBLIC,
      )
    },
  },
  {
    name: 'QR picture',
    async send(context) {
      const enrolled = await enrolledApp(context)
      const href = textAt(enrolled?.body, '_embedded.factor._embedded.activation._links.qrcode.href')
      return href === '' ? undefined : context.authn.get(pathOf(href), PUBLIC)
    },
  },
  {
    name: 'security questions',
    async send(context) {
      const begun = await enrollment(context)
      return begun && context.authn.get(questionsPath(begun), PUBLIC)
    },
  },
  {
    name: 'activation link by email',
    needs: ['mail'],
    async send(context) {
      const begun = await enrollment(context)
      const enrolled =
        begun && (await context.authn.step(begun, '/factors', { factorType: 'push', provider: 'OKTA' }))
      if (enrolled?.status !== 200) return undefined
      return context.authn.step(
        enrolled,
        `/factors/${factorIdIn(enrolled, 'push')}/lifecycle/activate/email`,
        {},
        PUBLIC,
      )
    },
  },
  {
    name: 'change password',
    async send({ org, authn, unique }) {
      const user = await org.createUser()
      const begun = await expired({ org, authn }, user)
      if (begun.body.status !== 'PASSWORD_EXPIRED') return undefined
      const body = { oldPassword: user.password, newPassword: `New-${unique()}` }
      return authn.step(begun, '/credentials/change_password', body, PUBLIC)
    },
  },
  { name: 'recovery token', send: async (context) => (await recovery(context)).redeemed },
  {
    name: 'recovery answer',
    async send(context) {
      const { user, redeemed } = await recovery(context)
      if (redeemed.body.status !== 'RECOVERY') return undefined
      return context.authn.step(redeemed, '/recovery/answer', { answer: user.answer }, PUBLIC)
    },
  },
  {
    name: 'reset password',
    async send(context) {
      const { user, redeemed } = await recovery(context)
      const answered = await answerIfAsked(context.authn, redeemed, user)
      return context.authn.step(
        answered,
        '/credentials/reset_password',
        { newPassword: `New-${context.unique()}` },
        PUBLIC,
      )
    },
  },
  {
    name: 'unlock',
    needs: ['mail'],
    async send(context) {
      const user = await context.org.createUser()
      if (!(await lockOut(context, user))) return undefined
      return context.authn.post('/recovery/unlock', { username: user.login, factorType: 'EMAIL' }, PUBLIC)
    },
  },
  {
    name: 'recovery code',
    needs: ['phone', 'inbox'],
    async send({ org, authn, target }) {
      const user = await org.createUser({ phone: target.phone })
      const begun = await authn.post(
        '/recovery/password',
        { username: user.login, factorType: 'SMS' },
        PUBLIC,
      )
      const passCode = (await target.inbox?.next(user.login, 'sms'))?.code
      if (passCode === undefined) return undefined
      return authn.step(begun, '/recovery/factors/SMS/verify', { passCode }, PUBLIC)
    },
  },
]

export const TOKEN_CHECKS: readonly Check[] = [
  ...STEPS.map(
    ({ name, needs = [], send }): Check => ({
      id: `token.${name.toLowerCase().replaceAll(' ', '-')}`,
      belief: `Okta takes this step without the API token: ${name}.`,
      where: API_TOKEN,
      change: 'Report it: if Gatehouse sends this step without the token, users cannot complete it.',
      needs,
      async run(context) {
        const reply = await send(context)
        return reply === undefined
          ? notTestable('the org does not lead to this step')
          : holds(reply.status < 300, `without the token ${outcomeOf(reply)}`)
      },
    }),
  ),
  {
    id: 'S17',
    belief:
      'The list of security questions is refused with an API token that may not manage factors, and served without a token.',
    where: API_TOKEN,
    change: 'Nothing: Gatehouse asks without the token.',
    needs: ['brokerToken'],
    async run(context) {
      const begun = await enrollment(context)
      if (begun === undefined) return notTestable('the org does not ask for an enrollment')
      const withToken = await context.authn.get(questionsPath(begun))
      const without = await context.authn.get(questionsPath(begun), PUBLIC)
      return holds(
        withToken.status === 403 && without.status === 200,
        `with the token ${outcomeOf(withToken)}, without ${outcomeOf(without)}`,
      )
    },
  },
  {
    id: 'T1',
    belief: 'An API token that may not create users suffices for a sign-in with a factor.',
    where: API_TOKEN,
    change: 'Give the administrator of Gatehouse’s token the rights that are missing.',
    needs: ['brokerToken'],
    async run(context) {
      const user = await context.org.createPromptedUser('ALWAYS')
      const begun = await context.authn.signIn(user, { context: { deviceToken: context.unique() } })
      const done = await answerQuestion(context, begun, user)
      // names no user: a token that may create users gets 400
      const creation = await context.authn.post('/api/v1/users', {})
      if (creation.status !== 403)
        return notTestable(`PROVE_BROKER_TOKEN may create users: ${outcomeOf(creation)}`)
      return holds(
        done.body.status === 'SUCCESS',
        `sign-in ${outcomeOf(done)}; creating users ${outcomeOf(creation)}`,
      )
    },
  },
]

async function inSignIn({ org, authn }: Context, path: string): Promise<Reply> {
  const begun = await authn.signIn(await org.createPromptedUser('ALWAYS'))
  return authn.step(begun, path, {}, PUBLIC)
}

async function recovery({ org, authn }: Context) {
  const user = await org.createUser()
  const recoveryToken = await org.recoveryToken(user)
  return { user, redeemed: await authn.post('/recovery/token', { recoveryToken }, PUBLIC) }
}

/** A sign-in that asks for a factor of which the user has none. */
export async function enrollment({ org, authn }: Context): Promise<Reply | undefined> {
  const begun = await authn.signIn(await org.createPromptedUser('ALWAYS', 'none'))
  return begun.body.status === 'MFA_ENROLL' ? begun : undefined
}

async function enrolledApp(context: Context): Promise<Reply | undefined> {
  const begun = await enrollment(context)
  const factor = { factorType: 'token:software:totp', provider: 'GOOGLE' }
  const enrolled = begun && (await context.authn.step(begun, '/factors', factor))
  return enrolled?.body.status === 'MFA_ENROLL_ACTIVATE' ? enrolled : undefined
}

const pathOf = (href: string) => new URL(href).pathname
const questionsPath = ({ body }: Reply) =>
  `/api/v1/users/${textAt(body, '_embedded.user.id')}/factors/questions`
