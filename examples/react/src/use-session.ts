import type { Session } from 'gatehouse-client'
import { useCallback, useEffect, useState } from 'react'
import { gatehouse } from './gatehouse.ts'

/** `error`: Gatehouse cannot tell whether the user is signed in. */
export type SessionState =
  | { readonly is: 'loading' }
  | { readonly is: 'error'; readonly error: unknown }
  | { readonly is: 'signed-out'; readonly hasEnded: boolean }
  | { readonly is: 'signed-in'; readonly session: Session }

/** The session of this browser, and a function that asks for it again. */
export function useSession(): readonly [SessionState, () => Promise<void>] {
  const [state, setState] = useState<SessionState>({ is: 'loading' })

  const reload = useCallback(async () => {
    try {
      const session = await gatehouse.session()
      setState(session ? { is: 'signed-in', session } : { is: 'signed-out', hasEnded: false })
    } catch (error) {
      setState({ is: 'error', error })
    }
  }, [])

  useEffect(() => void reload(), [reload])
  useEffect(
    () =>
      gatehouse.onSessionEnd((reason) => {
        if (reason === 'replaced') location.reload()
        else setState({ is: 'signed-out', hasEnded: reason !== 'signed-out' })
      }),
    [],
  )
  return [state, reload]
}
