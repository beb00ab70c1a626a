import { type QRCodeToBufferOptions, toBuffer } from 'qrcode'
import { otpauthUri } from './factors/otp.ts'
import { secretOf } from './factors/otp-factors.ts'
import type { Factor, User } from './user.ts'

/** Choosing a PNG filter for each line would take most of the time and save only a few kB. */
const UNFILTERED: QRCodeToBufferOptions & PngOptions = { rendererOpts: { filterType: 0 } }
interface PngOptions {
  readonly rendererOpts: { readonly filterType: number }
}

/** The QR code (PNG) that an authenticator app scans. The same factor always has the same image. */
export function enrollmentQrCode(user: User, factor: Factor): Promise<Buffer> {
  const text =
    factor.factorType === 'push'
      ? `gatehouse-sandbox://push?factor=${factor.id}&login=${encodeURIComponent(user.login)}`
      : otpauthUri({ login: user.login, secret: secretOf(factor) })
  return toBuffer(text, UNFILTERED)
}
