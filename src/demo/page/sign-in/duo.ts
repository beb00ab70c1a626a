import { element } from '../parts/elements.js'
import type { DuoRequest } from './transaction.js'

interface Duo {
  readonly frame: HTMLIFrameElement
  /** What the org takes as `sig_response`, once the user has approved in the frame. A denial stays in the frame. */
  approval(): Promise<string>
}

const APPROVED = /^(AUTH|ENROLL)\|[\w+/=]+\|[\w+/=]+$/

/** Duo's frame as version 2 of Duo's Web SDK uses it, without Duo's script. undefined: the answer lacks what it needs. */
export function openDuo({ host, signature }: DuoRequest = {}): Duo | undefined {
  const [tx, app] = signature?.split(':') ?? []
  if (!host || !tx || !app) return undefined
  // only the sandbox is on this machine: Duo itself always has TLS
  const scheme = /^(localhost|127\.0\.0\.1)(:\d+)?$/.test(host) ? 'http' : 'https'
  const query = new URLSearchParams({ tx, parent: location.href, v: '2.8' })
  const src = `${scheme}://${host}/frame/web/v1/auth?${query}`
  const frame = element('iframe', { src, title: 'Duo', class: 'frame' })
  const { origin } = new URL(src)
  return { frame, approval: () => new Promise(hear) }

  function hear(resolve: (response: string) => void): void {
    const heard = new AbortController()
    const hearMessage = (message: MessageEvent<unknown>) => {
      const isOfFrame = message.origin === origin && message.source === frame.contentWindow
      const isApproval = isOfFrame && typeof message.data === 'string' && APPROVED.test(message.data)
      if (frame.isConnected && !isApproval) return
      heard.abort()
      if (frame.isConnected) resolve(`${message.data}:${app}`)
    }
    addEventListener('message', hearMessage, { signal: heard.signal })
  }
}
