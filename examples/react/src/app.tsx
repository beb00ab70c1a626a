import { ErrorMessage } from './error-message.tsx'
import { Portal } from './portal.tsx'
import { SignIn } from './sign-in/sign-in.tsx'
import { useSession } from './use-session.ts'

export function App() {
  const [state, reload] = useSession()
  return (
    <main>
      {state.is === 'loading' && <p role="status">One moment…</p>}
      {state.is === 'error' && (
        <>
          <ErrorMessage error={state.error} />
          <button type="button" onClick={reload}>
            Try again
          </button>
        </>
      )}
      {state.is === 'signed-out' && (
        <>
          {state.hasEnded && <p role="status">Your session has ended. Please sign in again.</p>}
          <SignIn onSuccess={reload} />
        </>
      )}
      {state.is === 'signed-in' && <Portal session={state.session} onSignedOut={reload} />}
    </main>
  )
}
