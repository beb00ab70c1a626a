import type { OwnSession } from 'gatehouse-client'
import { useRef } from 'react'
import { gatehouse, signIn } from '../gatehouse.ts'
import { fill, fillText } from '../language/fill.ts'
import { texts, timeOf } from '../language/language.ts'
import { replace } from '../page.ts'
import { Button } from '../parts/button.tsx'
import { MessagePlace } from '../parts/message-box.tsx'
import { Time } from './time.tsx'
import { useLoaded } from './use-loaded.ts'

const words = texts.sessions

/** The user's sessions in all browsers. An ended one stops working at once. */
export function OwnSessions() {
  const [{ content: sessions, message }, reload] = useLoaded(gatehouse.ownSessions)
  const place = useRef<HTMLDivElement>(null)

  async function end(act: () => Promise<void>) {
    await signIn.requireRecentSignIn(act)
    if (!place.current) return replace() // after a sign-in, the portal is a new one
    await reload()
    place.current.focus() // the pressed button no longer exists
  }

  const others = sessions?.filter(({ current }) => !current).length ?? 0
  return (
    <div ref={place} tabIndex={-1}>
      <MessagePlace message={message} />
      <ul className="sessions">
        {sessions?.map((session) => (
          <Item
            key={session.id}
            session={session}
            onEnd={() => end(() => gatehouse.endSession(session.id))}
          />
        ))}
      </ul>
      {sessions && others === 0 && <p>{words.none}</p>}
      {location.protocol === 'http:' && <p className="soft">{words.notBoundOverHttp}</p>}
      {others > 0 && (
        <div className="actions">
          <Button
            label={fillText(words.endAll, { n: others })}
            onPress={() => end(gatehouse.endOtherSessions)}
          />
        </div>
      )}
    </div>
  )
}

interface ItemProps {
  readonly session: OwnSession
  readonly onEnd: () => Promise<void>
}

function Item({ session: { userAgent, current, lastSeenAt, deviceBound }, onEnd }: ItemProps) {
  const name = browserOf(userAgent)
  const description = fillText(words.endOne, { name, time: timeOf(lastSeenAt) })
  return (
    <li>
      <span>
        <strong>
          <bdi>{name}</bdi>
          {current && ` ${words.current}`}
        </strong>{' '}
        <span className="soft">
          {fill(words.used, { time: <Time at={lastSeenAt} /> })}
          {deviceBound && ` ${words.bound}`}
        </span>
      </span>
      {!current && <Button label={words.end} description={description} onPress={onEnd} />}
    </li>
  )
}

/** A short name by which users recognize their own sessions. */
function browserOf(userAgent: string): string {
  const system = /Android|iPhone|iPad|Windows|Mac OS X|Linux/.exec(userAgent)?.[0] ?? texts.unknownSystem
  const browser = /Edg|Firefox|Chrome|Safari/.exec(userAgent)?.[0] ?? texts.unknownBrowser
  const values = { browser: browser.replace('Edg', 'Edge'), system: system.replace('Mac OS X', 'macOS') }
  return fillText(texts.browserOnSystem, values)
}
