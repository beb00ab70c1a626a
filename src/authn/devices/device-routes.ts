import type { Request } from 'express'
import { notFound } from '../../errors.ts'
import { routesOf } from '../../http/operation.ts'
import { type Route, sendJson } from '../../http/routes.ts'
import type { Logger } from '../../observability/logger.ts'
import { auditFields, type Session } from '../../session/session.ts'
import { findSession } from '../../session/session-routes.ts'
import type { Sessions } from '../../session/sessions.ts'
import { DEVICE_OPERATIONS } from './device-operations.ts'
import type { UserDevice, UserDevices } from './user-devices.ts'

export interface DeviceRoutesOptions {
  readonly sessions: Sessions
  readonly devices: Pick<UserDevices, 'list' | 'forget'>
  /** The device id in the request's cookie. */
  readonly deviceIdIn: (req: Request) => string | undefined
  readonly log: Logger
}

/** The user's own devices. These routes do not extend the session. */
export function createDeviceRoutes({ sessions, devices, deviceIdIn, log }: DeviceRoutesOptions): Route[] {
  const audit = (req: Request, session: Session, count: number) =>
    log.audit('devices_forgotten', { ...auditFields(req, session), count })

  return routesOf(DEVICE_OPERATIONS, {
    async listDevices(req, res) {
      const { userId } = findSession(sessions, req).session
      const list = await devices.list(userId)
      sendJson(res, { devices: list.map((device) => present(device, deviceIdIn(req))) })
    },
    async forgetDevices(req, res) {
      const { session } = findSession(sessions, req)
      audit(req, session, await devices.forget(session.userId))
      res.status(204).end()
    },
    async forgetDevice(req, res) {
      const { session } = findSession(sessions, req)
      const count = await devices.forget(session.userId, String(req.params.id))
      if (count === 0) throw notFound('device')
      audit(req, session, count)
      res.status(204).end()
    },
  })
}

function present(
  { id, label, createdAtMs, lastUsedAtMs, deviceId }: UserDevice,
  current: string | undefined,
) {
  const createdAt = new Date(createdAtMs).toISOString()
  const lastUsedAt = new Date(lastUsedAtMs).toISOString()
  return { id, label, createdAt, lastUsedAt, current: deviceId === current }
}
