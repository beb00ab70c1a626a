import { z } from 'zod'
import { factorSchema, type UserConfig, userSchema } from '../sandbox-config.ts'
import type { FactorDetails, FactorName } from './sandbox-api.ts'

const PHONE_NUMBER = '+15550100001'

const FACTORS: Readonly<Record<FactorName, FactorDetails>> = {
  totp: { type: 'token:software:totp', provider: 'GOOGLE' },
  push: { type: 'push' },
  'push-number': { type: 'push', numberChallenge: true },
  sms: { type: 'sms', phoneNumber: PHONE_NUMBER },
  call: { type: 'call', phoneNumber: PHONE_NUMBER },
  email: { type: 'email' },
  question: { type: 'question', question: 'favorite_toy', answer: 'lighthouse' },
  webauthn: { type: 'webauthn', provider: 'FIDO' },
}

/** The name of a factor, or its details. */
const factor = z
  .unknown()
  .transform((value, context) => {
    if (typeof value !== 'string') return value
    const named = Object.entries(FACTORS).find(([name]) => name === value)
    if (named === undefined) {
      const names = Object.keys(FACTORS).join(', ')
      context.addIssue(`expected one of ${names}, or an object with "type"`)
    }
    return named?.[1]
  })
  .pipe(factorSchema)

const person = userSchema.extend({
  firstName: z.string().optional(),
  lastName: z.string().optional(),
  description: z.string().default(''),
  factors: z.array(factor).default([]),
  signOnPolicy: z.string().nullable().optional(),
  groups: z.array(z.string()).nullable().default([]),
})

/** Users with the PAM groups of each. */
export const peopleSchema = z
  .array(person)
  .min(1)
  .superRefine((people, context) => {
    const logins = people.map(({ login }) => login.toLowerCase())
    for (const [index, login] of logins.entries())
      if (logins.indexOf(login) < index)
        context.addIssue({ code: 'custom', path: [index, 'login'], message: 'another person has this login' })
  })
  .transform((people) => people.map((one) => ({ user: userOf(one), groups: one.groups })))

export type People = z.output<typeof peopleSchema>

function userOf({
  groups: _,
  firstName,
  lastName,
  signOnPolicy,
  ...rest
}: z.output<typeof person>): UserConfig {
  const [first = '', last = ''] = rest.login.replace(/@.*/, '').split(/[._-]/).map(capitalized)
  return {
    ...rest,
    firstName: firstName ?? first,
    lastName: lastName ?? (last || first),
    signOnPolicy:
      signOnPolicy === undefined ? (rest.factors.length > 0 ? 'always' : 'password-only') : signOnPolicy,
  }
}

function capitalized(word: string): string {
  return word.slice(0, 1).toUpperCase() + word.slice(1)
}
