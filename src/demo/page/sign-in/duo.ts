import type { Duo } from '/demo/client/index.js'
import { element } from '../parts/elements.js'

interface DuoFrame {
  readonly view: HTMLIFrameElement
  /** Resolves with the `sig_response` for Okta when the user approves in the frame. After a denial the frame stays open. */
  approval(): Promise<string>
}

const APPROVED = /^(AUTH|ENROLL)\|[\w+/=]+\|[\w+/=]+$/

/** Opens Duo's frame as version 2 of Duo's Web SDK does, without Duo's script. undefined if the signature has another shape. */
export function openDuo({ host, signature }: Duo): DuoFrame | undefined {
  const [tx, app] = signature.split(':')
  if (!tx || !app) return undefined
  // plain http for the sandbox only
  const scheme = /^(localhost|127\.0\.0\.1)(:\d+)?$/.test(host) ? 'http' : 'https'
  const query = new URLSearchParams({ tx, parent: location.href, v: '2.8' })
  const src = `${scheme}://${host}/frame/web/v1/auth?${query}`
  const view = element('iframe', { src, title: 'Duo', class: 'frame' })
  const { origin } = new URL(src)
  return { view, approval: () => new Promise(waitForApproval) }

  function waitForApproval(resolve: (response: string) => void): void {
    const listener = new AbortController()
    const onMessage = (message: MessageEvent<unknown>) => {
      const isOfFrame = message.origin === origin && message.source === view.contentWindow
      const isApproval = isOfFrame && typeof message.data === 'string' && APPROVED.test(message.data)
      if (view.isConnected && !isApproval) return
      listener.abort()
      if (view.isConnected) resolve(`${message.data}:${app}`)
    }
    addEventListener('message', onMessage, { signal: listener.signal })
  }
}
