import { useState } from 'react'
import { fill } from '../language/fill.ts'
import { texts } from '../language/language.ts'
import type { ChallengeProps } from './challenge-step.tsx'

/**
 * For an app that is being set up: the QR code, and the key for users without a camera. Gatehouse
 * serves the picture.
 */
export function QrCode({ step, factor }: Pick<ChallengeProps, 'step' | 'factor'>) {
  const picture = 'qrCode' in step ? step.qrCode : undefined
  const activation = factor.factorType === 'token:software:totp' ? factor._embedded?.activation : undefined
  const secret = activation?.sharedSecret
  return (
    <>
      {picture && (
        <>
          <p>{texts.scanQrCode}</p>
          <img src={picture} alt={texts.qrCode} className="qr" width="196" height="196" />
        </>
      )}
      {secret && (
        <>
          <p>
            <a href={linkFor(secret, activation.timeStep, factor.profile?.credentialId)}>{texts.openInApp}</a>
          </p>
          <p>{fill(texts.noCamera, { key: <code>{secret}</code> })}</p>
          <CopyButton text={secret} />
        </>
      )}
    </>
  )
}

/** Opens an authenticator app on this device. */
function linkFor(secret: string, period: number | undefined, login = ''): string {
  const issuer = location.hostname
  const query = new URLSearchParams({ secret, issuer, ...(period && { period: String(period) }) })
  return `otpauth://totp/${encodeURIComponent(`${issuer}:${login}`)}?${query}`
}

function CopyButton({ text }: { readonly text: string }) {
  const [isCopied, setIsCopied] = useState(false)
  // a browser may refuse, such as without https: the key can still be selected
  const copy = () =>
    navigator.clipboard?.writeText(text).then(
      () => setIsCopied(true),
      () => {},
    )
  return (
    <p>
      <button type="button" onClick={copy}>
        {texts.copyKey}
      </button>{' '}
      <span role="status">{isCopied && texts.copied}</span>
    </p>
  )
}
