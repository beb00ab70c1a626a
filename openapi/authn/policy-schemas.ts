import { z } from 'zod'

/** The org's rules in the answers of the sign-in. */

const flag = z.boolean().optional()
const integer = z.int().optional()

const complexity = z.looseObject({
  minLength: integer,
  minLowerCase: integer,
  minUpperCase: integer,
  minNumber: integer,
  minSymbol: integer,
  excludeUsername: flag,
  excludeAttributes: z.array(z.string()).optional(),
})

export const passwordPolicy = z
  .looseObject({
    complexity: complexity.optional().meta({ description: 'Some orgs send −1 for a rule that is off.' }),
    expiration: z.looseObject({ passwordExpireDays: z.int().nullish() }).optional(),
    age: z.looseObject({ minAgeMinutes: integer, historyCount: integer }).optional(),
  })
  .meta({ id: 'PasswordPolicy', description: 'The rules for a new password.' })

export const factorPolicy = z
  .looseObject({
    allowRememberDevice: flag.meta({ description: 'Whether to offer “do not ask again on this device”.' }),
    rememberDeviceLifetimeInMinutes: integer,
    rememberDeviceByDefault: flag,
    factorsPolicyInfo: z
      .record(z.string(), z.looseObject({ autoPushEnabled: flag }))
      .optional()
      .meta({ description: 'By factor id.' }),
  })
  .meta({ id: 'FactorPolicy', description: 'Whether devices may be remembered, and pushes sent at once.' })
