import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import type { Socket } from 'node:net'
import type { PeerCertificate, TLSSocket } from 'node:tls'
import { type Finding, ok, warn } from './finding.ts'

/** A client's connections, through an egress proxy too. */
const CONNECTED = 'undici:client:connected'

/** Reads the certificate of a server when a client connects to it. */
export function watchCertificate(origin: string) {
  const { hostname } = new URL(origin)
  let certificate: PeerCertificate | undefined
  const onConnected = (message: unknown) => {
    const { connectParams, socket } = message as {
      connectParams: { hostname: string }
      socket: Socket | TLSSocket
    } // https://undici.nodejs.org/#/docs/api/DiagnosticsChannel
    if (connectParams.hostname === hostname && 'getPeerCertificate' in socket)
      certificate ??= socket.getPeerCertificate()
  }
  subscribe(CONNECTED, onConnected)

  return {
    /** `otherwise`, unless the certificate expires soon. */
    judge: (nowMs: number, otherwise: string): Finding =>
      (certificate && judgeExpiry(certificate, nowMs)) ?? ok(otherwise),
    stop: () => void unsubscribe(CONNECTED, onConnected),
  }
}

const DAY_MS = 86_400_000
const WARN_BEFORE_MS = 14 * DAY_MS
/** Of the lifetime, for certificates that are renewed often. */
const WARN_BEFORE_SHARE = 0.25

function judgeExpiry(certificate: PeerCertificate, nowMs: number): Finding | undefined {
  const [from, to] = [Date.parse(certificate.valid_from), Date.parse(certificate.valid_to)]
  const leftMs = to - nowMs
  if (leftMs >= Math.min(WARN_BEFORE_MS, (to - from) * WARN_BEFORE_SHARE)) return undefined
  const days = Math.max(0, Math.floor(leftMs / DAY_MS))
  return warn(
    `the certificate expires in ${days} days`,
    'Renew it, or check why it is not renewed automatically.',
  )
}
