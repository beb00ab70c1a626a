import { call } from './call.js'
import { byId } from './elements.js'

/**
 * Replaces `navigator.credentials`: while the checkbox is checked, the sandbox signs instead of a
 * real security key. The sign-in page does not notice.
 */
export function installVirtualKey(login: () => string | undefined): void {
  const box = byId('virtual-key')
  const isActive = () => box instanceof HTMLInputElement && box.checked && login() !== undefined
  const { credentials } = navigator
  if (credentials === undefined) return
  const get = credentials.get.bind(credentials)
  const create = credentials.create.bind(credentials)

  const answer = async (path: string, challenge: BufferSource, credentialId?: BufferSource) => {
    const fields = await call<Record<string, string>>('POST', path, {
      login: login(),
      challenge: base64url(challenge),
      credentialId: credentialId && base64url(credentialId),
    })
    const response = Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, bytes(value)]))
    return { type: 'public-key', response } as unknown as Credential
  }
  credentials.get = (options) =>
    isActive() && options?.publicKey
      ? answer('/demo/key/sign', options.publicKey.challenge, options.publicKey.allowCredentials?.[0]?.id)
      : get(options)
  credentials.create = (options) =>
    isActive() && options?.publicKey
      ? answer('/demo/key/register', options.publicKey.challenge)
      : create(options)
}

function base64url(source: BufferSource): string {
  const view = ArrayBuffer.isView(source) ? source : new Uint8Array(source)
  const data = new Uint8Array(view.buffer, view.byteOffset, view.byteLength)
  return btoa(String.fromCharCode(...data))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replaceAll('=', '')
}

function bytes(base64: string): ArrayBuffer {
  return Uint8Array.from(atob(base64), (character) => character.charCodeAt(0)).buffer
}
