import type { Access, Session } from 'gatehouse-client'
import { useEffect, useState } from 'react'
import { ErrorMessage } from './error-message.tsx'
import { gatehouse } from './gatehouse.ts'
import { Heading } from './heading.tsx'

interface PortalProps {
  readonly session: Session
  readonly onSignedOut: () => void
}

export function Portal({ session, onSignedOut }: PortalProps) {
  const [access, setAccess] = useState<Access>()
  const [error, setError] = useState<unknown>()

  useEffect(() => {
    let isCurrent = true
    gatehouse.groups().then(
      (found) => isCurrent && setAccess(found),
      (failure: unknown) => isCurrent && setError(failure),
    )
    return () => {
      isCurrent = false
    }
  }, [])

  async function signOut() {
    try {
      await gatehouse.signOut()
      onSignedOut()
    } catch (failure) {
      setError(failure)
    }
  }

  return (
    <>
      <Heading>Portal</Heading>
      <p>Signed in as {session.login}</p>
      <h2>Your groups</h2>
      <ErrorMessage error={error} />
      <ul>
        {access?.groups.map(({ id, name }) => (
          <li key={id}>{name}</li>
        ))}
      </ul>
      <button type="button" onClick={signOut}>
        Sign out
      </button>
    </>
  )
}
