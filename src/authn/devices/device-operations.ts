import { z } from 'zod'
import { jsonResponse, type Operations } from '../../http/operation.ts'

const id = z.string().min(1).meta({ description: 'Safe to show. It is not the id in the device cookie.' })
const time = (description: string) => z.iso.datetime().meta({ description })

const ownDevices = z
  .strictObject({
    devices: z.array(
      z.strictObject({
        id,
        label: z.string().meta({ description: 'Browser and system.', examples: ['Firefox on Windows'] }),
        createdAt: time('The first sign-in.'),
        lastUsedAt: time('The latest sign-in.'),
        current: z.boolean().meta({ description: 'Whether this is the device of the request.' }),
      }),
    ),
  })
  .meta({ id: 'Devices', description: 'The devices on which the user has signed in; last used first.' })

const OWN_DEVICE = { tag: 'Session', loadKind: 'session', cookies: { session: 'required' } } as const

/** All devices of the signed-in user. */
export const DEVICE_OPERATIONS = {
  listDevices: {
    ...OWN_DEVICE,
    method: 'GET',
    path: '/api/v1/devices',
    summary: 'The user’s own devices',
    description: 'It does not keep the session alive.',
    responses: { 200: jsonResponse('All devices, with the current one marked', ownDevices) },
  },
  forgetDevices: {
    ...OWN_DEVICE,
    method: 'DELETE',
    path: '/api/v1/devices',
    summary: 'Forget all of the user’s own devices',
    description: 'As `DELETE /api/v1/devices/{id}` for each device, including the current one.',
    responses: { 204: { description: 'All devices are forgotten.' } },
  },
  forgetDevice: {
    ...OWN_DEVICE,
    method: 'DELETE',
    path: '/api/v1/devices/:id',
    summary: 'Forget one of the user’s own devices',
    description:
      'At the next sign-in, Okta treats the browser as a new device and asks for a factor again, if the org’s policy requires one. ' +
      'So it does for other users of that browser. Sessions are not ended.',
    params: z.object({ id: id.meta({ examples: ['q0Zf3p1mVb8wX2c5Tn7yRk4sLh6dJg9aUe1iOo3uEx0'] }) }),
    responses: { 204: { description: 'The device is forgotten.' } },
    errors: { 404: ['E0000007'] },
  },
} as const satisfies Operations
