import type { Duo } from 'gatehouse-client'
import { useEffect, useRef } from 'react'
import { signIn } from '../gatehouse.ts'
import { texts } from '../language/language.ts'
import { replace } from '../page.ts'
import { Button } from '../parts/button.tsx'
import { Screen } from '../parts/screen.tsx'
import { Again, type ChallengeProps, type ChallengeStep, challengeAgain } from './challenge-step.tsx'
import { UnknownStepScreen, Ways } from './ways.tsx'

/**
 * After the user approves in Duo's frame, the page posts Duo's response. The next poll returns the
 * result.
 */
export function DuoScreen({ step }: ChallengeProps) {
  const again = challengeAgain(step)
  if (step.result !== 'WAITING' && again)
    return <Again title={texts.didNotWork} submit={texts.tryAgain} step={step} onSubmit={again} />
  const url = step.duo && frameUrl(step.duo)
  if (step.next !== 'poll' || !step.duo || !url) return <UnknownStepScreen step={step} />
  return <Frame step={step} duo={step.duo} url={url} />
}

interface FrameProps {
  readonly step: ChallengeStep & { readonly next: 'poll' }
  readonly duo: Duo
  readonly url: URL
}

function Frame({ step, duo, url }: FrameProps) {
  const frame = useRef<HTMLIFrameElement>(null)
  const { signature } = duo
  const { origin, href } = url
  useEffect(() => {
    const controller = new AbortController()
    void approval(origin, () => frame.current?.contentWindow, controller.signal).then((response) =>
      signIn.completeDuo(`${response}:${signature.split(':')[1]}`),
    )
    return () => controller.abort()
  }, [origin, signature])
  return (
    <Screen title="Duo" icon="shield">
      <p>{texts.approveInDuo}</p>
      <iframe ref={frame} src={href} title="Duo" className="frame" />
      <div className="actions quiet">
        <Button label={texts.tryAgain} onPress={async () => replace()} />
        <Ways step={step} />
      </div>
    </Screen>
  )
}

/**
 * The frame of version 2 of Duo's Web SDK, without Duo's script. Undefined if the signature has
 * another shape.
 */
function frameUrl({ host, signature }: Duo): URL | undefined {
  const [tx, app] = signature.split(':')
  if (!tx || !app) return undefined
  // plain http for the sandbox only
  const scheme = /^(localhost|127\.0\.0\.1)(:\d+)?$/.test(host) ? 'http' : 'https'
  const query = new URLSearchParams({ tx, parent: location.href, v: '2.8' })
  return new URL(`${scheme}://${host}/frame/web/v1/auth?${query}`)
}

const APPROVED = /^(AUTH|ENROLL)\|[\w+/=]+\|[\w+/=]+$/

/**
 * Resolves with Duo's response when the user approves in the frame. After a denial the frame stays
 * open.
 */
function approval(
  origin: string,
  frame: () => MessageEventSource | null | undefined,
  signal: AbortSignal,
): Promise<string> {
  return new Promise((resolve) => {
    const onMessage = ({ origin: from, source, data }: MessageEvent<unknown>) => {
      const isOfFrame = from === origin && source !== null && source === frame()
      if (isOfFrame && typeof data === 'string' && APPROVED.test(data)) resolve(data)
    }
    addEventListener('message', onMessage, { signal })
  })
}
