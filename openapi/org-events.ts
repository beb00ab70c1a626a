import { z } from 'zod'
import { ORG_EVENT_OPERATIONS } from '../src/org-events/org-event-routes.ts'
import { type Description, describe, jsonResponse } from './description.ts'

const verification = z
  .strictObject({ verification: z.string().meta({ description: 'The challenge of the request.' }) })
  .meta({ id: 'Verification' })

const OF_OKTA = {
  tag: 'Event hook',
  cookies: {},
  errors: { 401: ['E0000011'], 404: ['E0000007'], 429: ['E0000047'] },
} as const satisfies Partial<Description>

const SECRET = '`Authorization` must be one of `EVENT_HOOK_SECRET`; if none is configured: 404.'

/** For Okta, not for pages. */
export const ORG_EVENTS = describe(ORG_EVENT_OPERATIONS, {
  verifyEventHook: {
    ...OF_OKTA,
    summary: 'Okta verifies the event hook once',
    description: SECRET,
    headers: ['X-Okta-Verification-Challenge'],
    responses: { 200: jsonResponse('The challenge', verification) },
  },
  receiveOrgEvents: {
    ...OF_OKTA,
    summary: 'Events of the org',
    description: `${SECRET} The sessions of the users whom the events end are void once this is answered. Bodies have up to 1 MB. Unknown events are ignored.`,
    responses: { 204: { description: 'Received.' } },
  },
})
