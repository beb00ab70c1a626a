import { factorIdIn } from '../authn.ts'
import { outcomeOf } from '../caller.ts'
import { type Check, holds, notTestable } from '../check.ts'
import { oktaReplyIn } from '../portal.ts'

const SEND_LIMITS = 'build-your-sign-in-page.md#errors'

export const LIMIT_CHECKS: readonly Check[] = [
  {
    id: 'R12.sms',
    belief: 'A second text message within 30 seconds is 429 E0000109.',
    where: SEND_LIMITS,
    change: 'Nothing: Gatehouse has a limit of its own.',
    needs: ['phone'],
    async run({ org, authn, target, phoneTurn }) {
      const user = await org.createUser({ phone: target.phone })
      await phoneTurn()
      const body = { username: user.login, factorType: 'SMS' }
      const begun = await authn.post('/recovery/password', body, { token: false })
      if (begun.body.stateToken === undefined) return notTestable(`no text message: ${outcomeOf(begun)}`)
      const again = await authn.step(begun, '/recovery/factors/SMS/resend', {}, { token: false })
      return holds(outcomeOf(again) === '429 E0000109', outcomeOf(again))
    },
  },
  {
    id: 'R12.call',
    belief: 'A second call within 30 seconds is 429 E0000133.',
    where: SEND_LIMITS,
    change: 'Nothing: Gatehouse has a limit of its own.',
    needs: ['phone'],
    async run({ org, authn, target, phoneTurn }) {
      const user = await org.createUser({ phone: target.phone })
      await phoneTurn()
      const body = { username: user.login, factorType: 'CALL' }
      const begun = await authn.post('/recovery/password', body, { token: false })
      if (begun.body.stateToken === undefined) return notTestable(`no call: ${outcomeOf(begun)}`)
      const again = await authn.step(begun, '/recovery/factors/CALL/resend', {}, { token: false })
      return holds(outcomeOf(again) === '429 E0000133', outcomeOf(again))
    },
  },
  {
    id: 'R12',
    belief: 'A second email within 5 seconds is 429 E0000118.',
    where: SEND_LIMITS,
    change: 'Nothing: Gatehouse has a limit of its own.',
    needs: ['mail'],
    async run({ org, authn }) {
      const user = await org.createPromptedUser('ALWAYS', 'email')
      const begun = await authn.signIn(user)
      const path = `/factors/${factorIdIn(begun, 'email')}/verify`
      const sent = await authn.step(begun, path)
      if (sent.body.status !== 'MFA_CHALLENGE') return notTestable(`no email is sent: ${outcomeOf(sent)}`)
      const again = await authn.step(begun, `${path}/resend`)
      return holds(outcomeOf(again) === '429 E0000118', outcomeOf(again))
    },
  },
  {
    id: 'limits.headers',
    belief: 'Responses name limit, remaining calls and reset (in seconds) in X-Rate-Limit headers.',
    where: 'performance.md#the-limits-of-the-org',
    change: 'Do not watch the org’s limits by these headers.',
    needs: [],
    async run({ org, openPortal, now }) {
      const signIn = await (await openPortal()).signIn(await org.createUser())
      const headers = oktaReplyIn(signIn)?.headers ?? new Headers()
      const [limit, remaining, reset] = ['limit', 'remaining', 'reset'].map((name) =>
        Number(headers.get(`x-rate-limit-${name}`) ?? Number.NaN),
      )
      const inSeconds = Number(reset) - now() / 1000
      return holds(
        Number(limit) > 0 && Number(remaining) >= 0 && Math.abs(inSeconds) < 3600,
        `limit ${limit}, remaining ${remaining}, reset in ${Math.round(inSeconds)} s`,
      )
    },
  },
]
