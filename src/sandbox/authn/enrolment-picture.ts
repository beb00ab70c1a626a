import { toBuffer } from 'qrcode'
import { otpauthUri } from './factors/otp-check.ts'
import { secretOf } from './factors/otp-factors.ts'
import type { Factor, Person } from './person.ts'

/** The QR code (PNG) that an app scans to set this factor up. The same factor always has the same picture. */
export function enrolmentPicture(person: Person, factor: Factor): Promise<Buffer> {
  const text =
    factor.factorType === 'push'
      ? `gatehouse-sandbox://push?factor=${factor.id}&login=${encodeURIComponent(person.login)}`
      : otpauthUri({ login: person.login, secret: secretOf(factor) })
  return toBuffer(text)
}
