import type { Session } from 'gatehouse-client'
import { useEffect, useState } from 'react'
import { gatehouse, signIn } from '../gatehouse.ts'
import { fill, fillText } from '../language/fill.ts'
import { durationOf, listOf, texts } from '../language/language.ts'
import { say } from '../page.ts'
import { Button } from '../parts/button.tsx'
import { Screen } from '../parts/screen.tsx'
import { Directory } from './directory.tsx'
import { OwnAccess } from './own-access.tsx'
import { OwnSessions } from './own-sessions.tsx'
import { Time } from './time.tsx'

/**
 * What a portal can show of a signed-in user: the session, the roles and groups, and the other
 * sessions.
 */
export function Portal({ session: opened }: { readonly session: Session }) {
  const [session, setSession] = useState(opened)
  useEffect(
    () =>
      gatehouse.onSessionEnding(120, ({ secondsLeft }) => {
        say({ tone: 'info', text: fillText(texts.sessionEnds, { time: durationOf(secondsLeft) }) })
      }),
    [],
  )
  const name = session.profile.firstName ?? session.login
  return (
    <Screen title={fill(texts.hello, { name })}>
      <p>{fill(texts.signedInAs, { login: session.login })}</p>
      <SessionFacts session={session} />
      <div className="actions">
        <Button label={texts.signOut} onPress={signIn.signOut} />
        <Button label={texts.staySignedIn} onPress={async () => setSession(await gatehouse.refresh())} />
      </div>
      <h2>{texts.myRolesAndGroups}</h2>
      <OwnAccess />
      <h2>{texts.whereSignedIn}</h2>
      <OwnSessions />
      <h2>{texts.allGroups}</h2>
      <Directory />
    </Screen>
  )
}

function SessionFacts({ session }: { readonly session: Session }) {
  const methods: Readonly<Record<string, string>> = texts.methods
  const idleEnd = <Time key="idle" at={session.idleExpiresAt} withDate={false} />
  const facts = [
    [texts.signedInWith, listOf(session.amr.map((method) => methods[method] ?? method))],
    [texts.since, <Time key="since" at={session.createdAt} />],
    [texts.endsWhenIdle, fill(texts.atTime, { time: idleEnd })],
    [texts.endsAtLatest, <Time key="latest" at={session.expiresAt} />],
  ] as const
  return (
    <dl className="facts" aria-live="polite">
      {facts.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  )
}
