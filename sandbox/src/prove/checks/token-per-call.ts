import { outcomeOf, type Reply } from '../caller.ts'
import { type Check, holds, notTestable } from '../check.ts'
import { signInWithFactor } from '../steps/sign-ins.ts'
import { enrollment, questionsPath, STEPS } from './steps-without-token.ts'

const API_TOKEN = 'connect-your-okta-org.md#2-api-token'

export const TOKEN_CHECKS: readonly Check[] = [
  ...STEPS.map(
    ({ operation, variant, what, needs = [], send }): Check => ({
      id: `token.${operation}${variant === undefined ? '' : `-${variant}`}`,
      belief: `Okta takes this step without the API token: ${what}.`,
      where: API_TOKEN,
      change: 'Report it: if Gatehouse sends this step without the token, users cannot complete it.',
      needs,
      async run(context) {
        const reply = await send(context)
        return reply === undefined
          ? notTestable('the org does not lead to this step')
          : holds(isTaken(reply), `without the token ${outcomeOf(reply)}`)
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
      const { begun } = await enrollment(context)
      if (begun === undefined) return notTestable('the org does not ask for an enrollment')
      const withToken = await context.authn.get(questionsPath(begun))
      const without = await context.authn.get(questionsPath(begun), { token: false })
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
    async run({ org, authn, openPortal }) {
      const done = await signInWithFactor(await openPortal(), await org.createPromptedUser('ALWAYS'))
      // names no user: a token that may create users gets 400
      const creation = await authn.post('/api/v1/users', {})
      if (creation.status !== 403)
        return notTestable(`PROVE_BROKER_TOKEN may create users: ${outcomeOf(creation)}`)
      return holds(
        done.body.status === 'SUCCESS',
        `sign-in ${outcomeOf(done)}; creating users ${outcomeOf(creation)}`,
      )
    },
  },
]

/** Limits on messages: E0000109 on texts, E0000118 on emails, E0000133 on calls. */
const SEND_LIMITS: readonly unknown[] = ['E0000109', 'E0000118', 'E0000133']

/** The limit on messages comes after the token. */
function isTaken({ status, body }: Reply): boolean {
  return status < 300 || (status === 429 && SEND_LIMITS.includes(body.errorCode))
}
