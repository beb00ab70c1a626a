import { element } from '../parts/elements.js'
import type { DuoRequest } from './transaction.js'

interface Duo {
  readonly frame: HTMLIFrameElement
  /** Resolves with the `sig_response` for Okta when the user approves in the frame. After a denial the frame stays open. */
  approval(): Promise<string>
}

const APPROVED = /^(AUTH|ENROLL)\|[\w+/=]+\|[\w+/=]+$/

/** Opens Duo's frame as version 2 of Duo's Web SDK does, without Duo's script. undefined if the host or signature is missing. */
export function openDuo({ host, signature }: DuoRequest = {}): Duo | undefined {
  const [tx, app] = signature?.split(':') ?? []
  if (!host || !tx || !app) return undefined
  // plain http for the sandbox only
  const scheme = /^(localhost|127\.0\.0\.1)(:\d+)?$/.test(host) ? 'http' : 'https'
  const query = new URLSearchParams({ tx, parent: location.href, v: '2.8' })
  const src = `${scheme}://${host}/frame/web/v1/auth?${query}`
  const frame = element('iframe', { src, title: 'Duo', class: 'frame' })
  const { origin } = new URL(src)
  return { frame, approval: () => new Promise(waitForApproval) }

  function waitForApproval(resolve: (response: string) => void): void {
    const listener = new AbortController()
    const onMessage = (message: MessageEvent<unknown>) => {
      const isOfFrame = message.origin === origin && message.source === frame.contentWindow
      const isApproval = isOfFrame && typeof message.data === 'string' && APPROVED.test(message.data)
      if (frame.isConnected && !isApproval) return
      listener.abort()
      if (frame.isConnected) resolve(`${message.data}:${app}`)
    }
    addEventListener('message', onMessage, { signal: listener.signal })
  }
}
