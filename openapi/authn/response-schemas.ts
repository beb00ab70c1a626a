import { z } from 'zod'
import { never } from './link-schemas.ts'

/** A cancelled sign-in has no status. */
export const cancelResponse = z
  .looseObject({ relayState: z.string().optional(), recoveryToken: never })
  .meta({ id: 'Cancelled', description: 'The sign-in has ended.' })

export const emptyResponse = z.strictObject({}).meta({ id: 'Empty' })

export const questionsResponse = z
  .array(z.looseObject({ question: z.string(), questionText: z.string() }))
  .meta({ id: 'SecurityQuestions' })

const pathParams = {
  id: z
    .string()
    .min(1)
    .meta({
      description: 'The factor’s id, or its type, as in the link.',
      examples: ['uftExampleFactor0001'],
    }),
  type: z
    .string()
    .min(1)
    .meta({ description: '`SMS` or `CALL`, as in the link.', examples: ['SMS'] }),
  uid: z
    .string()
    .min(1)
    .meta({ description: 'The user’s id, as in the link.', examples: ['00uExampleUser00001'] }),
  token: z
    .string()
    .min(1)
    .meta({
      description: 'The image’s handle, as in the link.',
      examples: ['example-image-handle-not-a-secret'],
    }),
} as const

/** The schema of the parameters in a path such as `/factors/:id`. */
export function paramsOf(path: string): z.ZodObject {
  const names = [...path.matchAll(/:(\w+)/g)].map(([, name]) => name)
  return z.object(Object.fromEntries(Object.entries(pathParams).filter(([name]) => names.includes(name))))
}
