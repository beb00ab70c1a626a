import { outcomeOf } from '../caller.ts'
import { type Check, holds, notTestable } from '../check.ts'
import type { PromptMode } from '../policies.ts'
import { optionalEnrollment, signInWithFactor } from '../steps/sign-ins.ts'

const DEVICES = 'connect-your-okta-org.md#remembered-devices'
const ENGINE = 'connect-your-okta-org.md#1-classic-engine-or-identity-engine'

type Case = {
  id: string
  mode: PromptMode
  remember: boolean
  sameDevice: boolean
  isAsked: boolean
  belief: string
}

/** Whether the second sign-in asks for the factor again. */
const CASES: readonly Case[] = [
  {
    id: 'F1',
    mode: 'DEVICE',
    remember: true,
    sameDevice: true,
    isAsked: false,
    belief: 'A factor “per device” is not asked again for a device token that the user chose to remember.',
  },
  {
    id: 'F1.other',
    mode: 'DEVICE',
    remember: true,
    sameDevice: false,
    isAsked: true,
    belief: 'A factor “per device” is asked again for another device token.',
  },
  {
    id: 'S9.device',
    mode: 'DEVICE',
    remember: false,
    sameDevice: true,
    isAsked: true,
    belief: 'A factor “per device” is asked again if the user did not choose to be remembered.',
  },
  {
    id: 'S9.remembered',
    mode: 'SESSION',
    remember: true,
    sameDevice: true,
    isAsked: false,
    belief: 'A factor “per session” is not asked again on a device that the user chose to remember.',
  },
  {
    id: 'S9',
    mode: 'SESSION',
    remember: false,
    sameDevice: true,
    isAsked: true,
    belief:
      'A factor “per session” is asked again if the user did not choose to be remembered: the device alone does not exempt.',
  },
  {
    id: 'mfa.always',
    mode: 'ALWAYS',
    remember: true,
    sameDevice: true,
    isAsked: true,
    belief: 'A factor “always” is asked again, although the user chose to be remembered.',
  },
  {
    id: 'mfa.always-unasked',
    mode: 'ALWAYS',
    remember: false,
    sameDevice: true,
    isAsked: true,
    belief: 'A factor “always” is asked again if the user did not choose to be remembered.',
  },
]

export const MFA_CHECKS: readonly Check[] = [
  ...CASES.map(
    ({ id, belief, ...how }): Check => ({
      id,
      belief,
      where: DEVICES,
      change: 'Choose another prompt in the sign-on policy, and see who is asked how often.',
      needs: ['classicEngine'],
      async run(context) {
        const user = await context.org.createPromptedUser(how.mode)
        const portal = await context.openPortal()
        const first = await signInWithFactor(portal, user, how.remember)
        if (first.body.status !== 'SUCCESS')
          return notTestable(`no sign-in with a question: ${outcomeOf(first)}`)
        const second = await (how.sameDevice ? portal : await context.openPortal()).signIn(user)
        return holds(
          (second.body.status === 'MFA_REQUIRED') === how.isAsked,
          `second sign-in ${outcomeOf(second)}`,
        )
      },
    }),
  ),
  {
    id: 'S10',
    belief: 'With multiOptionalFactorEnroll, optional factors are offered after a reset, too.',
    where: 'build-your-sign-in-page.md#each-status',
    change: 'Nothing: users may skip it.',
    needs: [],
    async run(context) {
      const reply = await optionalEnrollment(context, await context.openPortal())
      return holds(reply.body.status === 'MFA_ENROLL', outcomeOf(reply))
    },
  },
  {
    id: 'S16',
    belief: 'Options may be texts, as scripts send them: `"warnBeforePasswordExpired": "true"`.',
    where: 'build-your-sign-in-page.md#each-status',
    change: 'Send booleans.',
    needs: [],
    async run({ org, authn }) {
      const options = { warnBeforePasswordExpired: 'true', multiOptionalFactorEnroll: 'false' }
      const reply = await authn.signIn(await org.createUser(), { options })
      return holds(reply.status === 200, outcomeOf(reply))
    },
  },
  {
    id: 'E1',
    belief: 'On Identity Engine, password and factors work through this API.',
    where: ENGINE,
    change: 'Gatehouse cannot serve this org.',
    needs: ['identityEngine'],
    async run(context) {
      const user = await context.org.createPromptedUser('ALWAYS')
      const reply = await signInWithFactor(await context.openPortal(), user)
      return holds(reply.body.status === 'SUCCESS', outcomeOf(reply))
    },
  },
  {
    id: 'E2',
    belief: 'On Identity Engine, `audience` fails.',
    where: ENGINE,
    change: 'Nothing: step-up works here.',
    needs: ['identityEngine'],
    async run({ org, authn }) {
      const user = await org.createUser()
      const reply = await authn.signIn(user, { audience: '0oa000000000000000000' })
      const without = await authn.signIn(user)
      return holds(
        reply.status >= 400 && without.status === 200,
        `${outcomeOf(reply)}; without it ${outcomeOf(without)}`,
      )
    },
  },
  {
    id: 'E3',
    belief: 'On Identity Engine, the device token has an effect while the global session policy is active.',
    where: ENGINE,
    change: 'Users are asked for a factor at each sign-in.',
    needs: ['identityEngine'],
    async run(context) {
      const user = await context.org.createPromptedUser('DEVICE')
      const portal = await context.openPortal()
      await signInWithFactor(portal, user, true)
      const second = await portal.signIn(user)
      return holds(second.body.status === 'SUCCESS', `second sign-in ${outcomeOf(second)}`)
    },
  },
  {
    id: 'device.mail',
    belief:
      'A sign-in with a new X-Device-Fingerprint sends the user an email about a new device, and the next one does not.',
    where: 'connect-your-okta-org.md#remembered-devices',
    change: 'Switch the email about new devices off, or on.',
    needs: ['mail', 'inbox'],
    async run({ org, openPortal, target, unique }) {
      const user = await org.createUser()
      const portal = await openPortal()
      const fingerprint = unique()
      const mails: string[] = []
      for (let n = 0; n < 2; n += 1) {
        await portal.signIn(user, {}, { 'x-device-fingerprint': fingerprint })
        mails.push((await target.person?.inbox.next(user.login, 'mail')) === undefined ? 'none' : 'one')
      }
      return holds(mails.join() === 'one,none', `first ${mails[0]}, second ${mails[1]}`)
    },
  },
]
